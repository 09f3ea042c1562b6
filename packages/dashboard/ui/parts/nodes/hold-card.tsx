import { type BlockerGroup, groupBlockers } from '@drydock/core/drain';
import type { BlockerView, HoldView, NodeSummary } from '../../../src/scene.ts';
import { nodeBadge, plural, since, until } from '../../model/words.ts';
import { asking, mayAct, now, open, store } from '../../page.ts';
import { Progress } from './progress.tsx';
import { Vms } from './vms.tsx';

/** Limit of named pods; the others are counted. */
const maxNamed = 3;

function namesOf(whats: readonly string[]): string {
  return whats.length <= maxNamed
    ? whats.join(', ')
    : `${whats.slice(0, maxNamed).join(', ')} and ${whats.length - maxNamed} more`;
}

function countOf({ reason, whats }: BlockerGroup, tone: string): string {
  const noun = reason.startsWith('Server')
    ? 'server'
    : reason === 'HypervisorUnknown'
      ? 'hypervisor'
      : 'pod';
  return tone === 'stuck'
    ? plural(whats.length, `${noun} is blocked`, `${noun}s are blocked`)
    : plural(whats.length, `${noun} is waiting`, `${noun}s are waiting`);
}

/** Blockers, grouped: number of pods, reason, and remedy. */
export function Blockers({ blockers }: { readonly blockers: readonly BlockerView[] }) {
  const stuck = groupBlockers(blockers.filter(blocker => blocker.stuck));
  const passing = groupBlockers(blockers.filter(blocker => !blocker.stuck));
  if (stuck.length + passing.length === 0) return null;
  return (
    <ul class="blockers">
      {[
        ...stuck.map(matter => ({ matter, tone: 'stuck' })),
        ...passing.map(matter => ({ matter, tone: 'passing' })),
      ].map(({ matter, tone }) => (
        <li key={`${matter.message} ${matter.remedy ?? ''}`} class={tone}>
          <p class="matter">
            <strong>{countOf(matter, tone)}:</strong> {matter.message}
          </p>
          <p class="whats">{namesOf(matter.whats)}</p>
          {matter.remedy !== undefined && (
            <p class="remedy">
              <span>How to fix:</span> {matter.remedy}
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}

function ReleaseButton({ hold, node }: { readonly hold: HoldView; readonly node: string }) {
  return (
    <button
      type="button"
      class="button"
      onClick={() => {
        asking.value = { kind: 'release', node, hold };
      }}
    >
      Release {node}
      <span class="hidden">
        : end {hold.kind} {hold.name}
      </span>
    </button>
  );
}

function Facts({ hold }: { readonly hold: HoldView }) {
  return (
    <dl class="facts">
      <dt>held by</dt>
      <dd>
        {hold.kind} {hold.namespace === undefined ? '' : `${hold.namespace}/`}
        {hold.name}
        {hold.plan !== undefined
          ? ` for plan ${hold.plan}`
          : hold.requester !== undefined && ` for ${hold.requester}`}
      </dd>
      <dt>since</dt>
      <dd>{since(hold.since, now.value)}</dd>
      {hold.ends !== undefined && hold.draining && (
        <>
          <dt>drained</dt>
          <dd>{until(hold.ends, now.value)}</dd>
        </>
      )}
    </dl>
  );
}

/**
 * Requester of maintenances that belong to a machine's: they end with it, and would be created
 * again.
 */
const machineRequester = 'drydock.dev/machine-maintenance';

function isTold({ requester }: HoldView, node: string): boolean {
  return requester === machineRequester && store.machinesOn(node).value.length > 0;
}

/**
 * One maintenance of a node: its requester, progress, and blockers. Its reason is left out where
 * the machine's event is shown.
 */
export function Hold({ hold, node }: { readonly hold: HoldView; readonly node: string }) {
  return (
    <div class="hold">
      {hold.reason !== undefined && !isTold(hold, node) && <p class="reason">“{hold.reason}”</p>}
      {hold.message !== '' && store.node(node).value?.replaced !== true && (
        <p class="message">{hold.message}</p>
      )}
      {hold.toEvict > 0 && !hold.deleting && <Progress hold={hold} />}
      <Facts hold={hold} />
      <Vms hold={hold} />
      <Blockers blockers={hold.blockers} />
      {mayAct.value && !hold.deleting && hold.requester !== machineRequester && (
        <ReleaseButton hold={hold} node={node} />
      )}
    </div>
  );
}

/** A node that is out of service, or about to be. */
export function HoldCard({ node }: { readonly node: NodeSummary }) {
  const { tone, word } = nodeBadge(node);
  return (
    <li class={`card ${tone}`}>
      <div class="card-head">
        <h3>
          <button type="button" class="link" onClick={() => open(node.key)}>
            {node.key}
          </button>
        </h3>
        <span class={`chip ${tone}`}>{word}</span>
      </div>
      {node.holds.map(hold => (
        <Hold
          key={`${hold.store} ${hold.namespace ?? ''} ${hold.name}`}
          hold={hold}
          node={node.key}
        />
      ))}
    </li>
  );
}

import { type BlockerGroup, groupBlockers } from '@drydock/core/drain';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { BlockerView, HoldView, NodeSummary, PodView } from '../../../src/scene.ts';
import { asking, close, mayAct, now, open, selected, store } from '../../connection.ts';
import {
  isControlPlane,
  nameOf,
  nodeBadge,
  plural,
  podWords,
  since,
  until,
  vmWord,
} from '../../model/words.ts';
import { HostOrders, MachineStory } from '../machines/machine-card.tsx';
import { blockedOn, Progress } from './node-box.tsx';

type Vm = NonNullable<HoldView['vms']>['items'][number];

function VmLine({ vm }: { readonly vm: Vm }) {
  return (
    <li class={`vm ${vm.state.toLowerCase()}`} title={vm.message ?? ''}>
      <span class="vm-name">{vm.name}</span>
      <span class="vm-word">{vmWord(vm)}</span>
      {vm.progress !== undefined && vm.state === 'Migrating' && (
        <progress max={100} value={vm.progress} aria-label={`${vm.name}: ${vm.progress} %`} />
      )}
    </li>
  );
}

/**
 * VMs of a drained node, each with its progress. Those that cannot migrate are among the blockers
 * as well.
 */
function Vms({ hold }: { readonly hold: HoldView }) {
  return hold.vms === undefined ? null : (
    <details class="vms" open={hold.draining}>
      <summary>{hold.vms.summary}</summary>
      <ul>
        {hold.vms.items.map(vm => (
          <VmLine key={vm.id} vm={vm} />
        ))}
      </ul>
    </details>
  );
}

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
function Hold({ hold, node }: { readonly hold: HoldView; readonly node: string }) {
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

/** Limit of listed pods; no user reads more. */
const maxPods = 120;

function PodRow({ pod, isBlocked }: { readonly pod: PodView; readonly isBlocked: boolean }) {
  return (
    <tr class={isBlocked ? 'blocked' : pod.phase}>
      <td>
        <span class="pod-name">{nameOf(pod.key)}</span>
        <span class="quiet">
          {pod.key.slice(0, pod.key.indexOf('/'))}, {pod.kind}
          {pod.localData && ', keeps data on this node'}
        </span>
      </td>
      <td>
        {isBlocked && pod.phase !== 'leaving' ? podWords.blocked : podWords[pod.phase]}
        {pod.stays && <span class="quiet">stays</span>}
      </td>
    </tr>
  );
}

function PodList({ node }: { readonly node: NodeSummary }) {
  const pods = store.pods.on(node.key).value;
  const blocked = blockedOn(node);
  if (pods.length === 0) return <p class="quiet">No pods.</p>;
  return (
    <table class="pod-list">
      <caption>{plural(pods.length, 'pod')}</caption>
      <thead class="hidden">
        <tr>
          <th scope="col">Pod</th>
          <th scope="col">State</th>
        </tr>
      </thead>
      <tbody>
        {pods.slice(0, maxPods).map(pod => (
          <PodRow key={pod.uid} pod={pod} isBlocked={blocked.has(pod.key)} />
        ))}
      </tbody>
      {pods.length > maxPods && (
        <tfoot>
          <tr>
            <td colSpan={2}>and {pods.length - maxPods} more</td>
          </tr>
        </tfoot>
      )}
    </table>
  );
}

function About({ node }: { readonly node: NodeSummary }) {
  return (
    <dl class="facts">
      <dt>zone</dt>
      <dd>{node.zone === '' ? 'none' : node.zone}</dd>
      <dt>roles</dt>
      <dd>{node.roles.length === 0 ? 'none' : node.roles.join(', ')}</dd>
      <dt>ready</dt>
      <dd>{node.ready}</dd>
      {node.instance !== undefined && (
        <>
          <dt>host</dt>
          <dd>{node.instance}</dd>
        </>
      )}
      <dt>scheduling</dt>
      <dd>{node.cordoned ? 'cordoned: no new pods' : 'accepts new pods'}</dd>
      {node.taints.length > 0 && (
        <>
          <dt>taints</dt>
          <dd>{node.taints.join(', ')}</dd>
        </>
      )}
    </dl>
  );
}

function Order({ node }: { readonly node: NodeSummary }) {
  if (node.missing === true || node.holds.length > 0) return null;
  return (
    <button
      type="button"
      class="button main"
      onClick={() => {
        asking.value = { kind: 'maintain', node: node.key };
      }}
    >
      {mayAct.value ? `Maintain ${node.key}…` : 'Preview a drain…'}
    </button>
  );
}

function NodeDetails({ node }: { readonly node: NodeSummary }) {
  return (
    <>
      {isControlPlane(node) && <p class="quiet">This node is part of the control plane.</p>}
      {node.holds.map(hold => (
        <Hold
          key={`${hold.store} ${hold.namespace ?? ''} ${hold.name}`}
          hold={hold}
          node={node.key}
        />
      ))}
      <Order node={node} />
      <HostOrders node={node} />
      {!node.missing && <About node={node} />}
      <PodList node={node} />
    </>
  );
}

/** Details of the chosen node. */
export function Details() {
  const name = selected.value;
  const heading = useRef<HTMLHeadingElement>(null);
  // Focused at once: keyboard users continue from here.
  useLayoutEffect(() => heading.current?.focus(), [name]);
  if (name === undefined) return null;
  const node = store.node(name).value;
  const { tone, word } = node === undefined ? { tone: 'unready', word: 'Gone' } : nodeBadge(node);
  return (
    <section class={`details ${tone}`} aria-labelledby="details-title">
      <div class="card-head">
        <h2 id="details-title" ref={heading} tabIndex={-1}>
          {name}
        </h2>
        <span class={`chip ${tone}`}>{word}</span>
        <button type="button" class="close" aria-label="Close the details" onClick={close}>
          ×
        </button>
      </div>
      {store.machinesOn(name).value.map(machine => (
        <MachineStory key={machine.key} machine={machine} />
      ))}
      {node === undefined ? (
        <p class="quiet">This node is no longer in the cluster.</p>
      ) : (
        <NodeDetails node={node} />
      )}
    </section>
  );
}

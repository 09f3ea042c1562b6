import { useLayoutEffect, useRef } from 'preact/hooks';
import type { HoldView, NodeSummary, PodView } from '../../../src/scene.ts';
import { condensed, open, search, selected, store } from '../../connection.ts';
import { fleetStateOf, isFound } from '../../model/fleet.ts';
import { podTotal } from '../../model/pods.ts';
import {
  isControlPlane,
  kindsOf,
  nameOf,
  nodeBadge,
  type PodState,
  phaseOf,
  plural,
  podWords,
  tally,
  tallyText,
  toneOf,
} from '../../model/words.ts';
import { animateReflow, registerTile } from '../../orders.ts';

/** Number of evicted pods that are gone. */
export function Progress({ hold }: { readonly hold: HoldView }) {
  return (
    <div class="progress">
      <progress
        max={Math.max(hold.toEvict, 1)}
        value={hold.gone}
        aria-label={`${hold.gone} of ${hold.toEvict} pods gone`}
      />
      <span>
        {hold.gone} of {hold.toEvict} gone
      </span>
    </div>
  );
}

/** Returns the state of a pod; its blockers are known from its node. */
function stateOf(pod: PodView, blocked: ReadonlySet<string>): PodState {
  return pod.phase !== 'leaving' && blocked.has(pod.key) ? 'blocked' : pod.phase;
}

export function blockedOn({ holds }: NodeSummary): ReadonlySet<string> {
  return new Set(
    holds.flatMap(({ blockers }) => blockers.flatMap(({ stuck, what }) => (stuck ? [what] : []))),
  );
}

/**
 * Number of tints, which distinguish neighbouring workloads; a workload has the same tint
 * everywhere.
 */
const tints = 8;
const tintOfWorkload = new Map<string, number>();

function tintOf(workload: string): number {
  const tint = tintOfWorkload.get(workload) ?? tintOfWorkload.size % tints;
  tintOfWorkload.set(workload, tint);
  return tint;
}

function isVm({ kind }: PodView): boolean {
  return kind === 'VirtualMachineInstance';
}

function PodTile({ pod, state }: { readonly pod: PodView; readonly state: PodState }) {
  const tile = useRef<HTMLLIElement>(null);
  useLayoutEffect(
    () => (tile.current === null ? undefined : registerTile(pod.uid, tile.current)),
    [pod.uid],
  );
  const shape = pod.stays ? 'stays' : `tint-${tintOf(pod.workload)}${isVm(pod) ? ' is-vm' : ''}`;
  return (
    <li
      ref={tile}
      class={`pod ${state} ${shape}`}
      data-uid={pod.uid}
      data-workload={pod.workload}
      title={`${pod.key}\n${pod.kind} ${nameOf(pod.workload)}: ${podWords[state]}${pod.stays ? ', stays on its node' : ''}`}
    >
      {state === 'blocked' ? '!' : nameOf(pod.workload).slice(0, 2)}
    </li>
  );
}

export function PodTiles({
  pods,
  blocked,
}: {
  readonly pods: readonly PodView[];
  readonly blocked: ReadonlySet<string>;
}) {
  const box = useRef<HTMLUListElement>(null);
  const spots = useRef<ReturnType<typeof animateReflow>>(new Map());
  useLayoutEffect(() => {
    if (box.current !== null) spots.current = animateReflow(box.current, spots.current);
  }, [pods]);
  return (
    <ul ref={box} class="pods" aria-hidden="true">
      {pods.map(pod => (
        <PodTile key={pod.uid} pod={pod} state={stateOf(pod, blocked)} />
      ))}
    </ul>
  );
}

function PodCounts({ node }: { readonly node: NodeSummary }) {
  const counts = store.pods.countsOn(node.key).value;
  const blocked = blockedOn(node).size;
  return (
    <>
      <div class="pod-bar" aria-hidden="true">
        {tally(counts, blocked).map(([state, count]) => (
          <span key={state} class={`share ${state}`} style={{ flexGrow: count }} />
        ))}
      </div>
      <p class="pod-counts">{tallyText(counts, blocked)}</p>
    </>
  );
}

function Pods({ node }: { readonly node: NodeSummary }) {
  return condensed.value ? (
    <PodCounts node={node} />
  ) : (
    <PodTiles pods={store.pods.on(node.key).value} blocked={blockedOn(node)} />
  );
}

function Name({ node }: { readonly node: NodeSummary }) {
  const { word } = nodeBadge(node);
  const pods = condensed.value
    ? podTotal(store.pods.countsOn(node.key).value)
    : store.pods.on(node.key).value.length;
  const role = isControlPlane(node) ? ', control plane' : '';
  const isOpen = selected.value === node.key;
  return (
    <button
      type="button"
      class="node-name"
      id={`node-${node.key}`}
      aria-expanded={isOpen}
      aria-label={`${node.key}${role}, ${word}, ${plural(pods, 'pod')}`}
      onClick={() => open(node.key)}
    >
      {node.key}
    </button>
  );
}

/** Events of the node's machine, and their progress. */
function Announcements({ name }: { readonly name: string }) {
  return (
    <>
      {store.machinesOn(name).value.map(machine => (
        <p key={machine.key} class={`announcement ${toneOf(machine)}`}>
          {kindsOf(machine)}: {phaseOf(machine)}
        </p>
      ))}
    </>
  );
}

/** A node as a box filled with its pods. */
export function NodeBox({ name }: { readonly name: string }) {
  const node = store.node(name).value;
  if (node === undefined || !isFound(node, fleetStateOf(node, false), search.value)) return null;
  const { tone, word } = nodeBadge(node);
  const [hold] = node.holds;
  return (
    <li
      class={`node ${tone} ${selected.value === name ? 'open' : ''}`}
      data-node={name}
      onClick={() => open(name)}
    >
      <div class="node-head">
        <Name node={node} />
        {isControlPlane(node) && (
          <span class="role" title="control plane">
            control plane
          </span>
        )}
        {tone !== 'service' && <span class={`chip ${tone}`}>{word}</span>}
      </div>
      <Announcements name={name} />
      <Pods node={node} />
      {hold?.draining === true && hold.toEvict > 0 && <Progress hold={hold} />}
    </li>
  );
}

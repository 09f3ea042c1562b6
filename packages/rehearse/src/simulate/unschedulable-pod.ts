import { matches } from '@drydock/apimachinery';
import { readBudget } from '@drydock/core/drain';
import { part, type Stored, strings } from '@drydock/kube-sim';
import { requestsOf } from '@drydock/kube-sim/actors';
import { isFinished, isReady, nodeOf } from '@drydock/kube-sim/controllers';
import type { Store } from '@drydock/kube-sim/store';
import { type Workloads, workloadText } from '../snapshot/workloads.ts';
import { unplaced } from './record.ts';

/** A pod that fits no node, and the reasons. */
export type UnschedulablePod = {
  readonly pod: string;
  readonly workload?: string;
  /** Budgets that cover it, as `namespace/name`: as long as it is not ready, they allow less. */
  readonly budgets: readonly string[];
  /**
   * Missing resource of each group of nodes, the largest group first: `cpu`, `memory`, `taints`…
   */
  readonly lacks: readonly { readonly nodes: number; readonly what: LackedThing }[];
  /** Requests of the pod: `cpu 2, memory 4Gi`. */
  readonly asks: string;
};

export type LackedThing =
  | { readonly kind: 'amount'; readonly resource: string }
  | {
      readonly kind:
        | 'cordon'
        | 'taints'
        | 'selector'
        | 'volume'
        | 'spread'
        | 'affinity'
        | 'anti-affinity'
        | 'ports';
    }
  | { readonly kind: 'other'; readonly text: string };

const words: readonly (readonly [RegExp, Exclude<LackedThing['kind'], 'amount' | 'other'>])[] = [
  [/unschedulable$/, 'cordon'],
  [/untolerated taint/, 'taints'],
  [/PersistentVolume/, 'volume'],
  [/node affinity\/selector|NodeAffinity/, 'selector'],
  [/topology spread/, 'spread'],
  [/anti-affinity/, 'anti-affinity'],
  [/pod affinity/, 'affinity'],
  [/free ports/, 'ports'],
];

function thingOf(reason: string): LackedThing {
  const short = /^Insufficient (.+)$/.exec(reason)?.[1];
  if (short !== undefined) return { kind: 'amount', resource: short };
  if (reason === 'Too many pods') return { kind: 'amount', resource: 'pods' };
  const found = words.find(([pattern]) => pattern.test(reason));
  return found === undefined ? { kind: 'other', text: reason } : { kind: found[1] };
}

/**
 * Parses the message of the embedded cluster's scheduler (`0/3 nodes are available: 2 Insufficient
 * cpu, 1 …`).
 */
export function unschedulablePodsOf(message: string): UnschedulablePod['lacks'] {
  const [, list = ''] =
    /^0\/\d+ nodes are available: (.*?)\.(?: no new claims| preemption|$)/.exec(message) ?? [];
  return list
    .split(', ')
    .flatMap(one => {
      const [, nodes, reason = ''] = /^(\d+) (.+)$/.exec(one) ?? [];
      return nodes === undefined ? [] : [{ nodes: Number(nodes), what: thingOf(reason) }];
    })
    .toSorted(
      (one, other) => other.nodes - one.nodes || (one.what.kind < other.what.kind ? -1 : 1),
    );
}

function asksOf(pod: Stored): string {
  const { pods: _pods, ...requested } = requestsOf(part(pod, 'spec'));
  const text = (name: string, value: number): string =>
    name === 'memory' || name.includes('storage')
      ? `${name} ${Number((value / 2 ** 30).toFixed(2))}Gi`
      : `${name} ${Number(value.toFixed(3))}`;
  return Object.entries(requested)
    .filter(([, value]) => value > 0)
    .map(([name, value]) => text(name, value))
    .join(', ');
}

function budgetsOver(store: Store, pod: Stored): readonly string[] {
  return store
    .list('poddisruptionbudgets.policy', pod.metadata.namespace ?? '')
    .map(readBudget)
    .filter(
      ({ selector }) => selector !== undefined && matches(selector, strings(pod.metadata.labels)),
    )
    .map(({ key }) => key);
}

/** Returns all pods without a node. */
export function unschedulablePodsIn(
  store: Store,
  workloads: Workloads,
): readonly UnschedulablePod[] {
  return unplaced(store).map(({ pod, message }) => {
    const workload = workloads.of(pod);
    return {
      pod: `${pod.metadata.namespace ?? ''}/${pod.metadata.name}`,
      ...(workload && { workload: workloadText(workload) }),
      budgets: budgetsOver(store, pod),
      lacks: unschedulablePodsOf(message),
      asks: asksOf(pod),
    };
  });
}

/** Returns running pods that a budget covers and that are not ready. */
export function unreadyIn(store: Store, budgetKey: string): readonly string[] {
  const [namespace = ''] = budgetKey.split('/');
  return store
    .list('pods', namespace)
    .filter(
      pod =>
        nodeOf(pod) !== '' &&
        !isReady(pod) &&
        !isFinished(pod) &&
        budgetsOver(store, pod).includes(budgetKey),
    )
    .map(pod => `${namespace}/${pod.metadata.name}`);
}

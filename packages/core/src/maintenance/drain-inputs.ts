import type { Budget } from '../drain/budgets/budget.ts';
import type { Node } from '../node/node.ts';
import type { Pod } from '../pod/pod.ts';
import type { MaintenanceRequest } from '../request/request.ts';
import type { NodeVms } from '../vm/vm-pod.ts';
import { emptyMemo, type NodeSnapshot } from './snapshot.ts';

/** Inputs of a drain of one node, at one moment. */
export type DrainInputs = {
  /** The node; missing if it is not known. */
  readonly node?: Node;
  readonly pods: readonly Pod[];
  readonly budgets: readonly Budget[];
  /** Keys `namespace/name`. */
  readonly daemonSets: ReadonlySet<string>;
  readonly vms?: NodeVms;
  /** Pods of these namespaces that are on no node; missing if they have not been listed. */
  readonly unscheduled?: NodeSnapshot['unscheduled'];
};

/** Returns the snapshot that the drain of one request would see, with no eviction sent yet. */
export function snapshotOf(
  request: MaintenanceRequest,
  { node, pods, budgets, daemonSets, vms, unscheduled }: DrainInputs,
): NodeSnapshot {
  return {
    nodeName: request.nodeName,
    ...(node && { node }),
    requests: [request],
    pods,
    podsConfirmed: true,
    budgets,
    daemonSets,
    ...(vms && { vms }),
    ...(unscheduled && { unscheduled }),
    leases: new Map(),
    attachments: [],
    volumes: new Map(),
    attempts: new Map(),
    inFlight: [],
    memo: emptyMemo,
    adapters: [request.adapter],
    missingKinds: new Set(),
    windows: [],
    terms: { durationSeconds: 0, renewEverySeconds: 0 },
  };
}

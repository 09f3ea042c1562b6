import type { Budget } from '../drain/budgets/budget.ts';
import type { Node } from '../node/node.ts';
import type { Pod } from '../pod/pod.ts';
import type { MaintenanceRequest } from '../request/request.ts';
import type { NodeVms } from '../vm/vm-pod.ts';
import { emptyMemo, type NodeSnapshot } from './snapshot.ts';

/** What a drain of one node looks at, at one moment. */
export type DrainInputs = {
  /** Missing where it is not known. */
  readonly node?: Node;
  readonly pods: readonly Pod[];
  readonly budgets: readonly Budget[];
  /** `namespace/name`. */
  readonly daemonSets: ReadonlySet<string>;
  readonly vms?: NodeVms;
  /** Pods of these namespaces that are on no node; missing where nobody has looked. */
  readonly unscheduled?: NodeSnapshot['unscheduled'];
};

/** The snapshot that one request's drain would see, with nothing asked for yet. */
export const snapshotOf = (
  request: MaintenanceRequest,
  { node, pods, budgets, daemonSets, vms, unscheduled }: DrainInputs,
): NodeSnapshot => ({
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
});

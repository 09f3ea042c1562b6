import type { Budget } from '../drain/budget.ts';
import type { Pod } from '../pod/pod.ts';
import type { Request } from '../request/request.ts';
import type { VmsKnown } from '../vm/vm-pod.ts';
import { noNotes, type Picture } from './snapshot.ts';

/** What a drain of one node looks at, at one moment. */
export type Glance = {
  readonly pods: readonly Pod[];
  readonly budgets: readonly Budget[];
  /** `namespace/name`. */
  readonly daemonSets: ReadonlySet<string>;
  readonly vms?: VmsKnown;
};

/** The picture that one request's drain would see, with nothing asked for yet. */
export const pictureOf = (request: Request, { pods, budgets, daemonSets, vms }: Glance): Picture => ({
  nodeName: request.nodeName,
  requests: [request],
  pods,
  podsConfirmed: true,
  budgets,
  daemonSets,
  ...(vms && { vms }),
  leases: new Map(),
  attachments: [],
  volumes: new Map(),
  attempts: new Map(),
  flights: [],
  notes: noNotes,
  dialects: [request.dialect],
  missingKinds: new Set(),
  windows: [],
  terms: { durationSeconds: 0, renewEverySeconds: 0 },
});

import type { JsonObject } from '@drydock/apimachinery';
import type { DrainPolicy } from '../drain/policy.ts';
import { noMarks } from '../node/marks.ts';
import {
  type KindAdapter,
  type MaintenanceLevel,
  type MaintenanceRequest,
  noHistory,
  pathOf,
} from './request.ts';

/**
 * Input of a user: one node out of service, and how. The maintenance is named like its node if no
 * name is given.
 */
export type MaintenanceInput = {
  readonly node: string;
  readonly name?: string;
  readonly level?: MaintenanceLevel;
  readonly reason?: string;
  readonly requester?: string;
  readonly drain: {
    readonly force: boolean;
    readonly deleteEmptyDirData: boolean;
    readonly disableEviction?: boolean;
    readonly gracePeriodSeconds?: number;
    readonly timeoutSeconds?: number;
  };
};

/** Returns the Maintenance for the input. */
export function maintenanceObject({
  node,
  name = node,
  level = 'Drain',
  reason,
  requester,
  drain,
}: MaintenanceInput): JsonObject {
  return {
    apiVersion: 'drydock.dev/v1alpha1',
    kind: 'Maintenance',
    metadata: { name },
    spec: {
      nodeName: node,
      level,
      ...(reason !== undefined && { reason }),
      ...(requester !== undefined && { requester }),
      drain: { ...drain },
    },
  };
}

/**
 * Returns the NodeMaintenance that is nearest to the input: the kind has no policy, it always
 * evicts everything that may be lost.
 */
export function nodeMaintenanceObject(
  adapter: KindAdapter,
  { node, name = node, reason }: MaintenanceInput,
): JsonObject {
  return {
    apiVersion: adapter.apiVersion,
    kind: adapter.kind,
    metadata: { name },
    spec: { nodeName: node, ...(reason !== undefined && { reason }) },
  };
}

/** A call of the API, in the form of the ports. */
type Call = {
  readonly method: 'POST' | 'DELETE';
  readonly path: string;
  readonly body: JsonObject;
  readonly query?: Readonly<Record<string, string>>;
};

export function creation(adapter: KindAdapter, body: JsonObject): Call {
  return {
    method: 'POST',
    path: adapter.path,
    body,
    query: { fieldManager: 'drydock' },
  };
}

/** Returns the call that deletes this request and no other one of its name. */
export function removal(request: MaintenanceRequest): Call {
  return {
    method: 'DELETE',
    path: pathOf(request),
    body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: request.uid } },
  };
}

/** Message for a cluster that has none of the kinds. */
export const notServed =
  'the cluster does not serve Maintenances yet: drydock install --apply, or drydock crds | kubectl apply --server-side -f -';

const nothing = { reason: '', message: '' };

/**
 * Adapter for a drain from the command line, which is no object of the API: it sets no marks, needs
 * no lease and has no status to write.
 */
const adHocAdapter: KindAdapter = {
  name: 'drain',
  apiVersion: 'drydock.dev/v1alpha1',
  kind: 'Drain',
  path: '',
  statusSubresource: false,
  quorum: 'everywhere',
  marks: () => noMarks,
  lease: () => undefined,
  component: 'drydock',
  events: {
    begun: nothing,
    succeeded: nothing,
    failed: nothing,
    removed: nothing,
    uncordoned: nothing,
  },
  status: () => ({}),
  readsDifferentlyAt: () => undefined,
  read: () => 'it is no object of the API',
};

/** Returns a request to drain a node under a policy. */
export function drainRequest(
  nodeName: string,
  policy: DrainPolicy,
  now: Temporal.Instant,
): MaintenanceRequest {
  return {
    key: `drain//${nodeName}`,
    adapter: adHocAdapter,
    name: nodeName,
    uid: `drain-${nodeName}`,
    resourceVersion: '1',
    generation: 1,
    createdAt: now,
    deleting: false,
    finalizers: [],
    claim: 'ours',
    nodeName,
    level: 'Drain',
    mayLoseQuorum: true,
    policy,
    history: noHistory,
    status: {},
  };
}

/** Display of a maintenance to people, for every kind. */

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Returns the phase as the kind itself spells it. */
export function phaseOf({ deleting, status }: MaintenanceRequest): string {
  return deleting ? 'Releasing' : textOf(status['phase']) || 'New';
}

/** Returns the message of its status; empty before the first. */
export function messageOf({ status }: MaintenanceRequest): string {
  return textOf(status['message']) || textOf(status['lastError']);
}

/** Returns when the drain is expected to be complete; empty if that is unknown. */
export function endsOf({ status }: MaintenanceRequest): string {
  return textOf(status['estimatedCompletionTime']);
}

/** Reports whether its drain goes on, so that it can be blocked. */
export function isDraining({ deleting, history, level }: MaintenanceRequest): boolean {
  return !deleting && level === 'Drain' && history.state !== 'Drained';
}

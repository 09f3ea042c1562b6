import type { JsonObject } from '@drydock/apimachinery';
import type { KindAdapter, MaintenanceRequest } from './request.ts';
import { pathOf } from './request.ts';
import type { MaintenanceLevel } from './words.ts';

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

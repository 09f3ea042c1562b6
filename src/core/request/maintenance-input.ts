import type { JsonObject } from '../json.ts';
import type { Dialect, Request } from './request.ts';
import { pathOf } from './request.ts';
import type { Stage } from './words.ts';

/** What somebody asks for: one node out of service, and how. Named like its node when no name is given. */
export type Wish = {
  readonly node: string;
  readonly name?: string;
  readonly stage?: Stage;
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

/** The Maintenance that the wish asks for. */
export const maintenanceObject = ({ node, name = node, stage = 'Drain', reason, requester, drain }: Wish): JsonObject => ({
  apiVersion: 'drydock.dev/v1alpha1',
  kind: 'Maintenance',
  metadata: { name },
  spec: {
    nodeName: node,
    stage,
    ...(reason !== undefined && { reason }),
    ...(requester !== undefined && { requester }),
    drain: { ...drain },
  },
});

/** The NodeMaintenance that comes nearest to the wish: the kind has no policy, it always evicts everything that may be lost. */
export const nodeMaintenanceObject = (dialect: Dialect, { node, name = node, reason }: Wish): JsonObject => ({
  apiVersion: dialect.apiVersion,
  kind: dialect.kind,
  metadata: { name },
  spec: { nodeName: node, ...(reason !== undefined && { reason }) },
});

/** A call of the API, as the ports have it. */
type Call = {
  readonly method: 'POST' | 'DELETE';
  readonly path: string;
  readonly body: JsonObject;
  readonly query?: Readonly<Record<string, string>>;
};

export const creation = (dialect: Dialect, body: JsonObject): Call => ({
  method: 'POST',
  path: dialect.path,
  body,
  query: { fieldManager: 'drydock' },
});

/** Ends this request and no other one that has been given its name since. */
export const removal = (request: Request): Call => ({
  method: 'DELETE',
  path: pathOf(request),
  body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: request.uid } },
});

/** What to do about a cluster that has none of the kinds. */
export const notServed =
  'the cluster does not serve Maintenances yet: drydock install --apply, or drydock crds | kubectl apply --server-side -f -';

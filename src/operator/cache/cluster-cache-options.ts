import type { KindAdapter } from '../../core/request/request.ts';
import type { MaintenanceWindow } from '../../core/window/window.ts';
import type { Api, Watcher } from '../../kube/api.ts';
import type { Clock } from '../../support/clock.ts';
import type { Log } from '../../support/log.ts';
import type { PanicHandler } from '../../support/panic-handler.ts';
import type { ClusterCacheEvents } from './listeners.ts';
import type { Namespaces } from './namespaces.ts';
import type { OwnProcess } from './operator-replicas.ts';

/**
 * Scope of a cache. everything: nodes, their maintenances and all that affects them. drain: only
 * what a drain needs beside the pods; collections that the user has no permission to read are left
 * out, because the API server checks the budgets anyway.
 */
export type CacheScope = 'everything' | 'drain';

/** Options of a ClusterCache. */
export type ClusterCacheOptions = {
  readonly api: Api;
  readonly watcher: Watcher;
  readonly clock: Clock;
  readonly adapters: readonly KindAdapter[];
  readonly scope?: CacheScope;
  /** Function that reads MaintenanceWindows; they are not watched if left out. */
  readonly readWindow?: ((raw: unknown) => MaintenanceWindow) | undefined;
  /** Namespaces whose objects count, for namespaced kinds; all if left out. */
  readonly namespaces?: Namespaces | undefined;
  /** Pod of this process; missing if it does not run in a pod. */
  readonly self?: OwnProcess | undefined;
  readonly events: ClusterCacheEvents;
  readonly log: Log;
  readonly defects: PanicHandler;
};

import type { KindAdapter } from '../../core/request/request.ts';
import type { MaintenanceWindow } from '../../core/window/window.ts';
import type { Clock } from '../../support/clock.ts';
import type { Log } from '../../support/log.ts';
import type { PanicHandler } from '../../support/panic-handler.ts';
import type { Api, Watcher } from '../ports.ts';
import type { ClusterCacheEvents } from './listeners.ts';
import type { Namespaces } from './namespaces.ts';
import type { OwnProcess } from './operator-replicas.ts';

/**
 * everything: nodes, their maintenances and all that has a say. drain: only what a drain looks at beside the pods; what the user may not
 * read of it is done without, for the API server asks the budgets anyway.
 */
export type CacheScope = 'everything' | 'drain';

/** From what a ClusterCache is made. */
export type ClusterCacheOptions = {
  readonly api: Api;
  readonly watcher: Watcher;
  readonly clock: Clock;
  readonly adapters: readonly KindAdapter[];
  readonly scope?: CacheScope;
  /** Reads MaintenanceWindows; they are not followed when left out. */
  readonly readWindow?: ((raw: unknown) => MaintenanceWindow) | undefined;
  /** Whose objects count, of kinds that have namespaces; everybody's when left out. */
  readonly namespaces?: Namespaces | undefined;
  /** Missing where this process runs in no pod. */
  readonly self?: OwnProcess | undefined;
  readonly events: ClusterCacheEvents;
  readonly log: Log;
  readonly defects: PanicHandler;
};

import type { KindAdapter } from '@drydock/core/request';
import type { MaintenanceWindow } from '@drydock/core/window';
import type { Api, Watcher } from '@drydock/kube-client';
import type { Clock, Log, PanicHandler } from '@drydock/utils';
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

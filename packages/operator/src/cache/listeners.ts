import type { Budget } from '@drydock/core/drain';
import type { Node } from '@drydock/core/node';
import type { Pod } from '@drydock/core/pod';
import type { MaintenanceRequest } from '@drydock/core/request';
import type { MaintenanceWindow } from '@drydock/core/window';
import type { Change } from '@drydock/kube-client';

/** Callbacks from the cache to the reconciler. */
export type ClusterCacheEvents = {
  /** Callback for any change of this node. */
  readonly touched: (nodeName: string) => void;
  readonly budgetChanged: (budget: Budget, change: Change<Budget>['type']) => void;
  /** Callback for a pod of a watched node that has changed or is gone. */
  readonly podChanged: (pod: Pod, nodeName: string, leaving: boolean) => void;
  /** Callback for an object of a namespaced kind in a namespace where it does not count. */
  readonly foreign: (request: MaintenanceRequest) => void;
};

/**
 * Callbacks for other observers than the reconciler. They are called in the middle of the watch, so
 * they only note the work to do.
 */
export type Listener = {
  readonly node?: (node: Node) => void;
  readonly request?: (request: MaintenanceRequest) => void;
  readonly budget?: (change: Change<Budget>) => void;
  readonly window?: (window: MaintenanceWindow) => void;
  /** Callback after everything that affects decisions has been read (again). */
  readonly complete?: () => void;
};

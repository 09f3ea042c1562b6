import type { Budget } from '../../core/drain/budgets/budget.ts';
import type { Node } from '../../core/node/node.ts';
import type { Pod } from '../../core/pod/pod.ts';
import type { MaintenanceRequest } from '../../core/request/request.ts';
import type { MaintenanceWindow } from '../../core/window/window.ts';
import type { Change } from '../../kube/api.ts';

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

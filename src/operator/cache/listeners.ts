import type { Budget } from '../../core/drain/budgets/budget.ts';
import type { Node } from '../../core/node/node.ts';
import type { Pod } from '../../core/pod/pod.ts';
import type { MaintenanceRequest } from '../../core/request/request.ts';
import type { MaintenanceWindow } from '../../core/window/window.ts';
import type { Change } from '../ports.ts';

/** What the cache tells the loop. */
export type ClusterCacheEvents = {
  /** Something about this node has changed. */
  readonly touched: (nodeName: string) => void;
  readonly budgetChanged: (budget: Budget, change: Change<Budget>['type']) => void;
  /** A pod of a watched node has changed or is gone. */
  readonly podChanged: (pod: Pod, nodeName: string, leaving: boolean) => void;
  /** An object of a kind that has namespaces, in one where it does not count. */
  readonly foreign: (request: MaintenanceRequest) => void;
};

/** Who wants to know of changes beside the loop. Called in the middle of the watch: it only notes what there is to do. */
export type Listener = {
  readonly node?: (node: Node) => void;
  readonly request?: (request: MaintenanceRequest) => void;
  readonly budget?: (change: Change<Budget>) => void;
  readonly window?: (window: MaintenanceWindow) => void;
  /** All that decides has been read (again). */
  readonly complete?: () => void;
};

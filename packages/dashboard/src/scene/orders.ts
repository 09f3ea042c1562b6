import type { HoldView } from './nodes.ts';
import type { PlanApprovalView } from './plans.ts';

/** Requests of the dashboard to its server. */

/** Order to put a node into maintenance. */
export type MaintainOrder = {
  readonly node: string;
  readonly reason: string;
  readonly force: boolean;
  readonly deleteEmptyDirData: boolean;
};

/** Order to release a node: one maintenance, as its view identifies it. */
export type ReleaseOrder = Pick<HoldView, 'store' | 'namespace' | 'name'>;

/** Order for a demonstration's cloud to announce an event for the host of a node. */
export type HostOrder = { readonly node: string; readonly what: 'retirement' | 'reboot' };

/** Order to approve a machine maintenance, by the key of its view. */
export type ApprovalOrder = { readonly key: string };

/** Order to pause or resume a plan: exactly the one in the view, and no other with its name. */
export type PlanOrder = {
  readonly plan: string;
  readonly uid: string;
  readonly what: 'pause' | 'resume';
};

/** Order to approve the step that a plan waits for. */
export type PlanApprovalOrder = Omit<PlanOrder, 'what'> & PlanApprovalView;

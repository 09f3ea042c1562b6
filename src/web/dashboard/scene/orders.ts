import type { HoldView } from './nodes.ts';
import type { PlanApprovalView } from './plans.ts';

/** What the dashboard asks of its server. */

/** What the dashboard asks for when it puts a node into maintenance. */
export type MaintainOrder = {
  readonly node: string;
  readonly reason: string;
  readonly force: boolean;
  readonly deleteEmptyDirData: boolean;
};

/** What it asks for when it gives a node back: one maintenance, as its view names it. */
export type ReleaseOrder = Pick<HoldView, 'store' | 'namespace' | 'name'>;

/** What the dashboard of a demonstration has the simulated cloud announce about the host of a node. */
export type HostOrder = { readonly node: string; readonly what: 'retirement' | 'reboot' };

/** What it asks for when somebody agrees to a machine maintenance: which one, by the key of its view. */
export type ApprovalOrder = { readonly key: string };

/** What it asks for when a plan is to start no more nodes, or to go on: the plan that its view shows, and no other of its name. */
export type PlanOrder = { readonly plan: string; readonly uid: string; readonly what: 'pause' | 'resume' };

/** What it asks for when somebody agrees to what a plan waits for: exactly that. */
export type PlanApprovalOrder = Omit<PlanOrder, 'what'> & PlanApprovalView;

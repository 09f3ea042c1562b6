import { computed, signal } from '@preact/signals';
import type { HoldView, MachineView, PlanApprovalView, PlanSummary } from '../web/dashboard/scene.ts';
import { Follower } from './connection.ts';
import { DashboardStore } from './model/store.ts';
import type { OrderResult } from './orders.ts';
import { expectMove } from './pod-animation.ts';

/** What is open on this page, and what it knows. */

export const store = new DashboardStore(Date.now, expectMove);
export const follower = new Follower({ replace: scene => store.replace(scene), apply: delta => store.apply(delta) });

/** The node whose details are open. */
export const selected = signal<string | undefined>(undefined);

export type OpenDialog =
  | { readonly kind: 'maintain'; readonly node: string }
  | { readonly kind: 'release'; readonly node: string; readonly hold: HoldView }
  | { readonly kind: 'approve'; readonly node: string; readonly machine: MachineView }
  | { readonly kind: 'resume-plan'; readonly plan: PlanSummary }
  | { readonly kind: 'approve-plan'; readonly plan: PlanSummary; readonly approval: PlanApprovalView };

/** The dialog that is open. */
export const asking = signal<OpenDialog | undefined>(undefined);

/** What became of the last order. */
export const notice = signal<OrderResult | undefined>(undefined);

/** What is looked for among the nodes. */
export const search = signal('');

/** Ticks once a second, for everything that says how long. */
export const now = signal(Date.now());

/** The screen has no room for two columns. */
export const narrow = signal(false);

/** The cluster is so large that its pods are counted and not drawn. */
export const condensed = computed(() => store.facts.value?.counted === true);

export const mayAct = computed(() => store.facts.value?.access === 'link');

const noticeMs = 8000;
const hiding = { timer: 0 };

export const say = (said: OrderResult): void => {
  notice.value = said;
  clearTimeout(hiding.timer);
  hiding.timer = setTimeout(() => {
    notice.value = undefined;
  }, noticeMs);
};

const idOf = (node: string): string => `node-${node}`;

export const open = (node: string): void => {
  selected.value = node;
};

/** Closes the details, and gives the focus back to the node that they were of. */
export const close = (): void => {
  const { value } = selected;
  selected.value = undefined;
  if (value !== undefined) document.getElementById(idOf(value))?.focus();
};

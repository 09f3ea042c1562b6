import { computed, signal } from '@preact/signals';
import type { HoldView, MachineView, PlanApprovalView, PlanSummary } from '../src/scene.ts';
import { Follower } from './connection.ts';
import { DashboardStore } from './model/store.ts';
import type { OrderResult } from './orders.ts';
import { expectMove } from './pod-animation.ts';

/** State of this page. */

export const store = new DashboardStore(Date.now, expectMove);
export const follower = new Follower({
  replace: scene => store.replace(scene),
  apply: delta => store.apply(delta),
});

/** Node whose details are open. */
export const selected = signal<string | undefined>(undefined);

export type OpenDialog =
  | { readonly kind: 'maintain'; readonly node: string }
  | { readonly kind: 'release'; readonly node: string; readonly hold: HoldView }
  | { readonly kind: 'approve'; readonly node: string; readonly machine: MachineView }
  | { readonly kind: 'resume-plan'; readonly plan: PlanSummary }
  | {
      readonly kind: 'approve-plan';
      readonly plan: PlanSummary;
      readonly approval: PlanApprovalView;
    };

/** Open dialog. */
export const asking = signal<OpenDialog | undefined>(undefined);

/** Result of the last order. */
export const notice = signal<OrderResult | undefined>(undefined);

/** Text of the search for nodes. */
export const search = signal('');

/** Current time, updated once a second, for all durations. */
export const now = signal(Date.now());

/** Whether the screen has no room for two columns. */
export const narrow = signal(false);

/** Whether the cluster is so large that its pods are counted and not drawn. */
export const condensed = computed(() => store.facts.value?.counted === true);

export const mayAct = computed(() => store.facts.value?.access === 'link');

const noticeMs = 8000;
const hiding = { timer: 0 };

export function say(said: OrderResult): void {
  notice.value = said;
  clearTimeout(hiding.timer);
  hiding.timer = setTimeout(() => {
    notice.value = undefined;
  }, noticeMs);
}

function idOf(node: string): string {
  return `node-${node}`;
}

export function open(node: string): void {
  selected.value = node;
}

/** Closes the details, and returns the focus to their node. */
export function close(): void {
  const { value } = selected;
  selected.value = undefined;
  if (value !== undefined) document.getElementById(idOf(value))?.focus();
}

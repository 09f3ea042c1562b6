import type { Taint } from './node.ts';

/** Marks that a kind of maintenance sets on a node to hold it. */
export type Marks = {
  readonly unschedulable: boolean;
  readonly taints: readonly Taint[];
  readonly labels: Readonly<Record<string, string>>;
};

/** Empty marks: the node is released. */
export const noMarks: Marks = { unschedulable: false, taints: [], labels: {} };

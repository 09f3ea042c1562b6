import type { Taint } from './node.ts';

/** What a kind of maintenance puts on a node to hold it. */
export type Marks = {
  readonly unschedulable: boolean;
  readonly taints: readonly Taint[];
  readonly labels: Readonly<Record<string, string>>;
};

/** No marks: the node is released. */
export const noMarks: Marks = { unschedulable: false, taints: [], labels: {} };

import type { NodeSummary } from '../../web/dashboard/scene.ts';
import { collator } from './order.ts';
import { nodeBadge } from './words.ts';

/** The nodes of a large cluster as cells in groups, those that need somebody first. Pure. */

/** How a node stands, in the order in which nodes are shown. */
const fleetStates = ['blocked', 'failed', 'waiting', 'draining', 'held', 'returning', 'unready', 'cordoned', 'service'] as const;
export type FleetState = (typeof fleetStates)[number];

export const fleetWords: Readonly<Record<FleetState, string>> = {
  blocked: 'Blocked',
  failed: 'Failed',
  waiting: 'Waiting',
  draining: 'Draining',
  held: 'Out of service',
  returning: 'Coming back',
  unready: 'Not ready',
  cordoned: 'Cordoned',
  service: 'In service',
};

/** What is in flight is one to those who look for what needs them; so is what no maintenance has touched. */
const attention: Readonly<Record<FleetState, number>> = {
  blocked: 0,
  failed: 1,
  waiting: 2,
  draining: 3,
  held: 3,
  returning: 3,
  unready: 4,
  cordoned: 4,
  service: 4,
};

export const groupings = ['zone', 'pool', 'plan'] as const;
export type Grouping = (typeof groupings)[number];

/** A node. */
export type Cell = { readonly key: string; readonly state: FleetState };

/** Nodes that belong together: by state, and then as they were given. */
export type CellGroup = { readonly name: string; readonly cells: readonly Cell[] };

/** How a node stands. `isAwaited`: something announced about its machine waits for somebody. */
export const fleetStateOf = (node: NodeSummary, isAwaited: boolean): FleetState => {
  const { tone } = nodeBadge(node);
  if (tone === 'held') return node.holds.some(({ drained }) => drained) ? 'held' : 'waiting';
  return isAwaited && attention[tone] === attention.service ? 'waiting' : tone;
};

const groupName = (node: NodeSummary, grouping: Grouping): string => {
  if (grouping === 'plan') return node.holds.find(({ plan }) => plan !== undefined)?.plan ?? node.plan ?? '';
  return node[grouping];
};

/** Whether a search for that text finds the node, by name, place, pool, plan or state. */
export const isFound = (node: NodeSummary, state: FleetState, text: string): boolean => {
  const wanted = text.trim().toLowerCase();
  return (
    wanted === '' || `${node.key} ${node.zone} ${node.pool} ${groupName(node, 'plan')} ${fleetWords[state]}`.toLowerCase().includes(wanted)
  );
};

type Asked = {
  readonly grouping: Grouping;
  /** Names of nodes about whose machines something waits for somebody. */
  readonly awaited: ReadonlySet<string>;
  readonly search: string;
};

const isSame = (one: readonly Cell[], other: readonly Cell[]): boolean =>
  one.length === other.length && one.every(({ key, state }, index) => key === other[index]?.key && state === other[index].state);

const urgency = ({ cells: [first] }: CellGroup): number => attention[first?.state ?? 'service'];

/** The nodes that are looked for, in groups. A group that is as it was before is the same object, so that nobody draws it anew. */
export const groupsOf = (
  nodes: readonly NodeSummary[],
  { grouping, awaited, search }: Asked,
  before: readonly CellGroup[],
): readonly CellGroup[] => {
  const byName = new Map<string, Map<FleetState, Cell[]>>();
  for (const node of nodes) {
    const state = fleetStateOf(node, awaited.has(node.key));
    if (!isFound(node, state, search)) continue;
    const name = groupName(node, grouping);
    const states = byName.get(name) ?? new Map<FleetState, Cell[]>();
    byName.set(name, states);
    const cells = states.get(state);
    if (cells === undefined) states.set(state, [{ key: node.key, state }]);
    else cells.push({ key: node.key, state });
  }
  const known = new Map(before.map(group => [group.name, group]));
  const groups = [...byName].map(([name, states]): CellGroup => {
    const cells = fleetStates.flatMap(state => states.get(state) ?? []);
    const old = known.get(name);
    return old !== undefined && isSame(old.cells, cells) ? old : { name, cells };
  });
  return groups.sort(
    (one, other) =>
      urgency(one) - urgency(other) ||
      // Those that belong to none come last of the equally urgent.
      Number(one.name === '') - Number(other.name === '') ||
      collator.compare(one.name, other.name),
  );
};

/** How many cells are in which state, those that need somebody first. */
export const countsOf = (cells: Iterable<Cell>): readonly (readonly [state: FleetState, count: number])[] => {
  const counts = new Map<FleetState, number>();
  for (const { state } of cells) counts.set(state, (counts.get(state) ?? 0) + 1);
  return fleetStates.flatMap(state => {
    const count = counts.get(state) ?? 0;
    return count > 0 ? [[state, count] as const] : [];
  });
};

/** Where a key leads from a cell, as an index among all; undefined where it leads nowhere. `columns` is how many cells are in a row. */
export const stepOf = (key: string, index: number, count: number, columns: number): number | undefined => {
  const steps: Readonly<Record<string, number>> = {
    ArrowLeft: index - 1,
    ArrowRight: index + 1,
    ArrowUp: index - columns,
    ArrowDown: index + columns,
    Home: 0,
    End: count - 1,
  };
  const next = steps[key];
  return next === undefined || next < 0 || next >= count ? undefined : next;
};

import type { NodeSummary } from '../../src/scene.ts';
import { collator } from './pods.ts';
import { nodeBadge } from './words.ts';

/** Nodes of a large cluster as cells in groups, those that need attention first. Pure. */

/** States of nodes, in the order in which they are shown. */
const fleetStates = [
  'blocked',
  'failed',
  'waiting',
  'draining',
  'held',
  'returning',
  'unready',
  'cordoned',
  'service',
] as const;
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

/** Urgency of a state: states in flight rank equally, and so do states without a maintenance. */
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

/** A group of nodes: by state, and then in their given order. */
export type CellGroup = { readonly name: string; readonly cells: readonly Cell[] };

/** Returns the state of a node. `isAwaited`: an event of its machine waits for a user. */
export function fleetStateOf(node: NodeSummary, isAwaited: boolean): FleetState {
  const { tone } = nodeBadge(node);
  if (tone === 'held') return node.holds.some(({ drained }) => drained) ? 'held' : 'waiting';
  return isAwaited && attention[tone] === attention.service ? 'waiting' : tone;
}

function groupName(node: NodeSummary, grouping: Grouping): string {
  if (grouping === 'plan')
    return node.holds.find(({ plan }) => plan !== undefined)?.plan ?? node.plan ?? '';
  return node[grouping];
}

/** Returns whether a search for this text finds the node, by name, zone, pool, plan or state. */
export function isFound(node: NodeSummary, state: FleetState, text: string): boolean {
  const wanted = text.trim().toLowerCase();
  return (
    wanted === '' ||
    `${node.key} ${node.zone} ${node.pool} ${groupName(node, 'plan')} ${fleetWords[state]}`
      .toLowerCase()
      .includes(wanted)
  );
}

type Asked = {
  readonly grouping: Grouping;
  /** Names of nodes whose machines have events that wait for a user. */
  readonly awaited: ReadonlySet<string>;
  readonly search: string;
};

function isSame(one: readonly Cell[], other: readonly Cell[]): boolean {
  return (
    one.length === other.length &&
    one.every(({ key, state }, index) => key === other[index]?.key && state === other[index].state)
  );
}

function urgency({ cells: [first] }: CellGroup): number {
  return attention[first?.state ?? 'service'];
}

/**
 * Returns the matching nodes in groups. An unchanged group is the same object as before, so that it
 * is not drawn again.
 */
export function groupsOf(
  nodes: readonly NodeSummary[],
  { grouping, awaited, search }: Asked,
  before: readonly CellGroup[],
): readonly CellGroup[] {
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
      // Nodes without a group come last among the equally urgent.
      Number(one.name === '') - Number(other.name === '') ||
      collator.compare(one.name, other.name),
  );
}

/** Returns the number of cells in each state, those that need attention first. */
export function countsOf(
  cells: Iterable<Cell>,
): readonly (readonly [state: FleetState, count: number])[] {
  const counts = new Map<FleetState, number>();
  for (const { state } of cells) counts.set(state, (counts.get(state) ?? 0) + 1);
  return fleetStates.flatMap(state => {
    const count = counts.get(state) ?? 0;
    return count > 0 ? [[state, count] as const] : [];
  });
}

/**
 * Returns the index of the cell that a key leads to; undefined where it leads nowhere. `columns` is
 * the number of cells in a row.
 */
export function stepOf(
  key: string,
  index: number,
  count: number,
  columns: number,
): number | undefined {
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
}

/**
 * The shown part of the fleet: kept in the fragment of the address, so that users can go back to it
 * and share it.
 */
export type FleetView = {
  /** Whether cells are shown even where there is room for boxes. */
  readonly asCells: boolean;
  readonly grouping: Grouping;
  /** Group that fills the view. */
  readonly zoom?: string;
};

/** Returns whether a fragment is a view; one without a name is a token. */
export function isView(fragment: string): boolean {
  return fragment.includes('=');
}

/** Parses a view from a fragment; ignores invalid values. */
export function readView(fragment: string): FleetView {
  const given = new URLSearchParams(isView(fragment) ? fragment : '');
  const zoom = given.get('in');
  return {
    asCells: given.get('view') === 'fleet',
    grouping: groupings.find(grouping => grouping === given.get('by')) ?? 'zone',
    ...(zoom !== null && { zoom }),
  };
}

/** Returns the fragment of a view; empty for the default. */
export function viewText({ asCells, grouping, zoom }: FleetView): string {
  return new URLSearchParams({
    ...(asCells && { view: 'fleet' }),
    ...(grouping !== 'zone' && { by: grouping }),
    ...(zoom !== undefined && { in: zoom }),
  }).toString();
}

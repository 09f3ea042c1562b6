import { computed, effect, signal } from '@preact/signals';
import { condensed, search, selected, store } from './connection.ts';
import {
  type CellGroup,
  type FleetView,
  groupsOf,
  isView,
  readView,
  stepOf,
  viewText,
} from './model/fleet.ts';
import { podsOf } from './orders.ts';

/** Keyboard navigation in the fleet: Tab reaches one cell, and arrow keys the others. */

/** Returns the cell of an event's target. */
export function cellIn(target: EventTarget | null): HTMLElement | undefined {
  const cell = target instanceof Element ? target.closest('button.cell') : null;
  return cell instanceof HTMLElement ? cell : undefined;
}

/** Returns the number of cells in a row of the current layout. */
function columnsOf(cells: readonly HTMLElement[]): number {
  const top = cells[0]?.offsetTop;
  const second = cells.findIndex(({ offsetTop }) => offsetTop !== top);
  return second < 0 ? cells.length : second;
}

/** Makes this cell the one that Tab reaches, and focuses it. */
export function moveFocus(box: HTMLElement, to: HTMLElement): void {
  for (const cell of box.querySelectorAll<HTMLElement>('button.cell[tabindex="0"]'))
    cell.tabIndex = -1;
  to.tabIndex = 0;
}

function cellsIn(box: Element): readonly HTMLElement[] {
  return [...box.querySelectorAll<HTMLElement>('button.cell')];
}

/** Returns the cell that a key leads to: in the group, or over its edge in the next group. */
function nextOf(box: HTMLElement, from: HTMLElement, key: string): HTMLElement | undefined {
  const group = from.closest('.cells') ?? box;
  const cells = cellsIn(group);
  const index = cells.indexOf(from);
  const step = stepOf(
    key,
    index,
    cells.length,
    key === 'ArrowUp' || key === 'ArrowDown' ? columnsOf(cells) : 1,
  );
  if (step !== undefined) return cells[step];
  const groups = [...box.querySelectorAll('.cells')];
  const isForward = key === 'ArrowRight' || key === 'ArrowDown';
  const beside = groups[groups.indexOf(group) + (isForward ? 1 : -1)];
  return beside === undefined ? undefined : cellsIn(beside).at(isForward ? 0 : -1);
}

const arrows: ReadonlySet<string> = new Set([
  'ArrowLeft',
  'ArrowRight',
  'ArrowUp',
  'ArrowDown',
  'Home',
  'End',
]);

/** Moves from cell to cell with the arrow keys. */
export function walk(event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void {
  const from = cellIn(event.target);
  if (from === undefined || !arrows.has(event.key)) return;
  event.preventDefault();
  nextOf(event.currentTarget, from, event.key)?.focus();
}

/** Ensures that Tab reaches one of the cells, whichever were added or removed. */
export function keepOneReachable(box: HTMLElement): void {
  if (box.querySelector('button.cell[tabindex="0"]') !== null) return;
  const first = box.querySelector<HTMLElement>('button.cell');
  if (first !== null) first.tabIndex = 0;
}

/** The part of the fleet that this page shows. */

export const view = signal<FleetView>(readView(location.hash.slice(1)));

/** Follows the address, which the browser's own buttons change too. */
export function followAddress(): void {
  window.addEventListener('hashchange', () => {
    const fragment = location.hash.slice(1);
    if (fragment === '' || isView(fragment)) view.value = readView(fragment);
  });
}

function show(next: FleetView): void {
  view.value = next;
  const fragment = viewText(next);
  history.pushState(undefined, '', fragment === '' ? location.pathname : `#${fragment}`);
}

/** Shows all groups, in this form. */
export function look({ asCells, grouping }: FleetView): void {
  show({ asCells, grouping });
}

/** Shows a single group. */
export function zoomInto(zoom: string): void {
  show({ ...view.value, zoom });
}

/** Whether nodes are drawn as cells rather than as boxes with their pods. */
export const asCells = computed(() => condensed.value || view.value.asCells);

const awaited = computed(
  () =>
    new Set(
      store.machines.value.flatMap(({ node, waitingFor }) =>
        node !== undefined && waitingFor !== undefined ? [node] : [],
      ),
    ),
);

const last: { groups: readonly CellGroup[] } = { groups: [] };

const groups = computed((): readonly CellGroup[] => {
  const { grouping } = view.value;
  last.groups = groupsOf(
    store.nodes.value,
    { grouping, awaited: awaited.value, search: search.value },
    last.groups,
  );
  return last.groups;
});

/** Groups in view: all, or the single one. */
export const shown = computed((): readonly CellGroup[] => {
  const { zoom } = view.value;
  return zoom === undefined ? groups.value : groups.value.filter(({ name }) => name === zoom);
});

/** Minimum time between two requests of a node's pods, in milliseconds. */
const pauseMs = 1000;

/** Requests the pods of the open node where pods are counted: now, and after every change. */
export function followNodePods(): void {
  let asked: string | undefined;
  let timer = 0;
  let next = 0;
  const ask = async (node: string): Promise<void> => {
    next = Date.now() + pauseMs;
    const pods = await podsOf(node);
    if (asked === node && pods !== undefined) store.pods.show(node, pods);
  };
  const stop = (): void => {
    clearTimeout(timer);
    if (asked !== undefined) store.pods.show(asked, []);
    asked = undefined;
  };
  effect(() => {
    const node = condensed.value ? selected.value : undefined;
    if (node !== asked) stop();
    if (node === undefined) return;
    // Read so that this effect runs again when they change.
    void [store.pods.countsOn(node).value, store.node(node).value];
    const isNew = asked === undefined;
    asked = node;
    clearTimeout(timer);
    if (isNew) void ask(node);
    else timer = setTimeout(() => void ask(node), Math.max(0, next - Date.now()));
  });
}

import { computed, signal } from '@preact/signals';
import { type FleetView, isView, readView, viewText } from './model/address.ts';
import { type CellGroup, groupsOf } from './model/fleet.ts';
import { condensed, search, store } from './page.ts';

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

import { computed, signal } from '@preact/signals';
import { type FleetView, isView, readView, viewText } from './model/address.ts';
import { type CellGroup, groupsOf } from './model/fleet.ts';
import { condensed, search, store } from './page.ts';

/** Which part of the fleet this page shows. */

export const view = signal<FleetView>(readView(location.hash.slice(1)));

/** Follows the address, which the browser's own buttons change too. */
export const followAddress = (): void =>
  window.addEventListener('hashchange', () => {
    const fragment = location.hash.slice(1);
    if (fragment === '' || isView(fragment)) view.value = readView(fragment);
  });

const show = (next: FleetView): void => {
  view.value = next;
  const fragment = viewText(next);
  history.pushState(undefined, '', fragment === '' ? location.pathname : `#${fragment}`);
};

/** Looks at all groups, in that way. */
export const look = ({ asCells, grouping }: FleetView): void => show({ asCells, grouping });

/** Lets one group fill the view. */
export const zoomInto = (zoom: string): void => show({ ...view.value, zoom });

/** Nodes are cells, and not boxes with their pods. */
export const asCells = computed(() => condensed.value || view.value.asCells);

const awaited = computed(
  () => new Set(store.machines.value.flatMap(({ node, waitingFor }) => (node !== undefined && waitingFor !== undefined ? [node] : []))),
);

const last: { groups: readonly CellGroup[] } = { groups: [] };

const groups = computed((): readonly CellGroup[] => {
  const { grouping } = view.value;
  last.groups = groupsOf(store.nodes.value, { grouping, awaited: awaited.value, search: search.value }, last.groups);
  return last.groups;
});

/** What is in view: all groups, or the one that fills it. */
export const shown = computed((): readonly CellGroup[] => {
  const { zoom } = view.value;
  return zoom === undefined ? groups.value : groups.value.filter(({ name }) => name === zoom);
});

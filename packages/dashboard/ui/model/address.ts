import { type Grouping, groupings } from './fleet.ts';

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

import { type Grouping, groupings } from './fleet.ts';

/** Which part of the fleet is looked at: kept in the fragment of the address, so that it can be gone back to and passed on. */
export type FleetView = {
  /** Cells also where there is room for boxes. */
  readonly asCells: boolean;
  readonly grouping: Grouping;
  /** The group that fills the view. */
  readonly zoom?: string;
};

/** A fragment without a name is a token, and none of this. */
export const isView = (fragment: string): boolean => fragment.includes('=');

/** Reads it from a fragment; whatever makes no sense is left out. */
export const readView = (fragment: string): FleetView => {
  const given = new URLSearchParams(isView(fragment) ? fragment : '');
  const zoom = given.get('in');
  return {
    asCells: given.get('view') === 'fleet',
    grouping: groupings.find(grouping => grouping === given.get('by')) ?? 'zone',
    ...(zoom !== null && { zoom }),
  };
};

/** The fragment that says this; empty where there is nothing to be said. */
export const viewText = ({ asCells, grouping, zoom }: FleetView): string =>
  new URLSearchParams({
    ...(asCells && { view: 'fleet' }),
    ...(grouping !== 'zone' && { by: grouping }),
    ...(zoom !== undefined && { in: zoom }),
  }).toString();

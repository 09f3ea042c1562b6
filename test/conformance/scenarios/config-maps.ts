import type { Place } from './place.ts';
import type { Thing } from './thing.ts';

/** Config maps: objects that nothing happens to by themselves, as owners and as what is owned. */

export const map = (at: Place, name: string, metadata: object = {}): Promise<Thing> =>
  at.make('configmaps', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...metadata } });

/** Metadata of what belongs to a config map. */
export const ownedBy = (owner: Thing, more: object = {}): object => ({
  ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: owner.metadata.name, uid: owner.metadata.uid, ...more }],
});

import type { Place } from './place.ts';
import type { Thing } from './thing.ts';

/** Config maps: objects that nothing happens to by themselves, as owners and as what is owned. */

export function map(at: Place, name: string, metadata: object = {}): Promise<Thing> {
  return at.make('configmaps', {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, ...metadata },
  });
}

/** Metadata of what belongs to a config map. */
export function ownedBy(owner: Thing, more: object = {}): object {
  return {
    ownerReferences: [
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        name: owner.metadata.name,
        uid: owner.metadata.uid,
        ...more,
      },
    ],
  };
}

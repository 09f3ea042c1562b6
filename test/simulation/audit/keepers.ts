import { type Stored, text } from '@drydock/kube-sim';
import { maintenanceResources } from '../story/story.ts';
import type { Around } from './checker.ts';
import { stageOf, type Version } from './records.ts';

/** It wants its node at any time: no window and no moment has a say. */
function wantsAlways({ resource, object }: Version, store: Around['store']): boolean {
  if (resource !== maintenanceResources.Maintenance) return true;
  const isFree =
    text(object, 'spec', 'start', 'windows') === 'Ignore' ||
    store.list('maintenancewindows.drydock.dev').length === 0;
  return (
    stageOf(object) !== 'Announce' && isFree && text(object, 'spec', 'start', 'notBefore') === ''
  );
}

function askedBy({ object: { metadata } }: Version): string {
  return `${metadata.uid} ${metadata.generation}`;
}

/**
 * Of each held node, what it was held for: the only maintenance that wanted it then, as it was
 * asked for. By the uid of the node.
 */
export class Keepers {
  readonly #around: Around;
  readonly #known = new Map<string, string>();

  constructor(around: Around) {
    this.#around = around;
  }

  held({ metadata: { name, uid } }: Stored): void {
    const { records, staleMs } = this.#around;
    // One that has just gone may be what it was held for.
    const wanting = new Set(
      records.wanting(name, staleMs()).map(({ object }) => object.metadata.uid),
    );
    const [only] = this.#wanting(name);
    if (only !== undefined && wanting.size === 1) this.#known.set(uid, askedBy(only));
    else this.#known.delete(uid);
  }

  /** Who keeps it: it has been known for long, or the node was held for it, and it is as it was. */
  of({ metadata: { name, uid } }: Stored): Version | undefined {
    const { store, nowMs, staleMs } = this.#around;
    return this.#wanting(name).find(one => {
      const isKnown = one.fromMs < nowMs() - staleMs() || this.#known.get(uid) === askedBy(one);
      return isKnown && text(one.object, 'status', 'phase') !== 'Failed' && wantsAlways(one, store);
    });
  }

  #wanting(node: string): readonly Version[] {
    return this.#around.records
      .wanting(node, 0)
      .filter(({ toMs }) => toMs === Number.POSITIVE_INFINITY);
  }
}

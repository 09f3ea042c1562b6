import type { Change, Collection, CompleteList } from '../ports.ts';
import type { InformerSet } from './informer-set.ts';
import type { NodeCache } from './node-cache.ts';
import type { CachedNode } from './whole-node.ts';

const collection: Collection = { path: '/api/v1/nodes' };

/**
 * How the nodes come into their cache: with what maintenances need of them, and whole from the first plan on. One watch at a time, but for the moment in which the
 * second one reads what the first one knows: two of them would keep each node twice, and be at different places.
 */
export class NodeWatch {
  readonly #nodes: NodeCache;
  readonly #changed: (change: Change<CachedNode>) => void;
  readonly #replaced = new AbortController();
  readonly #firstList = Promise.withResolvers<void>();

  /** `changed` keeps what it is told in the cache. */
  constructor(nodes: NodeCache, changed: (change: Change<CachedNode>) => void) {
    this.#nodes = nodes;
    this.#changed = changed;
  }

  /** Until the signal is aborted, or until `followWhole` has read all nodes. */
  async follow(informers: InformerSet, signal: AbortSignal): Promise<void> {
    const unseen = (list: CompleteList): readonly CachedNode[] => {
      this.#firstList.resolve();
      return this.#nodes.unseen(list);
    };
    const until = AbortSignal.any([signal, this.#replaced.signal]);
    await informers.follow('nodes', collection, this.#nodes.read, this.#changed, until, unseen);
    this.#firstList.resolve();
  }

  /** Follows them whole until the signal is aborted; `told` is told of changes once they are kept. Begins when `follow` has read all nodes, and ends it. */
  async followWhole(informers: InformerSet, name: string, told: (change: Change<CachedNode>) => void, signal: AbortSignal): Promise<void> {
    const changed = (change: Change<CachedNode>): void => {
      this.#changed(change);
      told(change);
    };
    const unseen = (list: CompleteList): readonly CachedNode[] => {
      this.#replaced.abort();
      // Of what the first watch knew, and has not seen the end of, this one knows nothing.
      return this.#nodes.absent(list);
    };
    this.#nodes.keepWhole();
    informers.expect(name);
    await this.#firstList.promise;
    await informers.follow(name, collection, this.#nodes.read, changed, signal, unseen);
  }
}

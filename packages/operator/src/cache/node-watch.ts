import type { Change, Collection, CompleteList } from '@drydock/kube-client';
import type { InformerSet } from './informer-set.ts';
import type { NodeCache } from './node-cache.ts';
import type { CachedNode } from './whole-node.ts';

const collection: Collection = { path: '/api/v1/nodes' };

/**
 * A watch that feeds the nodes into their cache: with the fields that maintenances need, and whole
 * from the first plan on. There is one watch at a time, except while the second one reads what the
 * first one knows: two watches would keep each node twice, and be at different versions.
 */
export class NodeWatch {
  readonly #nodes: NodeCache;
  readonly #changed: (change: Change<CachedNode>) => void;
  readonly #replaced = new AbortController();
  readonly #firstList = Promise.withResolvers<void>();

  /** Creates the watch. `changed` stores the delivered change in the cache. */
  constructor(nodes: NodeCache, changed: (change: Change<CachedNode>) => void) {
    this.#nodes = nodes;
    this.#changed = changed;
  }

  /** Follows the nodes until the signal is aborted, or until `followWhole` has read all nodes. */
  async follow(informers: InformerSet, signal: AbortSignal): Promise<void> {
    const unseen = (list: CompleteList): readonly CachedNode[] => {
      this.#firstList.resolve();
      return this.#nodes.unseen(list);
    };
    const until = AbortSignal.any([signal, this.#replaced.signal]);
    await informers.follow('nodes', collection, this.#nodes.read, this.#changed, until, unseen);
    this.#firstList.resolve();
  }

  /**
   * Follows whole nodes until the signal is aborted; the third argument is called for changes once
   * they are stored. Begins when `follow` has read all nodes, and ends it.
   */
  async followWhole(
    informers: InformerSet,
    name: string,
    told: (change: Change<CachedNode>) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const changed = (change: Change<CachedNode>): void => {
      this.#changed(change);
      told(change);
    };
    const unseen = (list: CompleteList): readonly CachedNode[] => {
      this.#replaced.abort();
      // This watch knows nothing of nodes that the first one knew and whose removal it has not
      // seen.
      return this.#nodes.absent(list);
    };
    this.#nodes.keepWhole();
    informers.expect(name);
    await this.#firstList.promise;
    await informers.follow(name, collection, this.#nodes.read, changed, signal, unseen);
  }
}

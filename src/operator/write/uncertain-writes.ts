import { isObject } from '../../core/json.ts';
import type { Write } from '../../core/maintenance/decision.ts';
import type { Log } from '../../support/log.ts';
import type { Api } from '../ports.ts';
import { type CacheUpdater, objectPath } from './cache-updater.ts';

/** The path of the object that a write changes, or makes: no role allows to read a subresource. */
const pathOf = ({ method, path, body }: Write): string => {
  const { metadata } = body;
  const name = isObject(metadata) && typeof metadata['name'] === 'string' ? metadata['name'] : '';
  return method === 'POST' ? `${path}/${encodeURIComponent(name)}` : objectPath(path);
};

/**
 * Writes of which nobody knows whether they were made: their answer was lost. A hold that was released without our knowing would be taken
 * for one that is still there, for as long as the watch is behind. So what they change is read again, from the store itself, before anything is
 * decided about the node.
 */
export class UncertainWrites {
  readonly #writes = new Map<string, readonly Write[]>();
  readonly #api: Api;
  readonly #cacheUpdater: CacheUpdater;
  readonly #log: Log;

  constructor(api: Api, cacheUpdater: CacheUpdater, log: Log) {
    this.#api = api;
    this.#cacheUpdater = cacheUpdater;
    this.#log = log;
  }

  /** Only what a node is held by matters: what is said of it is said again. */
  add(nodeName: string, write: Write): void {
    if (write.store === 'nodes' || write.store === 'leases') this.#writes.set(nodeName, [...(this.#writes.get(nodeName) ?? []), write]);
  }

  /** Whether everything about the node is as it is known to be. What cannot be read is asked for again the next time. */
  async settle(nodeName: string): Promise<boolean> {
    const writes = this.#writes.get(nodeName);
    if (writes === undefined) return true;
    const settled = await Promise.all(writes.map(write => this.#read(write, nodeName)));
    const left = writes.filter((_, index) => settled[index] !== true);
    if (left.length === 0) this.#writes.delete(nodeName);
    else this.#writes.set(nodeName, left);
    return left.length === 0;
  }

  async #read(write: Write, nodeName: string): Promise<boolean> {
    try {
      const { status, body } = await this.#api.call({ method: 'GET', path: pathOf(write), priority: 'vital', timeoutMs: 10_000 });
      if (status === 200) this.#cacheUpdater.learn({ ...write, method: 'PATCH' }, body);
      // A node that is gone is told by the watch; a lease may have come and gone before it came so far.
      else if (status === 404 && write.store === 'leases') this.#cacheUpdater.learn({ ...write, path: pathOf(write) }, undefined);
      return status === 200 || status === 404;
    } catch (error) {
      this.#log.debug('failed to read a write back; retrying', { node: nodeName, path: write.path, error });
      return false;
    }
  }
}

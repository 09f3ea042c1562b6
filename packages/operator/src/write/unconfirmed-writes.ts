import { isObject, pathSegment } from '@drydock/apimachinery';
import type { Write } from '@drydock/core';
import type { Api } from '@drydock/kube-client';
import { vitalGet } from '@drydock/kube-client';
import type { Log } from '@drydock/utils';
import { type CacheUpdater, objectPath } from './cache-updater.ts';

/**
 * Returns the path of the object that a write changes or creates: no role allows reading a
 * subresource.
 */
function pathOf({ method, path, body }: Write): string {
  const { metadata } = body;
  const name = isObject(metadata) && typeof metadata['name'] === 'string' ? metadata['name'] : '';
  return method === 'POST' ? `${path}/${pathSegment(name)}` : objectPath(path);
}

type Options = {
  readonly api: Api;
  readonly cacheUpdater: CacheUpdater;
  readonly log: Log;
  /** Stores that matter to decisions: writes that only report are repeated anyway. */
  readonly stores: readonly Write['cache'][];
};

/**
 * Writes with an unknown outcome, because their response was lost, and writes of objects that
 * others have changed. While the watch lags behind, a hold that was released without our knowledge
 * would count as still there, and a start that others have to wait for would be invisible. So the
 * changed objects are read again, from the store itself, before anything else is decided. `about`:
 * the node, or the name for everything that is decided together.
 */
export class UnconfirmedWrites {
  readonly #writes = new Map<string, readonly Write[]>();
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  add(about: string, write: Write): void {
    if (this.#options.stores.includes(write.cache))
      this.#writes.set(about, [...(this.#writes.get(about) ?? []), write]);
  }

  /**
   * Reports whether everything about it is as known. An object that cannot be read is requested
   * again the next time.
   */
  async settle(about: string): Promise<boolean> {
    const writes = this.#writes.get(about);
    if (writes === undefined) return true;
    const settled = await Promise.all(writes.map(write => this.#read(write, about)));
    const left = writes.filter((_, index) => settled[index] !== true);
    if (left.length === 0) this.#writes.delete(about);
    else this.#writes.set(about, left);
    return left.length === 0;
  }

  async #read(write: Write, about: string): Promise<boolean> {
    const { api, cacheUpdater, log } = this.#options;
    const found = await vitalGet(api, pathOf(write), error =>
      log.debug('failed to read a write back; retrying', { about, path: write.path, error }),
    );
    if (found === undefined) return false;
    const { status, body } = found;
    if (status === 200) cacheUpdater.observe({ ...write, method: 'PATCH' }, body);
    // The watch delivers the removal of a node; a lease may have come and gone before the watch
    // came to that version.
    else if (status === 404 && write.cache === 'leases')
      cacheUpdater.observe({ ...write, path: pathOf(write) }, undefined);
    if (status === 200 || status === 404) return true;
    log.warn('failed to read a write back; retrying', { about, path: write.path, status });
    return false;
  }
}

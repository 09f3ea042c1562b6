import { isObject } from '../../core/json.ts';
import type { Write } from '../../core/write.ts';
import type { Log } from '../../support/log.ts';
import type { Api } from '../ports.ts';
import { vitalGet } from '../vital-get.ts';
import { type CacheUpdater, objectPath } from './cache-updater.ts';

/** The path of the object that a write changes, or makes: no role allows to read a subresource. */
const pathOf = ({ method, path, body }: Write): string => {
  const { metadata } = body;
  const name = isObject(metadata) && typeof metadata['name'] === 'string' ? metadata['name'] : '';
  return method === 'POST' ? `${path}/${encodeURIComponent(name)}` : objectPath(path);
};

type Options = {
  readonly api: Api;
  readonly cacheUpdater: CacheUpdater;
  readonly log: Log;
  /** Only what is decided by matters: what is merely said is said again. */
  readonly stores: readonly Write['cache'][];
};

/**
 * Writes of which nobody knows whether they were made, since their answer was lost, and writes of objects that others have changed. A hold that
 * was released without our knowing would be taken for one that is still there, and a beginning that others have to wait for would not be seen,
 * for as long as the watch is behind. So what they change is read again, from the store itself, before anything more is decided. `about`: the
 * node, or whatever else is decided about together.
 */
export class UnconfirmedWrites {
  readonly #writes = new Map<string, readonly Write[]>();
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  add(about: string, write: Write): void {
    if (this.#options.stores.includes(write.cache)) this.#writes.set(about, [...(this.#writes.get(about) ?? []), write]);
  }

  /** Whether everything about it is as it is known to be. What cannot be read is asked for again the next time. */
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
    // Of a node that is gone the watch tells; a lease may have come and gone before it came so far.
    else if (status === 404 && write.cache === 'leases') cacheUpdater.observe({ ...write, path: pathOf(write) }, undefined);
    if (status === 200 || status === 404) return true;
    log.warn('failed to read a write back; retrying', { about, path: write.path, status });
    return false;
  }
}

import type { Api } from '../control-plane/objects/api.ts';
import { collectionOf } from '../control-plane/objects/cluster.ts';
import { isReady, type List, type Pod } from '../control-plane/objects/objects.ts';

/**
 * Watches the pods of a namespace and remembers how few were ever healthy at the same time, as the
 * disruption controller counts.
 */
export class Guard implements AsyncDisposable {
  readonly #healthy = new Set<string>();
  readonly #stop = new AbortController();
  #watching: Promise<void> = Promise.resolve();
  #fewest = Number.POSITIVE_INFINITY;

  static async start(api: Api, namespace: string): Promise<Guard> {
    const guard = new Guard();
    const path = collectionOf('v1', 'Pod', namespace);
    const { metadata, items } = await api.get<List<Pod>>(path);
    for (const pod of items) guard.#see(pod, false);
    guard.#note();
    guard.#watching = api.watch<Pod>(
      path,
      metadata.resourceVersion,
      event => guard.#see(event.object, event.type === 'DELETED'),
      guard.#stop.signal,
    );
    guard.#watching.catch(() => {});
    return guard;
  }

  /** Rejects when it could not watch all the time. */
  async fewest(): Promise<number> {
    this.#stop.abort();
    await this.#watching;
    return this.#fewest;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#watching.catch(() => {});
  }

  #see(pod: Pod, gone: boolean): void {
    if (!gone && isReady(pod) && pod.metadata.deletionTimestamp === undefined)
      this.#healthy.add(pod.metadata.uid);
    else this.#healthy.delete(pod.metadata.uid);
    if (this.#fewest !== Number.POSITIVE_INFINITY) this.#note();
  }

  #note(): void {
    this.#fewest = Math.min(this.#fewest, this.#healthy.size);
  }
}

import { isTerminating, type Pod, readPod } from '../core/pod/pod.ts';
import type { Log } from '../support/log.ts';
import { Cache } from './cache.ts';
import type { Change, Watcher } from './ports.ts';

type Watch = { readonly pods: Cache<Pod>; readonly stop: AbortController; synced: boolean };

type PodEvents = {
  readonly touched: (nodeName: string) => void;
  readonly podChanged: (uid: string, resourceVersion: string, leaving: boolean) => void;
};

/** Watches the pods of the nodes that are worked on, and of no others: memory does not grow with the cluster. */
export class PodWatches {
  readonly #watches = new Map<string, Watch>();
  readonly #watcher: Watcher;
  readonly #events: PodEvents;
  readonly #log: Log;

  constructor(watcher: Watcher, events: PodEvents, log: Log) {
    this.#watcher = watcher;
    this.#events = events;
    this.#log = log;
  }

  /** The node's pods; undefined as long as they are not all known. */
  of(nodeName: string): readonly Pod[] | undefined {
    const watch = this.#watches.get(nodeName);
    return watch?.synced === true ? [...watch.pods.values()] : undefined;
  }

  watched(): readonly string[] {
    return [...this.#watches.keys()];
  }

  start(nodeName: string): void {
    if (this.#watches.has(nodeName)) return;
    const watch: Watch = { pods: new Cache<Pod>(({ namespace }) => namespace), stop: new AbortController(), synced: false };
    this.#watches.set(nodeName, watch);
    void this.#run(nodeName, watch);
  }

  stop(nodeName: string): void {
    this.#watches.get(nodeName)?.stop.abort();
    this.#watches.delete(nodeName);
  }

  stopAll(): void {
    for (const nodeName of this.watched()) this.stop(nodeName);
  }

  async #run(nodeName: string, watch: Watch): Promise<void> {
    const current = (): boolean => this.#watches.get(nodeName) === watch;
    await this.#watcher.watch(
      { path: '/api/v1/pods', fieldSelector: `spec.nodeName=${nodeName}` },
      readPod,
      {
        changed: change => {
          watch.pods.apply(change);
          this.#tell(change);
          if (watch.synced && current()) this.#events.touched(nodeName);
        },
        synced: () => {
          watch.synced = true;
          if (current()) this.#events.touched(nodeName);
        },
        failing: ({ message, retryInMs }) =>
          this.#log.warn('cannot read the pods of a node; trying again', { node: nodeName, error: message, retryInMs }),
      },
      watch.stop.signal,
    );
  }

  #tell({ type, object }: Change<Pod>): void {
    this.#events.podChanged(object.uid, object.resourceVersion, type === 'removed' || isTerminating(object));
  }
}

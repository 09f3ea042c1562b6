import { isTerminating, type Pod, readPod } from '../core/pod/pod.ts';
import type { Clock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import { Cache } from './cache.ts';
import { listAll } from './list.ts';
import type { Api, Change, Watcher } from './ports.ts';

type Watch = {
  readonly pods: Cache<Pod>;
  readonly stop: AbortController;
  synced: boolean;
  confirmed: 'not asked' | 'asked' | 'yes';
};

type Options = {
  readonly api: Api;
  readonly watcher: Watcher;
  readonly clock: Clock;
  readonly events: {
    readonly touched: (nodeName: string) => void;
    readonly podChanged: (uid: string, resourceVersion: string, leaving: boolean) => void;
  };
  readonly log: Log;
};

/** Milliseconds until a list that could not be read is tried again. */
const confirmAgainMs = 1000;

/** Half of a pod's updates say nothing that matters here. */
const essence = ({ uid, phase, ready, labels, deletionTimestamp, finalizers, owner }: Pod): string =>
  JSON.stringify([uid, phase, ready, labels, deletionTimestamp?.epochMilliseconds, finalizers, owner?.uid]);

const collection = '/api/v1/pods';
const onNode = (nodeName: string): string => `spec.nodeName=${nodeName}`;

/** Watches the pods of the nodes that are worked on, and of no others: memory does not grow with the cluster. */
export class PodWatches {
  readonly #watches = new Map<string, Watch>();
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  /** The node's pods; undefined as long as none are known. */
  of(nodeName: string): readonly Pod[] | undefined {
    const watch = this.#watches.get(nodeName);
    return watch?.synced === true ? [...watch.pods.values()] : undefined;
  }

  /** The pods have been read once more since `confirm` was called first. */
  isConfirmed(nodeName: string): boolean {
    return this.#watches.get(nodeName)?.confirmed === 'yes';
  }

  watched(): readonly string[] {
    return [...this.#watches.keys()];
  }

  start(nodeName: string): void {
    if (this.#watches.has(nodeName)) return;
    const pods = new Cache<Pod>(({ namespace }) => namespace);
    const watch: Watch = { pods, stop: new AbortController(), synced: false, confirmed: 'not asked' };
    this.#watches.set(nodeName, watch);
    void this.#run(nodeName, watch);
  }

  /** Reads the pods once more, this time not from a cache that may be old. */
  confirm(nodeName: string): void {
    const watch = this.#watches.get(nodeName);
    if (watch?.confirmed !== 'not asked') return;
    watch.confirmed = 'asked';
    void this.#confirm(nodeName, watch);
  }

  stop(nodeName: string): void {
    this.#watches.get(nodeName)?.stop.abort();
    this.#watches.delete(nodeName);
  }

  stopAll(): void {
    for (const nodeName of this.watched()) this.stop(nodeName);
  }

  #isCurrent(nodeName: string, watch: Watch): boolean {
    return this.#watches.get(nodeName) === watch;
  }

  async #confirm(nodeName: string, watch: Watch): Promise<void> {
    const { api, clock, log, events } = this.#options;
    const { signal } = watch.stop;
    while (!signal.aborted) {
      try {
        const raws = await listAll(api, collection, { fieldSelector: onNode(nodeName) }, 'an error', signal);
        for (const raw of raws) watch.pods.observe(readPod(raw));
        watch.confirmed = 'yes';
        if (this.#isCurrent(nodeName, watch)) events.touched(nodeName);
        return;
      } catch (error) {
        if (signal.aborted) return;
        log.warn('cannot read the pods of a node once more; trying again', { node: nodeName, error });
        await clock.sleep(confirmAgainMs, signal);
      }
    }
  }

  async #run(nodeName: string, watch: Watch): Promise<void> {
    const { watcher, events, log } = this.#options;
    const touch = (): void => {
      if (watch.synced && this.#isCurrent(nodeName, watch)) events.touched(nodeName);
    };
    await watcher.watch(
      { path: collection, fieldSelector: onNode(nodeName), beginWithCache: true },
      readPod,
      {
        changed: change => {
          const before = watch.pods.apply(change);
          this.#tell(change);
          if (change.type !== 'changed' || before === undefined || essence(before) !== essence(change.object)) touch();
        },
        synced: () => {
          watch.synced = true;
          touch();
        },
        failing: ({ message, retryInMs }) =>
          log.warn('cannot read the pods of a node; trying again', { node: nodeName, error: message, retryInMs }),
      },
      watch.stop.signal,
    );
  }

  #tell({ type, object }: Change<Pod>): void {
    this.#options.events.podChanged(object.uid, object.resourceVersion, type === 'removed' || isTerminating(object));
  }
}

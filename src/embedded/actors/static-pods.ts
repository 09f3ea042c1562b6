import type { Clock } from '../../support/clock.ts';
import type { Cluster } from '../controllers/controller.ts';
import { nodeOf, phaseOf } from '../controllers/pods.ts';
import { part, type Stored } from '../object.ts';

/** How often a kubelet syncs a pod that nothing happens to: after 60 to 90 s (syncFrequency, workerResyncIntervalJitterFactor). */
const [syncMs, jitterMs] = [60_000, 30_000];

/** A pod of the API server that stands for one which its kubelet runs from a file. */
export const isMirror = ({ metadata }: Stored): boolean => metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined;

/**
 * Static pods run on, whatever becomes of their mirrors. A kubelet does not act on the deletion of a mirror (HandlePodUpdates leaves out pods that it has allocated
 * nothing to): it replaces the mirror, and makes one that is gone again, when it syncs the static pod the next time.
 */
export class StaticPods {
  readonly #cluster: Cluster;
  readonly #clock: Clock;
  readonly #isAlive: (node: Stored) => boolean;
  /** The next syncs, by the uid of the mirror that is going or gone. */
  readonly #syncs = new Map<string, () => void>();

  constructor(cluster: Cluster, clock: Clock, isAlive: (node: Stored) => boolean) {
    this.#cluster = cluster;
    this.#clock = clock;
    this.#isAlive = isAlive;
  }

  /** Somebody has deleted a mirror; the kubelet is somewhere between two syncs. */
  ending(mirror: Stored): void {
    if (!this.#syncs.has(mirror.metadata.uid)) this.#sync(mirror, Math.round((syncMs + jitterMs) * this.#cluster.random()));
  }

  /** A mirror is gone: the kubelet syncs its pod at once, finds it as it should be, and makes another mirror at the sync after that. */
  removed(mirror: Stored): void {
    this.#sync(mirror, this.#usualMs());
  }

  stop(): void {
    for (const cancel of this.#syncs.values()) cancel();
    this.#syncs.clear();
  }

  #usualMs(): number {
    return syncMs + Math.round(jitterMs * this.#cluster.random());
  }

  #sync(mirror: Stored, afterMs: number): void {
    const { uid } = mirror.metadata;
    this.#syncs.get(uid)?.();
    this.#syncs.set(
      uid,
      this.#clock.after(afterMs, () => {
        this.#syncs.delete(uid);
        const node = this.#cluster.store.get('nodes', '', nodeOf(mirror));
        if (node === undefined) return;
        if (!this.#isAlive(node) || !this.#replace(mirror)) this.#sync(mirror, this.#usualMs());
      }),
    );
  }

  /** False when the API server does not take the other mirror: there may be a pod of that name, or no such namespace. */
  #replace(mirror: Stored): boolean {
    const { store, writes } = this.#cluster;
    const { uid, name, namespace = '', labels, annotations, ownerReferences } = mirror.metadata;
    const last = store.get('pods', namespace, name);
    if (last?.metadata.uid === uid) writes.remove('pods', namespace, name, { gracePeriodSeconds: 0, uid });
    // It was the kubelet's own deletion.
    this.#syncs.get(uid)?.();
    this.#syncs.delete(uid);
    const metadata = { name, namespace, ...(labels && { labels }), annotations, ...(ownerReferences && { ownerReferences }) };
    const made = writes.create('pods', { apiVersion: 'v1', kind: 'Pod', metadata, spec: part(mirror, 'spec') });
    if (made.kind === 'refused') return false;
    if (phaseOf(mirror) !== 'Pending') writes.update('pods', { ...made.object, status: part(mirror, 'status') }, 'status');
    return true;
  }
}

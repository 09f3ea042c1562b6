import type { Clock } from '@drydock/utils';
import { type Cluster, nodeOf, phaseOf } from '../controllers/controller.ts';
import { part, type Stored } from '../object.ts';

/**
 * Interval at which a kubelet syncs an unchanged pod: 60 to 90 s (syncFrequency,
 * workerResyncIntervalJitterFactor).
 */
const [syncMs, jitterMs] = [60_000, 30_000];

/** Returns whether a pod is a mirror of a static pod, which its kubelet runs from a file. */
export function isMirror({ metadata }: Stored): boolean {
  return metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined;
}

/**
 * Static pods continue to run, whatever happens to their mirrors. A kubelet does not act on the
 * deletion of a mirror (HandlePodUpdates leaves out pods without an allocation): it replaces the
 * mirror, and recreates a missing one, at the next sync of the static pod.
 */
export class StaticPods {
  readonly #cluster: Cluster;
  readonly #clock: Clock;
  readonly #isAlive: (node: Stored) => boolean;
  /** Next syncs, by the UID of the terminating or removed mirror. */
  readonly #syncs = new Map<string, () => void>();

  constructor(cluster: Cluster, clock: Clock, isAlive: (node: Stored) => boolean) {
    this.#cluster = cluster;
    this.#clock = clock;
    this.#isAlive = isAlive;
  }

  /** Handles the deletion of a mirror; the kubelet is at a random moment between two syncs. */
  ending(mirror: Stored): void {
    if (!this.#syncs.has(mirror.metadata.uid))
      this.#sync(mirror, Math.round((syncMs + jitterMs) * this.#cluster.random()));
  }

  /**
   * Handles the removal of a mirror: the kubelet syncs its pod at once, finds it unchanged, and
   * creates another mirror at the following sync.
   */
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

  /**
   * Replaces a mirror; returns false when the API server rejects the new one: its name may be in
   * use, or the namespace gone.
   */
  #replace(mirror: Stored): boolean {
    const { store, writes } = this.#cluster;
    const { uid, name, namespace = '', labels, annotations, ownerReferences } = mirror.metadata;
    const last = store.get('pods', namespace, name);
    if (last?.metadata.uid === uid)
      writes.remove('pods', namespace, name, { gracePeriodSeconds: 0, uid });
    // The kubelet itself caused this deletion.
    this.#syncs.get(uid)?.();
    this.#syncs.delete(uid);
    const metadata = {
      name,
      namespace,
      ...(labels && { labels }),
      annotations,
      ...(ownerReferences && { ownerReferences }),
    };
    const made = writes.create('pods', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata,
      spec: part(mirror, 'spec'),
    });
    if (made.kind === 'refused') return false;
    if (phaseOf(mirror) !== 'Pending')
      writes.update('pods', { ...made.object, status: part(mirror, 'status') }, 'status');
    return true;
  }
}

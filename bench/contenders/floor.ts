import { setTimeout as sleep } from 'node:timers/promises';
import type { Api } from '../../test/control-plane/objects/api.ts';
import { cordon, evict } from '../../test/control-plane/objects/cluster.ts';
import { keyOf, type Pod } from '../../test/control-plane/objects/objects.ts';
import type { ControlPlane } from '../../test/control-plane/types.ts';
import { isEvictable, watchPods } from '../watch-pods.ts';
import type { Contender } from './contender.ts';

/** How soon a refused pod is tried again. */
const againMs = 20;

/** Knows which pods are gone, from the one watch of a run. */
class Departures {
  readonly #gone = new Set<string>();
  readonly #waiting = new Map<string, () => void>();

  note(uid: string): void {
    this.#gone.add(uid);
    this.#waiting.get(uid)?.();
  }

  has(uid: string): boolean {
    return this.#gone.has(uid);
  }

  of(uid: string): Promise<void> {
    if (this.#gone.has(uid)) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.set(uid, resolve);
    return promise;
  }
}

/** Evicts one pod as soon as anybody could, and waits until it is gone. */
async function chase(api: Api, departures: Departures, pod: Pod): Promise<void> {
  const { name, namespace = '', uid } = pod.metadata;
  let accepted = pod.metadata.deletionTimestamp !== undefined;
  while (!accepted && !departures.has(uid)) {
    const { status } = await evict(api, namespace, name);
    accepted = status < 300;
    if (status === 404) return;
    if (!accepted) await sleep(againMs);
  }
  await departures.of(uid);
}

async function drain(api: Api, nodes: readonly string[]): Promise<void> {
  await Promise.all(nodes.map(node => cordon(api, node)));
  const targets = new Set(nodes);
  const departures = new Departures();
  const path =
    nodes.length === 1
      ? `/api/v1/pods?fieldSelector=spec.nodeName=${nodes[0] ?? ''}`
      : '/api/v1/pods';
  const chased = new Map<string, Promise<void>>();
  // A pod may have been bound to a node a moment before its cordon: it is seen by the watch and
  // chased like the others.
  const take = (pod: Pod): void => {
    const { uid } = pod.metadata;
    if (targets.has(pod.spec.nodeName ?? '') && isEvictable(pod) && !chased.has(uid))
      chased.set(uid, chase(api, departures, pod));
  };
  const watch = await watchPods(api, path, (pod, gone) =>
    gone ? departures.note(pod.metadata.uid) : take(pod),
  );
  for (const pod of watch.pods.values()) take(pod);
  const allGone = async (): Promise<void> => {
    for (let seen = -1; seen !== chased.size; ) {
      seen = chased.size;
      await Promise.all(chased.values());
    }
  };
  await Promise.race([
    allGone(),
    watch.ended.then(() => Promise.reject(new Error('the watch of the floor ended'))),
  ]);
  const left = [...watch.pods.values()].filter(
    pod => targets.has(pod.spec.nodeName ?? '') && isEvictable(pod),
  );
  if (left.length > 0) throw new Error(`the floor left ${left.map(keyOf).join(', ')}`);
  watch.stop();
}

/**
 * What is possible: evictions as fast as the API server answers, without any regard for it, over so
 * many connections.
 */
export function floor(controlPlane: ControlPlane, connections: number): Contender {
  const api = controlPlane.apiOf('floor', connections);
  return {
    name: 'floor',
    user: 'floor',
    drain: nodes => drain(api, nodes),
    release: async () => {},
    stop: async () => api.close(),
  };
}

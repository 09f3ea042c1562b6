import type { Api } from '../test/control-plane/objects/api.ts';
import { keyOf, type Pod } from '../test/control-plane/objects/objects.ts';
import { isEvictable, watchPods } from './watch-pods.ts';

/** Sees independently of the contenders when the last evictable pod has left the nodes. */
export interface Observer {
  /** Where a pod `NAMESPACE/NAME` was. */
  nodeOf(pod: string): string | undefined;
  /** Resolves with the moment (performance.now) at which the nodes were empty for the last time. */
  emptyAt(): Promise<number>;
  stop(): void;
}

export async function observe(api: Api, targets: readonly string[]): Promise<Observer> {
  const watched = new Set(targets);
  const nodes = new Map<string, string>();
  const left = new Set<string>();
  let waiting: ((at: number) => void)[] = [];
  let emptySince = performance.now();
  const note = (pod: Pod, gone: boolean): void => {
    const node = pod.spec.nodeName;
    if (node === undefined || !watched.has(node)) return;
    nodes.set(keyOf(pod), node);
    const before = left.size;
    if (gone || !isEvictable(pod)) left.delete(keyOf(pod));
    else left.add(keyOf(pod));
    if (before === 0 || left.size > 0) return;
    emptySince = performance.now();
    for (const tell of waiting) tell(emptySince);
    waiting = [];
  };
  const watch = await watchPods(api, '/api/v1/pods', note);
  for (const pod of watch.pods.values()) note(pod, false);
  return {
    nodeOf: pod => nodes.get(pod),
    emptyAt: () => {
      if (left.size === 0) return Promise.resolve(emptySince);
      const { promise, resolve, reject } = Promise.withResolvers<number>();
      waiting.push(resolve);
      watch.ended.then(() => reject(new Error('the observer was stopped')), reject);
      return promise;
    },
    stop: () => watch.stop(),
  };
}

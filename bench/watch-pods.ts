import type { Api } from '../test/control-plane/objects/api.ts';
import { keyOf, type List, type Pod } from '../test/control-plane/objects/objects.ts';

/** Pods as a watch shows them, with somebody told about each change. */
export interface PodWatch {
  readonly pods: ReadonlyMap<string, Pod>;
  /** Rejects when the watch breaks: what was measured with it is worth nothing then. */
  readonly ended: Promise<void>;
  stop(): void;
}

/** A pod that a drain makes go: not a DaemonSet's, not a static one, not one that has ended. */
export function isEvictable({ metadata, status }: Pod): boolean {
  return (
    metadata.ownerReferences?.some(({ kind }) => kind === 'DaemonSet' || kind === 'Node') !==
      true &&
    status.phase !== 'Succeeded' &&
    status.phase !== 'Failed'
  );
}

/**
 * Lists and follows the pods of a path (a field selector included). `changed` is called after the
 * map has changed.
 */
export async function watchPods(
  api: Api,
  path: string,
  changed: (pod: Pod, gone: boolean) => void,
): Promise<PodWatch> {
  const list = await api.get<List<Pod>>(path);
  const pods = new Map(list.items.map(pod => [keyOf(pod), pod]));
  const stop = new AbortController();
  const ended = api.watch<Pod>(
    path,
    list.metadata.resourceVersion,
    ({ type, object }) => {
      const gone = type === 'DELETED';
      if (gone) pods.delete(keyOf(object));
      else pods.set(keyOf(object), object);
      changed(object, gone);
    },
    stop.signal,
  );
  // Whoever waits for it gets the error; without this line the process would end before anybody
  // does.
  ended.catch(() => {});
  return { pods, ended, stop: () => stop.abort() };
}

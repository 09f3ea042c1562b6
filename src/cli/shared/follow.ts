import type { KindAdapter, MaintenanceRequest } from '../../core/request/request.ts';
import type { CachedObject, Watcher } from '../../operator/ports.ts';

/** The object as it is now, or that it is gone. Answers whether enough has been seen. */
type FollowedState = (request: MaintenanceRequest | undefined) => 'done' | 'continue';

type Followed = CachedObject & { readonly request: MaintenanceRequest };

const project =
  (adapter: KindAdapter) =>
  (raw: unknown): Followed | undefined => {
    const request = adapter.read(raw);
    return typeof request === 'string'
      ? undefined
      : { key: request.key, uid: request.uid, resourceVersion: request.resourceVersion, request };
  };

/**
 * Follows one object by events until `look` has seen enough, it has not been seen for good (`look` is told `undefined` then), or the signal is
 * aborted.
 */
export const follow = async (
  watcher: Watcher,
  { adapter, name, namespace, uid }: MaintenanceRequest,
  look: FollowedState,
  signal: AbortSignal,
): Promise<void> => {
  const done = new AbortController();
  const tell = (request: MaintenanceRequest | undefined): void => {
    if (!done.signal.aborted && look(request) === 'done') done.abort();
  };
  let seen = false;
  await watcher.watch(
    { path: adapter.path, fieldSelector: `metadata.name=${name}` },
    project(adapter),
    {
      changed: ({ type, object: { request } }) => {
        if (request.namespace !== namespace || request.uid !== uid) return;
        seen = true;
        tell(type === 'removed' ? undefined : request);
      },
      // It was gone before anybody looked.
      synced: () => (seen ? undefined : tell(undefined)),
    },
    AbortSignal.any([signal, done.signal]),
  );
};

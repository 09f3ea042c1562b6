import type { KindAdapter, MaintenanceRequest } from '@drydock/core/request';
import type { CachedObject, Watcher } from '@drydock/kube-client';

/** Callback with the object, or undefined when it is deleted. Returns whether to continue. */
type FollowedState = (request: MaintenanceRequest | undefined) => 'done' | 'continue';

type Followed = CachedObject & { readonly request: MaintenanceRequest };

function project(adapter: KindAdapter) {
  return (raw: unknown): Followed | undefined => {
    const request = adapter.read(raw);
    return typeof request === 'string'
      ? undefined
      : { key: request.key, uid: request.uid, resourceVersion: request.resourceVersion, request };
  };
}

/**
 * Watches one object until `look` returns 'done', the object is deleted (`look` receives
 * `undefined` then), or the signal is aborted.
 */
export async function follow(
  watcher: Watcher,
  { adapter, name, namespace, uid }: MaintenanceRequest,
  look: FollowedState,
  signal: AbortSignal,
): Promise<void> {
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
      // The object was deleted before the watch started.
      synced: () => (seen ? undefined : tell(undefined)),
    },
    AbortSignal.any([signal, done.signal]),
  );
}

import { isObject, type KubernetesRelease, statusMessage } from '@drydock/apimachinery';
import { byAge, type KindAdapter, type MaintenanceRequest } from '@drydock/core/request';
import {
  type Api,
  type ApiResponse,
  type CachedObject,
  listAll,
  serverRelease,
  type Watcher,
} from '@drydock/kube-client';

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
  const notify = (request: MaintenanceRequest | undefined): void => {
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
        notify(type === 'removed' ? undefined : request);
      },
      // The object was deleted before the watch started.
      synced: () => (seen ? undefined : notify(undefined)),
    },
    AbortSignal.any([signal, done.signal]),
  );
}

/**
 * Returns all maintenances of the served kinds, on one node or on all, oldest first. Throws an
 * error that names what could not be read.
 */
export async function requestsOf(
  api: Api,
  adapters: readonly KindAdapter[],
  node?: string,
): Promise<readonly MaintenanceRequest[]> {
  const lists = await Promise.all(
    adapters.map(async adapter => {
      const objects = await listAll(api, adapter.path, {}, 'empty');
      return objects.map(adapter.read).filter(request => typeof request !== 'string');
    }),
  );
  return lists
    .flat()
    .filter(({ nodeName }) => node === undefined || nodeName === node)
    .toSorted(byAge);
}

/** Returns a maintenance's title: `NodeMaintenance disk`, `Maintenance ops/n1`. */
export function titleOf({ adapter, namespace, name }: MaintenanceRequest): string {
  return `${adapter.kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}

/**
 * An error of the API server, in kubectl's words (`Error from server (NotFound): nodes "x" not
 * found`).
 */
export class ApiError extends Error {
  override readonly name = 'ApiError';
}

/** Returns the error that kubectl would print for this response, without its prefix `error: `. */
export function refusedError(response: ApiResponse): ApiError {
  const { body, status } = response;
  if (status === 401)
    return new ApiError(`error: You must be logged in to the server (${statusMessage(response)})`);
  const reason =
    isObject(body) && typeof body['reason'] === 'string' && body['reason'] !== ''
      ? ` (${body['reason']})`
      : '';
  return new ApiError(`Error from server${reason}: ${statusMessage(response)}`);
}

/**
 * Returns the release of the API server. Throws an ApiError when the server refuses the request,
 * another Error when it fails.
 */
export async function releaseOf(api: Api): Promise<KubernetesRelease> {
  const found = await serverRelease(api);
  if (found.kind === 'refused') throw new ApiError(found.message);
  return found.release;
}

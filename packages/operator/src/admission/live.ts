import { isObject, type JsonObject, statusMessage } from '@drydock/apimachinery';
import type { Api } from '@drydock/kube-client';
import { errorText, isDefect } from '@drydock/utils';

/**
 * Reads that are never stale: straight from the API server, consistent (no resourceVersion is
 * given), and never from a cache.
 */

/** Result of a read; `why` is the API server's message, or why it could not be reached. */
export type Found<T> =
  | { readonly kind: 'found'; readonly value: T }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unreadable'; readonly why: string };

/** Reads one object, or the first page of a collection, which is all of it: no limit is given. */
async function read(
  api: Api,
  path: string,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Found<JsonObject>> {
  try {
    const response = await api.call({ method: 'GET', path, query }, signal);
    if (response.status === 404) return { kind: 'missing' };
    if (response.status !== 200 || !isObject(response.body))
      return { kind: 'unreadable', why: statusMessage(response) };
    return { kind: 'found', value: response.body };
  } catch (error) {
    if (isDefect(error)) throw error;
    return { kind: 'unreadable', why: errorText(error) };
  }
}

/** Reads one object. Rejects for defects only. */
export function getLive(api: Api, path: string, signal: AbortSignal): Promise<Found<JsonObject>> {
  return read(api, path, {}, signal);
}

/** Lists a collection. Rejects for defects only. `missing`: the kind is not served. */
export async function listLive(
  api: Api,
  path: string,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Found<readonly JsonObject[]>> {
  const list = await read(api, path, query, signal);
  if (list.kind !== 'found') return list;
  const items = list.value['items'];
  return { kind: 'found', value: Array.isArray(items) ? items.filter(isObject) : [] };
}

/** Lists the first of several collections that is served. Rejects for defects only. */
export async function listFirst(
  api: Api,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<Found<readonly JsonObject[]>> {
  for (const path of paths) {
    const list = await listLive(api, path, {}, signal);
    if (list.kind !== 'missing') return list;
  }
  return { kind: 'missing' };
}

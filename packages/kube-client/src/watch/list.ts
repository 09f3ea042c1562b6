import type { Api, ApiResponse, Collection } from '../api.ts';
import { versionOf } from './raw-object.ts';
import { type StatusError, statusErrorOf } from './status-error.ts';

/** One page of a list, or the refusal. */
export type ListPage =
  | {
      readonly kind: 'page';
      readonly items: readonly unknown[];
      readonly version: string;
      readonly last: boolean;
    }
  | {
      readonly kind: 'refused';
      readonly statusError: StatusError;
      readonly headers: ApiResponse['headers'];
    };

type List = {
  readonly items?: readonly unknown[] | null;
  readonly metadata?: { readonly continue?: string };
};

/**
 * Page sizes. Larger pages block this process for longer: 20,000 pods at once take 1.6 s, 500 take
 * 0.02 s.
 */
const pageSizes = { first: 100, largest: 500 };

/**
 * Target length of a page, in characters. Parsing a page takes ten times its length of memory,
 * which V8 keeps for long: 5 MB of nodes took 50.
 */
const pageLength = 1_000_000;
const timeoutMs = 60_000;

/**
 * Lists a collection page by page. Sends no resourceVersion: all pages are of one moment, no older
 * than the request (kubernetes.io/docs/reference/using-api/api-concepts, "Retrieving large results
 * sets in chunks"). With `from` "cache", the server responds at once, ignores the limit, and may
 * return old data. Ends after the last page or a refusal; rejects like `Api.call`.
 */
export async function* pagesOf(
  api: Api,
  collection: Collection,
  signal: AbortSignal,
  from: 'cache' | 'now' = 'now',
): AsyncGenerator<ListPage> {
  const accept =
    collection.metadataOnly === true
      ? 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json'
      : 'application/json';
  let token: string | undefined;
  let limit = pageSizes.first;
  do {
    const start = from === 'cache' ? { resourceVersion: 0 } : { limit, continue: token };
    const query = { ...selectors(collection), ...start };
    const { status, headers, body } = await api.call(
      { method: 'GET', path: collection.path, query, accept, timeoutMs },
      signal,
    );
    const version = versionOf(body);
    if (status !== 200 || version === undefined) {
      const statusError = status === 200 ? notAList : statusErrorOf(status, body);
      yield { kind: 'refused', statusError, headers };
      return;
    }
    const { items, metadata } = body as List;
    token = from === 'cache' || metadata?.continue === '' ? undefined : metadata?.continue;
    if (token !== undefined) limit = nextLimit(items?.[0]);
    yield { kind: 'page', items: items ?? [], version, last: token === undefined };
  } while (token !== undefined);
}

/**
 * Returns the limit for the next page: as many items as fit the target length, if all are as long
 * as this one.
 */
function nextLimit(item: unknown): number {
  const length = JSON.stringify(item ?? {}).length;
  return Math.min(pageSizes.largest, Math.max(pageSizes.first, Math.floor(pageLength / length)));
}

/** Returns the selectors of a collection as query parameters. */
export function selectors({
  fieldSelector,
  labelSelector,
}: Collection): Readonly<Record<string, string | undefined>> {
  return {
    fieldSelector,
    labelSelector,
  };
}

const notAList: StatusError = {
  status: 200,
  message: 'the answer is no list with a resourceVersion',
  about: 'other',
};

import type { Api, ApiCall, ApiResponse } from './api.ts';

/** One page of a list, or the response of a server that refuses it. */
type CollectionPage =
  | { readonly kind: 'page'; readonly items: readonly unknown[]; readonly response: ApiResponse }
  | { readonly kind: 'refused'; readonly response: ApiResponse };

/** Call that lists a collection, without what is special to one page. */
type ListCall = Pick<ApiCall, 'path' | 'query' | 'accept' | 'timeoutMs'>;

type List = {
  readonly items?: readonly unknown[] | null;
  readonly metadata?: { readonly continue?: string };
};

/**
 * Lists a collection page by page: all pages are of the moment of the first. `limitAfter` returns
 * the limit of the next page from the items of the page before, which the first page does not have;
 * undefined stands for no limit. Ends after the last page or a refusal, also a 410 in the middle,
 * for a token that has expired: whether to list again is up to the caller. Rejects like `Api.call`.
 */
export async function* listPages(
  api: Api,
  call: ListCall,
  limitAfter: (items?: readonly unknown[]) => number | undefined,
  signal?: AbortSignal,
): AsyncGenerator<CollectionPage> {
  let limit = limitAfter();
  let token: string | undefined;
  do {
    const query = { ...call.query, limit, continue: token };
    const response = await api.call({ ...call, method: 'GET', query }, signal);
    if (response.status !== 200) {
      yield { kind: 'refused', response };
      return;
    }
    const { items, metadata } = (response.body ?? {}) as List;
    token = metadata?.continue === '' ? undefined : metadata?.continue;
    if (token !== undefined) limit = limitAfter(items ?? []);
    yield { kind: 'page', items: items ?? [], response };
  } while (token !== undefined);
}

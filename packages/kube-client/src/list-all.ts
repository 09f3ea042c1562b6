import { statusMessage } from '@drydock/apimachinery';
import type { Api } from './api.ts';

const pageSize = 500;

/**
 * Lists a whole collection, page by page. Throws an error with the name of the collection and the
 * server's message.
 */
export async function listAll(
  api: Api,
  path: string,
  query: Readonly<Record<string, string>> = {},
  missing: 'fail' | 'empty' = 'fail',
  signal?: AbortSignal,
): Promise<readonly unknown[]> {
  const items: unknown[] = [];
  let next: string | undefined = '';
  while (next !== undefined) {
    const response = await api.call(
      {
        method: 'GET',
        path,
        query: { ...query, limit: pageSize, continue: next === '' ? undefined : next },
      },
      signal,
    );
    if (response.status === 404 && missing === 'empty') return [];
    if (response.status !== 200) throw new Error(`cannot read ${path}: ${statusMessage(response)}`);
    const list = response.body as {
      readonly items?: readonly unknown[];
      readonly metadata?: { readonly continue?: string };
    };
    items.push(...(list.items ?? []));
    next = list.metadata?.continue === '' ? undefined : list.metadata?.continue;
  }
  return items;
}

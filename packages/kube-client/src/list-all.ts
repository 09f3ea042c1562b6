import { statusMessage } from '@drydock/apimachinery';
import type { Api } from './api.ts';
import { listPages } from './pager.ts';

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
  for await (const page of listPages(api, { path, query }, () => pageSize, signal)) {
    const { response } = page;
    if (page.kind === 'page') for (const item of page.items) items.push(item);
    else if (response.status === 404 && missing === 'empty') return [];
    else throw new Error(`cannot read ${path}: ${statusMessage(response)}`);
  }
  return items;
}

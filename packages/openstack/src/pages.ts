import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';
import type { NovaClient } from './client.ts';
import { failed, type NovaResult } from './failure.ts';

function itemsIn(body: Json | undefined, key: string): readonly JsonObject[] {
  const items = isObject(body) ? body[key] : undefined;
  return Array.isArray(items) ? items.filter(isObject) : [];
}

/**
 * Returns the query of the next page. The rest of the link is ignored: its address is the public
 * one, which may be unreachable from here.
 */
function nextQuery(body: Json | undefined, key: string): string | undefined {
  const next = itemsIn(body, `${key}_links`).find(({ rel }) => rel === 'next');
  const href = next?.['href'];
  return typeof href === 'string' && href.includes('?') ? href.slice(href.indexOf('?')) : undefined;
}

const maxPages = 1000;

async function walk(
  client: NovaClient,
  path: string,
  query: string,
  key: string,
  signal: AbortSignal,
) {
  const items: JsonObject[] = [];
  let next: string | undefined = query;
  for (let page = 0; next !== undefined && page < maxPages; page += 1) {
    const answer: NovaResult<Json | undefined> = await client.call(
      { method: 'GET', path: `${path}${next}` },
      signal,
    );
    if (answer.failure !== undefined) return { failure: answer.failure, isLater: page > 0 };
    items.push(...itemsIn(answer.value, key));
    const after = nextQuery(answer.value, key);
    next = after === next ? undefined : after;
  }
  return { value: items };
}

/** Limit of restarts: when the last server of a page is deleted, Nova cannot find the next page. */
const maxStarts = 3;

/**
 * Returns every item of a collection, over all its pages; an item that appears twice because others
 * moved counts once.
 */
export async function listAll(
  client: NovaClient,
  path: string,
  query: string,
  key: string,
  signal: AbortSignal,
): Promise<NovaResult<readonly JsonObject[]>> {
  for (let start = 1; ; start += 1) {
    const { value, failure, isLater = false } = await walk(client, path, query, key, signal);
    if (value !== undefined)
      return { value: [...new Map(value.map(item => [item['id'], item])).values()] };
    if (failure === undefined) return failed('trouble', `${path} cannot be read`);
    if (!isLater || failure.kind !== 'refused' || start === maxStarts) return { failure };
  }
}

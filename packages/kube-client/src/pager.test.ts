import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ApiCall, type ApiResponse, listPages } from './api.ts';

function response(status: number, body: unknown): ApiResponse {
  return { status, headers: {}, body };
}

async function read(
  responses: readonly ApiResponse[],
  limitAfter: Parameters<typeof listPages>[2] = () => 2,
): Promise<{ readonly pages: readonly unknown[]; readonly queries: readonly unknown[] }> {
  const calls: ApiCall[] = [];
  const api = {
    call: (call: ApiCall) => {
      calls.push(call);
      return Promise.resolve(responses[calls.length - 1] as ApiResponse);
    },
  };
  const call = { path: '/things', query: { labelSelector: 'a' } };
  const pages = [];
  for await (const page of listPages(api, call, limitAfter))
    pages.push(page.kind === 'page' ? page.items : page.response.status);
  return { pages, queries: calls.map(({ query }) => query) };
}

test('every page but the first names the one before, and its limit may depend on that one', async () => {
  const { pages, queries } = await read(
    [
      response(200, { items: [1, 2], metadata: { continue: 'second' } }),
      response(200, { items: null, metadata: { continue: 'third' } }),
      response(200, { items: [3], metadata: { continue: '' } }),
    ],
    items => (items === undefined ? undefined : 10 + items.length),
  );
  assert.deepEqual(pages, [[1, 2], [], [3]]);
  assert.deepEqual(queries, [
    { labelSelector: 'a', limit: undefined, continue: undefined },
    { labelSelector: 'a', limit: 12, continue: 'second' },
    { labelSelector: 'a', limit: 10, continue: 'third' },
  ]);
});

test('410 in the middle ends the pages: what was read before is no whole list', async () => {
  const { pages, queries } = await read([
    response(200, { items: [1], metadata: { continue: 'second' } }),
    response(410, { reason: 'Expired' }),
  ]);
  assert.deepEqual([pages, queries.length], [[[1], 410], 2]);
});

test('a body that is no list is an empty page', async () => {
  for (const body of [{}, null, '', { items: [] }])
    assert.deepEqual((await read([response(200, body)])).pages, [[]]);
});

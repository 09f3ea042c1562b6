import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FakeLog, failure, response, ScriptedApi } from '../testing/fakes.ts';
import { isNodeGone, isUnseenGone } from './gather.ts';

function missing(name: string) {
  return response(404, {
    kind: 'Status',
    code: 404,
    reason: 'NotFound',
    details: { name, kind: 'nodes' },
  });
}

describe('whether a node is gone', () => {
  const ask = async (name: string, reply: ConstructorParameters<typeof ScriptedApi>[0]) => {
    const [api, log] = [new ScriptedApi(reply), new FakeLog()];
    return {
      isGone: await isNodeGone(api, name, log),
      asked: api.asked,
      said: log.lines.map(({ message }) => message),
    };
  };

  test('only the API server that says so of this very node is believed', async () => {
    const silent: readonly string[] = [];
    const doubt = ['failed to look up a node'];
    assert.deepEqual(await ask('n1', () => missing('n1')), {
      isGone: true,
      asked: ['GET /api/v1/nodes/n1'],
      said: silent,
    });
    const answers = [
      { answer: response(200, { kind: 'Node', metadata: { name: 'n1' } }), said: silent },
      { answer: missing('n2'), said: doubt },
      { answer: response(404, '404 page not found'), said: doubt },
      { answer: failure(403, 'forbidden'), said: doubt },
      { answer: failure(503, 'busy'), said: doubt },
    ];
    for (const { answer, said } of answers)
      assert.deepEqual(
        await ask('n1', () => answer),
        { isGone: false, asked: ['GET /api/v1/nodes/n1'], said },
        JSON.stringify(answer),
      );
    const lost = await ask('n1', () => Promise.reject(new Error('reset')));
    assert.deepEqual([lost.isGone, lost.said], [false, doubt]);
  });

  test('a name that no node can have asks for nothing else, and there is no such node', async () => {
    const names = {
      '..': '%EF%BF%BD',
      '../pods': '..%EF%BF%BDpods',
      'a/b?watch=1': 'a%EF%BF%BDb%3Fwatch%3D1',
      '%2e': '%EF%BF%BD2e',
      ü: '%C3%BC',
      'a b': 'a%20b',
    };
    for (const [name, segment] of Object.entries(names))
      assert.deepEqual(await ask(name, () => missing(decodeURIComponent(segment))), {
        isGone: true,
        asked: [`GET /api/v1/nodes/${segment}`],
        said: [],
      });
  });
});

describe('whether there is no node of a providerID', () => {
  const id = 'aws:///a/i-1';
  const page = (ids: readonly (string | undefined)[], next = '') =>
    response(200, {
      metadata: { continue: next },
      items: ids.map(providerID => ({ spec: { ...(providerID !== undefined && { providerID }) } })),
    });
  const ask = async (...pages: readonly Awaited<ReturnType<typeof response>>[]) => {
    let at = 0;
    const [api, log] = [
      new ScriptedApi(() => pages[at++] ?? failure(500, 'asked too often')),
      new FakeLog(),
    ];
    const isGone = await isUnseenGone(api, { providerId: id }, log);
    return [isGone, api.asked.length, log.lines.length];
  };

  test('only a whole list without it says so', async () => {
    assert.deepEqual(await ask(page([])), [true, 1, 0]);
    assert.deepEqual(await ask(page(['aws:///a/i-2', undefined], 'more'), page(['gce://p/z/n'])), [
      true,
      2,
      0,
    ]);
    assert.deepEqual(await ask(page(['aws:///a/i-2'], 'more'), page([id], 'more')), [false, 2, 0]);
    assert.deepEqual(await ask(page(['aws:///a/i-2'], 'more'), failure(410, 'expired')), [
      false,
      2,
      1,
    ]);
    assert.deepEqual(await ask(failure(403, 'forbidden')), [false, 1, 1]);
  });
});

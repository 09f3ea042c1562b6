import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { makeWindow } from '@drydock/core/testing';
import { windowsPath } from '@drydock/core/window';
import type { ApiResponse } from '@drydock/kube-client';
import { VirtualClock } from '@drydock/utils';
import { FakeLog, failure, response, ScriptedApi, settle } from '../testing/fakes.ts';
import { Cache } from './cache.ts';
import { WindowFreshness } from './window-freshness.ts';

function listOf(...resourceVersions: readonly string[]): ApiResponse {
  return response(200, {
    items: resourceVersions.map(resourceVersion => ({
      metadata: { name: 'nights', resourceVersion },
    })),
  });
}

/** The watch has told of these versions of the window "nights". */
function bench(reply: () => ApiResponse | Promise<ApiResponse>, ...told: readonly string[]) {
  const [api, log, windows] = [
    new ScriptedApi(reply),
    new FakeLog(),
    new Cache<ReturnType<typeof makeWindow>>(),
  ];
  for (const resourceVersion of told)
    windows.apply({ type: 'added', object: makeWindow({ key: 'nights', resourceVersion }) });
  const clock = new VirtualClock();
  return { api, log, clock, windows, known: new WindowFreshness({ api, log, clock }, windows) };
}

const disk = { uid: 'u1', generation: 1 };

describe('all windows are known that were there before an object', () => {
  test('once the API server has none that the watch has not told of', async () => {
    const rows: readonly (readonly [
      string,
      () => ApiResponse,
      readonly string[],
      boolean,
      string?,
    ])[] = [
      ['there is none', () => listOf(), [], true],
      ['the kind is not served', () => failure(404, 'page not found'), [], true],
      ['the watch has told of it', () => listOf('7'), ['7'], true],
      ['the watch is ahead', () => listOf('7'), ['8'], true],
      ['the watch has not told of it', () => listOf('7'), [], false],
      ['the watch has not told of its last edit', () => listOf('10'), ['9'], false],
      ['it is gone, and the watch will tell', () => listOf(), ['7'], true],
      ['no answer', () => failure(503, 'busy'), [], false, `cannot read ${windowsPath}: busy`],
    ];
    for (const [name, reply, told, wanted, problem] of rows) {
      const { api, known, log } = bench(reply, ...told);
      assert.equal(known.areKnownTo(disk), false, name);
      assert.equal(await known.find(disk), wanted, name);
      assert.deepEqual([known.areKnownTo(disk), known.problem], [wanted, problem], name);
      assert.equal(
        known.problemFor(disk),
        wanted ? undefined : (problem ?? 'waiting for the list of MaintenanceWindows'),
        name,
      );
      assert.deepEqual([api.calls.length, api.calls[0]?.path], [1, windowsPath], name);
      assert.equal(log.of('warn').length, name === 'no answer' ? 1 : 0, name);
    }
  });

  test('it is asked once a generation', async () => {
    const { api, known } = bench(() => listOf());
    for (const generation of [1, 1, 2, 2])
      assert.equal(await known.find({ ...disk, generation }), true);
    assert.equal(api.calls.length, 2);
    assert.equal(known.areKnownTo(disk), false, 'it has been edited since');
  });

  test('a list serves all that asked before it began, and one at a time is made', async () => {
    const answers: ((answer: ApiResponse) => void)[] = [];
    const { api, known } = bench(() => new Promise(resolve => answers.push(resolve)));
    const first = known.find(disk);
    await settle();
    const others = ['u2', 'u3', 'u4'].map(uid => known.find({ uid, generation: 1 }));
    await settle();
    assert.equal(api.calls.length, 1, 'it began before they asked, so they need another one');
    answers[0]?.(listOf());
    assert.equal(await first, true);
    await settle();
    assert.equal(api.calls.length, 2);
    answers[1]?.(listOf('7'));
    assert.deepEqual(await Promise.all(others), [false, false, false]);
  });

  test('that the watch is late is told when it is late for long, and no more when it has told of the window', async () => {
    const { known, clock, windows } = bench(() => listOf('7'));
    for (const [afterMs, problem] of [
      [0, undefined],
      [1999, undefined],
      [1, 'the watch has not told of nights yet'],
    ] as const) {
      await clock.advance(afterMs);
      assert.deepEqual([await known.find(disk), known.problem], [false, problem]);
    }
    windows.apply({ type: 'added', object: makeWindow({ key: 'nights', resourceVersion: '7' }) });
    assert.deepEqual([await known.find(disk), known.problem], [true, undefined]);
    windows.apply({ type: 'removed', object: makeWindow({ key: 'nights', resourceVersion: '7' }) });
    assert.deepEqual(
      [await known.find({ ...disk, generation: 2 }), known.problem],
      [false, undefined],
      'from then on, anew',
    );
  });

  test('what was in the way is forgotten with the next list', async () => {
    let answer = failure(503, 'busy');
    const { known } = bench(() => answer);
    assert.deepEqual([await known.find(disk), known.problem === undefined], [false, false]);
    answer = listOf();
    assert.deepEqual([await known.find(disk), known.problem], [true, undefined]);
  });

  test('however many objects there have been, only the last are remembered', async () => {
    const { api, known } = bench(() => listOf());
    for (let index = 0; index < 10_001; index += 1)
      await known.find({ uid: `u${index}`, generation: 1 });
    assert.deepEqual(
      [
        known.areKnownTo({ uid: 'u0', generation: 1 }),
        known.areKnownTo({ uid: 'u1', generation: 1 }),
      ],
      [false, true],
    );
    assert.equal(api.calls.length, 10_001);
  });

  test('a bug of ours after the answer is no problem of the API server: whoever asks is told of it, and the next one asks anew', async () => {
    const { api, log, windows, known } = bench(() => listOf('7'), '7');
    Object.defineProperty(windows, 'get', {
      configurable: true,
      value: () => {
        throw new Error('bug in the cache');
      },
    });
    const asking = [known.find(disk), known.find({ uid: 'u2', generation: 1 })];
    for (const one of asking) await assert.rejects(one, /bug in the cache/);
    assert.deepEqual([known.problem, log.of('warn')], [undefined, []]);
    Reflect.deleteProperty(windows, 'get');
    assert.equal(await known.find(disk), true);
    assert.equal(api.calls.length, 3);
  });
});

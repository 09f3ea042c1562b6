import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Clock, type Log, silentLog, systemClock, VirtualClock } from '@drydock/utils';
import type { CachedObject, Change, WatchHandler } from '../api.ts';
import { Credentials, constant } from '../http/credentials.ts';
import { Transport } from '../http/transport.ts';
import { FaultServer, json, until } from '../testing/fault-server.ts';
import {
  bookmark,
  line,
  lists,
  pod,
  podList,
  refuses,
  ScriptedCollection,
  says,
  status,
  type Turn,
} from '../testing/scripted-collection.ts';
import { reflectorWatcher } from './reflector.ts';

type Pod = CachedObject & { readonly note: string };

function project(raw: unknown): Pod | undefined {
  const { name, namespace, uid, resourceVersion, annotations } = (
    raw as { readonly metadata: Record<string, string> & { annotations: { note: string } } }
  ).metadata;
  if (annotations.note === 'poison') throw new Error('cannot read this one');
  if (annotations.note === 'ignore me') return undefined;
  return {
    key: `${namespace}/${name}`,
    uid: uid ?? '',
    resourceVersion: resourceVersion ?? '',
    note: annotations.note,
  };
}

/**
 * A system clock on which every wait takes a hundredth of its time, so that back-off does not take
 * the tests' time.
 */
const hasty: Clock = {
  ...systemClock,
  sleep: (milliseconds, signal) => systemClock.sleep(milliseconds / 100, signal),
};

type Told = {
  readonly lines: string[];
  readonly lists: string[];
  readonly problems: {
    readonly message: string;
    readonly status?: number;
    readonly retryInMs: number;
  }[];
};

type Setting = {
  readonly clock?: Clock;
  readonly log?: Log;
  readonly quietMs?: number;
  readonly onChange?: (change: Change<Pod>) => void;
  readonly metadataOnly?: boolean;
};

async function follow(
  listTurns: readonly Turn[],
  watchTurns: readonly Turn[],
  setting: Setting = {},
) {
  const script = new ScriptedCollection(listTurns, watchTurns);
  const server = await FaultServer.start(script.response);
  const transport = new Transport({
    server: server.url,
    credentials: new Credentials([constant({})], { headers: {}, tls: {} }),
    userAgent: 'test',
    clock: systemClock,
  });
  const told: Told = { lines: [], problems: [], lists: [] };
  const handler: WatchHandler<Pod> = {
    changed: change => {
      told.lines.push(
        `${change.type} ${change.object.key} ${change.object.uid}@${change.object.resourceVersion}`,
      );
      setting.onChange?.(change);
    },
    synced: () => told.lines.push('synced'),
    listed: ({ keys, version }) => told.lists.push(`${[...keys].join()}@${version}`),
    failing: problem => told.problems.push(problem),
  };
  const stop = new AbortController();
  const { clock = hasty, log = silentLog, quietMs, metadataOnly = false } = setting;
  const watcher = reflectorWatcher({
    api: transport,
    clock,
    log,
    random: () => 0.5,
    ...(quietMs === undefined ? {} : { quietMs }),
  });
  const done = watcher.watch({ path: '/api/v1/pods', metadataOnly }, project, handler, stop.signal);
  return {
    script,
    server,
    told,
    stop,
    done,
    lines: (count: number) =>
      until(`${count} lines, seen: ${told.lines.join(', ')}`, () => told.lines.length >= count),
    [Symbol.asyncDispose]: async () => {
      stop.abort(new Error('the test is over'));
      await done;
      transport.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

test('lists, then tells of what is added, changed and removed', async () => {
  const events = [
    line('ADDED', pod('b', 11)),
    line('MODIFIED', pod('a', 12)),
    line('DELETED', pod('b', 13)),
  ];
  await using it = await follow([lists(10, pod('a', 5))], [says(events)]);
  await it.lines(5);
  assert.deepEqual(it.told.lines, [
    'added ns/a uid-a@5',
    'synced',
    'added ns/b uid-b@11',
    'changed ns/a uid-a@12',
    'removed ns/b uid-b@13',
  ]);
});

test('the list is consistent and in pages; the watch asks for bookmarks and an end within 5 to 10 minutes', async () => {
  const first: Turn = incoming => json(incoming, 200, podList(10, [pod('a', 5)], 'page-2'));
  await using it = await follow([first, lists(10, pod('b', 6))], [says([])]);
  await until('a watch', () => it.script.watches.length === 1);
  assert.deepEqual(
    it.script.lists.map(({ query }) => [
      query.get('limit'),
      query.get('continue'),
      query.get('resourceVersion'),
    ]),
    [
      ['100', null, null],
      ['500', 'page-2', null],
    ],
  );
  const query = it.script.watches[0]!.query;
  assert.deepEqual(
    [query.get('resourceVersion'), query.get('allowWatchBookmarks'), query.get('timeoutSeconds')],
    ['10', 'true', '450'],
  );
  assert.deepEqual(it.told.lines, ['added ns/a uid-a@5', 'added ns/b uid-b@6', 'synced']);
  assert.deepEqual(it.told.lists, ['ns/a,ns/b@10'], 'a complete list is told with its version');
});

test('pages have as many objects as are a megabyte together, and never fewer than a hundred', async () => {
  const long = (name: string, length: number): object => ({
    ...(pod(name, 5) as object),
    spec: { text: 'x'.repeat(length) },
  });
  const page =
    (name: string, length: number, next: string): Turn =>
    incoming =>
      json(incoming, 200, podList(10, [long(name, length)], next));
  await using it = await follow(
    [page('a', 3000, 'page-2'), page('b', 50_000, 'page-3'), lists(10, pod('c', 6))],
    [says([])],
  );
  await until('a watch', () => it.script.watches.length === 1);
  const [first, second, third] = it.script.lists.map(({ query }) => Number(query.get('limit')));
  assert.deepEqual([first, third], [100, 100]);
  assert.ok(second! > 300 && second! < 333, String(second));
});

test('1. 410 as an ERROR in the stream: lists anew, and a delete that was missed is told', async () => {
  await using it = await follow(
    [lists(10, pod('a', 5), pod('b', 6)), lists(20, pod('b', 6))],
    [says([line('ERROR', status(410, 'Expired'))]), says([])],
  );
  await it.lines(4);
  assert.equal(it.told.lines[3], 'removed ns/a uid-a@5');
  await until('the second watch', () => it.script.watches.length === 2);
  assert.equal(it.script.watches[1]!.query.get('resourceVersion'), '20');
  assert.equal(it.told.problems.length, 0);
});

test('2. 410 as the HTTP status of the watch: lists anew', async () => {
  await using it = await follow(
    [lists(10), lists(20, pod('a', 15))],
    [refuses(410, 'Gone'), says([])],
  );
  await it.lines(2);
  assert.deepEqual(it.told.lines, ['synced', 'added ns/a uid-a@15']);
});

test('410 in the middle of a list: the list starts again from its first page', async () => {
  const first: Turn = incoming => json(incoming, 200, podList(10, [pod('a', 5)], 'page-2'));
  await using it = await follow(
    [first, refuses(410, 'Expired'), lists(30, pod('b', 25))],
    [says([])],
  );
  await until('the watch', () => it.script.watches.length === 1);
  assert.deepEqual(it.told.lines, [
    'added ns/a uid-a@5',
    'added ns/b uid-b@25',
    'removed ns/a uid-a@5',
    'synced',
  ]);
  assert.equal(it.script.lists[2]!.query.get('continue'), null);
});

test('3. a reset in mid-watch: goes on at the last version seen, without a list', async () => {
  await using it = await follow(
    [lists(10)],
    [says([line('ADDED', pod('a', 11))], 'resets'), says([line('ADDED', pod('b', 12))])],
  );
  await it.lines(3);
  assert.equal(it.script.watches[1]!.query.get('resourceVersion'), '11');
  assert.equal(it.script.lists.length, 1);
});

for (const code of [500, 429, 503]) {
  test(`4. the watch answers ${code}: tries again at the same version, without a list`, async () => {
    await using it = await follow(
      [lists(10)],
      [
        refuses(code, 'Unwell', { 'retry-after': '1' }),
        refuses(code, 'Unwell'),
        says([line('ADDED', pod('a', 11))]),
      ],
    );
    await it.lines(2);
    assert.equal(it.script.lists.length, 1);
    assert.deepEqual(
      it.told.problems.map(({ status }) => status),
      [code, code],
    );
    assert.match(it.told.problems[0]!.message, /\/api\/v1\/pods: cannot watch: Unwell by the test/);
  });
}

test('5. the list answers 500: tells so and tries again', async () => {
  await using it = await follow(
    [refuses(500, 'InternalError'), lists(10, pod('a', 5))],
    [says([])],
  );
  await it.lines(2);
  assert.equal(it.told.problems[0]?.status, 500);
});

test('6. an ERROR of another code in the stream: opens the watch again at the same version', async () => {
  await using it = await follow(
    [lists(10)],
    [
      says([line('ADDED', pod('a', 11)), line('ERROR', status(500, 'InternalError'))]),
      says([line('ADDED', pod('b', 12))]),
    ],
  );
  await it.lines(3);
  assert.equal(it.script.watches[1]!.query.get('resourceVersion'), '11');
  assert.equal(it.told.problems[0]?.status, 500);
});

test('7. a bookmark moves the version and is told to nobody', async () => {
  await using it = await follow(
    [lists(10)],
    [says([bookmark(99)], 'closes'), says([line('ADDED', pod('a', 100))])],
  );
  await it.lines(2);
  assert.equal(it.script.watches[1]!.query.get('resourceVersion'), '99');
  assert.deepEqual(it.told.lines, ['synced', 'added ns/a uid-a@100']);
});

test('8. an object that is as it was is not told again by a later list', async () => {
  await using it = await follow(
    [lists(10, pod('a', 5), pod('b', 6)), lists(20, pod('a', 5), pod('b', 16))],
    [refuses(410, 'Gone'), says([])],
  );
  await it.lines(4);
  assert.equal(it.told.lines[3], 'changed ns/b uid-b@16');
});

test('9. deleted and made again under the same name: removed, then added', async () => {
  await using it = await follow(
    [lists(10, pod('a', 5)), lists(20, pod('a', 15, 'other'))],
    [refuses(410, 'Gone'), says([line('MODIFIED', pod('a', 21, 'third'))])],
  );
  await it.lines(6);
  assert.deepEqual(it.told.lines.slice(2), [
    'removed ns/a uid-a@5',
    'added ns/a other@15',
    'removed ns/a other@15',
    'added ns/a third@21',
  ]);
});

test('10. a handler that throws is reported, and the watch goes on', async () => {
  const errors: unknown[] = [];
  const log: Log = { ...silentLog, error: (_, fields) => errors.push(fields?.['object']) };
  const onChange = (change: Change<Pod>): void => {
    if (change.object.key === 'ns/b') throw new Error('handler');
  };
  await using it = await follow(
    [lists(10)],
    [says(['a', 'b', 'c'].map((name, n) => line('ADDED', pod(name, 11 + n))))],
    { log, onChange },
  );
  await it.lines(4);
  assert.deepEqual(errors, ['/api/v1/pods ns/b']);
  assert.equal(it.script.watches.length, 1);
});

test('11. a JSON line without an object: opens the watch again at the last version', async () => {
  await using it = await follow(
    [lists(10)],
    [
      says([line('ADDED', pod('a', 11)), '{"type":"ADDED"}\n']),
      says([line('ADDED', pod('b', 12))]),
    ],
  );
  await it.lines(3);
  assert.equal(it.script.watches[1]!.query.get('resourceVersion'), '11');
});

test('12. stopped during a list: no watch is opened, nothing stays open', async () => {
  await using it = await follow([() => {}], [says([])]);
  await until('the list', () => it.script.lists.length === 1);
  it.stop.abort(new Error('enough'));
  await it.done;
  await until('the connection closed', () => it.server.open === 0);
  assert.equal(it.script.watches.length, 0);
  assert.deepEqual(it.told, { lines: [], lists: [], problems: [] });
});

test('13. stopped while watching: the connection is closed and nothing is told', async () => {
  await using it = await follow([lists(10)], [says([])]);
  await until('the watch', () => it.script.open.size === 1);
  it.stop.abort();
  await it.done;
  await until('the watch closed', () => it.script.open.size === 0);
  assert.deepEqual(it.told, { lines: ['synced'], lists: ['@10'], problems: [] });
});

test('stopped by a handler: later lines of the same chunk are not told', async () => {
  const stop = { now: (): void => {} };
  await using it = await follow(
    [lists(10)],
    [says([line('ADDED', pod('a', 11)) + line('ADDED', pod('b', 12))])],
    {
      onChange: () => stop.now(),
    },
  );
  stop.now = () => it.stop.abort();
  await it.done;
  assert.deepEqual(it.told.lines, ['synced', 'added ns/a uid-a@11']);
});

test('14. two watches of one collection by one client do not know of each other', async () => {
  await using it = await follow([lists(10, pod('a', 5))], [says([])]);
  await using other = await follow([lists(10, pod('a', 5))], [says([])]);
  await it.lines(2);
  await other.lines(2);
  await until('both watches', () => it.script.open.size === 1 && other.script.open.size === 1);
  it.stop.abort();
  await it.done;
  await until('the first watch to be closed', () => it.script.open.size === 0);
  assert.equal(other.script.open.size, 1);
});

test('15. 400 changes come in order, in chunks of any size', async () => {
  const text = Array.from({ length: 400 }, (_, n) =>
    line(n === 0 ? 'ADDED' : 'MODIFIED', pod('a', 11 + n)),
  ).join('');
  const pieces = Array.from({ length: Math.ceil(text.length / 997) }, (_, n) =>
    text.slice(n * 997, (n + 1) * 997),
  );
  await using it = await follow([lists(10)], [says(pieces)]);
  await it.lines(401);
  const versions = it.told.lines.slice(1).map(text => Number(text.split('@')[1]));
  assert.deepEqual(
    versions,
    Array.from({ length: 400 }, (_, n) => 11 + n),
  );
});

test('16. UTF-8 split over chunks', async () => {
  const notes: string[] = [];
  const bytes = Buffer.from(line('ADDED', pod('a', 11, 'uid-a', 'Größe 🚢 維持')));
  const dribble: Turn = async incoming => {
    incoming.writeHead(200).flushHeaders();
    for (const byte of bytes) {
      incoming.write(Buffer.from([byte]));
      await new Promise(resolve => setImmediate(resolve));
    }
  };
  await using it = await follow([lists(10)], [dribble], {
    onChange: ({ object }) => notes.push(object.note),
  });
  await it.lines(2);
  assert.deepEqual(notes, ['Größe 🚢 維持']);
});

test('17. a server that closes every watch at once is not hammered, and after three silent ones the list is made anew', async () => {
  const clock = new VirtualClock();
  await using it = await follow([lists(10)], [says([], 'closes')], { clock });
  // A hand-turned clock: each turn goes a second on, and lets the network have its say.
  for (let second = 0; second < 120; second += 1) {
    await new Promise(resolve => setTimeout(resolve, 10));
    await clock.advance(1000);
  }
  const total = it.script.watches.length + it.script.lists.length;
  assert.ok(
    it.script.watches.length >= 5,
    `${it.script.watches.length} watches: it does try again`,
  );
  assert.ok(it.script.lists.length >= 2, 'it lists anew');
  assert.ok(total <= 16, `${total} requests in two minutes`);
});

test('18. a half-open connection: nothing comes, so a new watch is opened at the last version', async () => {
  await using it = await follow(
    [lists(10)],
    [says([line('ADDED', pod('a', 11))]), says([line('ADDED', pod('b', 12))])],
    { quietMs: 100 },
  );
  await it.lines(3);
  assert.equal(it.script.watches[1]!.query.get('resourceVersion'), '11');
  assert.equal(it.script.lists.length, 1);
});

test('18b. a server that sends no bookmarks: after the first silence it gets twice the time, and no more', async () => {
  const clock = new VirtualClock();
  await using it = await follow([lists(10)], [says([line('ADDED', pod('a', 11))]), says([])], {
    clock,
  });
  await it.lines(2);
  const opened: number[] = [];
  for (let second = 0; second < 1200; second += 1) {
    const before = it.script.watches.length;
    await new Promise(resolve => setTimeout(resolve, 2));
    await clock.advance(1000);
    if (it.script.watches.length > before) opened.push(second);
  }
  const pauses = opened.slice(1).map((second, index) => second - (opened[index] ?? 0));
  assert.ok(opened.length >= 2, `watches at ${opened.join(', ')}`);
  assert.ok(
    pauses.every(pause => pause < 320),
    `watches at ${opened.join(', ')}`,
  );
});

test('a server that never answers a list at all is given up after the time limit of the call', async () => {
  const clock = new VirtualClock();
  await using server = await FaultServer.start(() => {});
  const transport = new Transport({
    server: server.url,
    credentials: new Credentials([], { headers: {}, tls: {} }),
    userAgent: 'test',
    clock,
  });
  const stop = new AbortController();
  const problems: string[] = [];
  const handler: WatchHandler<Pod> = {
    changed: () => {},
    synced: () => {},
    failing: ({ message }) => problems.push(message),
  };
  const done = reflectorWatcher({ api: transport, clock, log: silentLog, random: () => 0 }).watch(
    { path: '/api/v1/pods' },
    project,
    handler,
    stop.signal,
  );
  await until('the list', () => server.requests.length === 1);
  await clock.advance(60_000);
  await until('a problem', () => problems.length === 1);
  assert.match(problems[0]!, /not done within 60 s/);
  stop.abort();
  await done;
  transport.close();
});

test('19. stale watches that end without a 410: after three silent ones the version is dropped', async () => {
  await using it = await follow(
    [lists(10), lists(50, pod('a', 45))],
    [says([], 'closes'), says([], 'resets'), says([], 'closes'), says([])],
  );
  await it.lines(2);
  assert.deepEqual(it.told.lines, ['synced', 'added ns/a uid-a@45']);
  assert.equal(
    it.script.watches.filter(({ query }) => query.get('resourceVersion') === '10').length,
    3,
  );
});

test('a line that was cut off by the end of the stream comes again with the next watch', async () => {
  const whole = line('ADDED', pod('b', 12));
  await using it = await follow(
    [lists(10)],
    [says([line('ADDED', pod('a', 11)), whole.slice(0, 40)], 'closes'), says([whole])],
  );
  await it.lines(3);
  assert.deepEqual(it.told.lines.slice(1), ['added ns/a uid-a@11', 'added ns/b uid-b@12']);
});

test('a version from the future: lists anew', async () => {
  const future = {
    ...(status(504, 'Timeout') as object),
    details: { causes: [{ reason: 'ResourceVersionTooLarge' }] },
  };
  await using it = await follow(
    [lists(10), lists(5, pod('a', 4))],
    [incoming => json(incoming, 504, future), says([])],
  );
  await it.lines(2);
  assert.equal(it.script.lists.length, 2);
});

test('an object that cannot be projected is reported and skipped; one that was known stays as it was', async () => {
  const errors: unknown[] = [];
  const log: Log = { ...silentLog, error: (_, fields) => errors.push(fields?.['object']) };
  const turns = [
    lists(10, pod('a', 5), pod('b', 6, 'uid-b', 'poison')),
    lists(20, pod('a', 15, 'uid-a', 'poison')),
  ];
  await using it = await follow(
    turns,
    [refuses(410, 'Gone'), says([line('ADDED', pod('c', 21))])],
    { log },
  );
  await it.lines(3);
  assert.deepEqual(it.told.lines, ['added ns/a uid-a@5', 'synced', 'added ns/c uid-c@21']);
  assert.deepEqual(errors, ['/api/v1/pods ns/b', '/api/v1/pods ns/a']);
});

test('an object that is left out from now on is told as removed', async () => {
  await using it = await follow(
    [lists(10, pod('a', 5))],
    [says([line('MODIFIED', pod('a', 11, 'uid-a', 'ignore me'))])],
  );
  await it.lines(3);
  assert.equal(it.told.lines[2], 'removed ns/a uid-a@5');
});

test('a collection that does not exist is told as failing with 404 and looked for every 10 s at least', async () => {
  const clock = new VirtualClock();
  await using it = await follow([refuses(404, 'NotFound')], [says([])], { clock });
  for (let step = 0; step < 200 && it.told.problems.length < 8; step += 1) {
    await new Promise(resolve => setTimeout(resolve, 10));
    await clock.advance(1000);
  }
  const waits = it.told.problems.map(problem => problem.retryInMs);
  assert.deepEqual([...new Set(it.told.problems.map(({ status }) => status))], [404]);
  assert.equal(Math.max(...waits) <= 10_000, true, `waits ${waits.join(', ')}`);
});

test('after a watch that was refused with 403, or 404, everything is listed anew: whoever was told that it cannot be read is told that it can', async () => {
  for (const code of [403, 404]) {
    await using it = await follow([lists(10, pod('a', 5))], [refuses(code, 'Refused'), says([])]);
    await until('the second list', () => it.told.lists.length === 2);
    assert.deepEqual(
      [it.told.lists, it.told.problems.map(problem => problem.status)],
      [['ns/a@10', 'ns/a@10'], [code]],
    );
  }
});

test('metadata only: asks for it in list and watch', async () => {
  await using it = await follow([lists(10)], [says([])], { metadataOnly: true });
  await until('the watch', () => it.script.watches.length === 1);
  assert.match(
    it.script.lists[0]!.headers.accept ?? '',
    /^application\/json;as=PartialObjectMetadataList;g=meta\.k8s\.io;v=v1/,
  );
  assert.match(
    it.script.watches[0]!.headers.accept ?? '',
    /^application\/json;as=PartialObjectMetadata;g=meta\.k8s\.io;v=v1/,
  );
});

test('a watch that the server ends after a long time is opened again at once', async () => {
  const clock = new VirtualClock();
  const ends = new Set<() => void>();
  const stays: Turn = incoming => {
    void says([])(incoming, undefined as never, 0);
    ends.add(() => incoming.end());
  };
  await using it = await follow([lists(10)], [stays], { clock });
  await until('the watch', () => it.script.watches.length === 1);
  await new Promise(resolve => setTimeout(resolve, 50));
  await clock.advance(100_000);
  for (const end of ends) end();
  // The clock stands still: only a watch that needs no waiting can come.
  await until('the next watch', () => it.script.watches.length === 2);
});

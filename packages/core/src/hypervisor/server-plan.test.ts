import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { at } from '../testing/make.ts';
import { makeHost, makeMove, makeReleased, makeServer } from '../testing/make-host.ts';
import { defaultServerPolicy } from '../vm/vm-status.ts';
import { decideHost } from './decide.ts';
import type { HostSnapshot, NovaServer, ServerMigration } from './server.ts';

const now = at(60);
function looked(over: Partial<HostSnapshot>, moment = now) {
  return decideHost(makeHost(over), moment);
}
function calls(snapshot: HostSnapshot): readonly string[] {
  return decideHost(snapshot, now).calls.map(call =>
    ['server' in call ? call.server : 'host', call.kind, 'migration' in call ? call.migration : '']
      .join(' ')
      .trim(),
  );
}

/** What is said of the one server, and what is asked for it. */
function behavior(server: NovaServer, over: Partial<HostSnapshot> = {}) {
  const { view, calls } = looked({ servers: [server], ...over });
  const [vm] = view.vms;
  return [vm?.state, vm?.message, calls.map(({ kind }) => kind).join()];
}

describe('a server on the host', () => {
  const policy = (over: Partial<typeof defaultServerPolicy>): Partial<HostSnapshot> => ({
    desired: { why: 'm', policy: { ...defaultServerPolicy, ...over } },
  });
  const rows: readonly (readonly [
    string,
    Partial<NovaServer>,
    Partial<HostSnapshot>,
    readonly (string | undefined)[],
  ])[] = [
    ['active: it moves alive', {}, {}, ['Waiting', undefined, 'live-migrate']],
    ['paused: alive too', { vmState: 'paused' }, {}, ['Waiting', undefined, 'live-migrate']],
    ['stopped: cold', { vmState: 'stopped' }, {}, ['Waiting', undefined, 'cold-migrate']],
    [
      'stopped, and such ones stay',
      { vmState: 'stopped' },
      policy({ stopped: 'Leave' }),
      ['Left', 'stopped; the policy leaves such servers', ''],
    ],
    [
      'in error: somebody has to mend it',
      { vmState: 'error' },
      {},
      ['Cannot', 'is in error, and Nova moves no such servers', ''],
    ],
    [
      'in error, and such ones stay',
      { vmState: 'error' },
      policy({ failed: 'Leave' }),
      ['Left', 'in error; the policy leaves such servers', ''],
    ],
    [
      'active, where those in error stay',
      {},
      policy({ failed: 'Leave' }),
      ['Waiting', undefined, 'live-migrate'],
    ],
    [
      'with its disk on the host, and such ones stay',
      {},
      policy({ localDisk: 'Leave' }),
      ['Left', 'its disk is on the host; the policy leaves such servers', ''],
    ],
    [
      'with its disk elsewhere, where those stay',
      { isVolumeBacked: true },
      policy({ localDisk: 'Leave' }),
      ['Waiting', undefined, 'live-migrate'],
    ],
    ['being deleted', { taskState: 'deleting' }, {}, ['Waiting', 'is being deleted', '']],
    [
      'being rebooted',
      { taskState: 'rebooting' },
      {},
      ['Waiting', 'Nova is busy with it: rebooting', ''],
    ],
    ['being built', { vmState: 'building' }, {}, ['Waiting', 'Nova is busy with it: building', '']],
    [
      'accepted a moment ago',
      { taskState: 'migrating' },
      {},
      ['Migrating', 'migration is accepted', ''],
    ],
    [
      'in a state that nobody has heard of',
      { vmState: 'strange' },
      {},
      ['Cannot', 'is strange, and Nova moves no such servers', ''],
    ],
    [
      'in error with a task that was left behind',
      { vmState: 'error', taskState: 'migrating' },
      {},
      ['Cannot', 'is in error, and Nova moves no such servers', ''],
    ],
    [
      'in error with a record that was left behind',
      { vmState: 'error' },
      { migrations: [makeMove(1, 'a', 'running', { updated: at(50) })] },
      ['Cannot', 'is in error, and Nova moves no such servers', ''],
    ],
  ];
  for (const [what, server, over, wanted] of rows)
    test(what, () => assert.deepEqual(behavior(makeServer('a', server), over), wanted));

  test('on the way it is shown with what Nova tells of it', () => {
    const moves = (
      move: Partial<ServerMigration> & { readonly status: string },
      progress?: number,
    ) => {
      const { status, ...over } = move;
      const migrations = [makeMove(1, 'a', status, over)];
      const { view } = looked({
        servers: [makeServer('a', { taskState: 'migrating' })],
        migrations,
        ...(progress !== undefined && { progress: new Map([['a', progress]]) }),
      });
      const { platform: _p, id: _i, name: _n, since, ...said } = view.vms[0]!;
      return { ...said, since: since?.toString() };
    };
    const common = { state: 'Migrating', since: at(10).toString() };
    assert.deepEqual(moves({ status: 'running', target: 'h2' }, 40), {
      ...common,
      message: 'migration is running',
      target: 'h2',
      progress: 40,
    });
    assert.deepEqual(moves({ status: 'queued' }), {
      ...common,
      message: "waits in Nova's own queue",
    });
    assert.deepEqual(
      moves({ status: 'accepted', target: 'h1' }),
      { ...common, message: "waits in Nova's own queue" },
      'its own host is no target',
    );
  });

  test('a record that stays open without a task is believed for a minute, and then a wreck', () => {
    const over = (updated: number) => ({
      migrations: [makeMove(1, 'a', 'running', { updated: at(updated) })],
    });
    assert.deepEqual(behavior(makeServer('a'), over(1)), ['Migrating', 'migration is running', '']);
    assert.deepEqual(behavior(makeServer('a'), over(0)), ['Waiting', undefined, 'live-migrate']);
  });

  test('people are told once, twice, and from the third time on that it cannot', () => {
    const failed = (count: number) =>
      Array.from({ length: count }, (_, n) => makeMove(n + 1, 'a', 'error'));
    const said = (count: number, over: Partial<HostSnapshot> = {}) =>
      behavior(makeServer('a'), {
        migrations: failed(count),
        reasons: new Map([[count, 'No valid host']]),
        ...over,
      }).slice(0, 2);
    assert.deepEqual(
      [said(1), said(2), said(3)],
      [
        ['Waiting', 'tried once: No valid host'],
        ['Waiting', 'tried twice: No valid host'],
        ['Cannot', 'No valid host'],
      ],
    );
    assert.deepEqual(said(1, { reasons: new Map() }), [
      'Waiting',
      'tried once: its migration failed, and Nova does not say why',
    ]);
    assert.deepEqual(
      behavior(makeServer('a'), { migrations: [makeMove(1, 'a', 'cancelled')] }).slice(0, 2),
      ['Waiting', 'tried once: its migration was aborted'],
    );
  });

  test('failures before this emptying, or before somebody asked anew, do not count; refusals do', () => {
    const tried = (over: Partial<HostSnapshot>) => behavior(makeServer('a'), over)[1];
    const old = makeMove(1, 'a', 'error', { created: at(-6) });
    assert.equal(tried({ migrations: [old] }), undefined);
    assert.equal(
      tried({ migrations: [makeMove(1, 'a', 'error', { created: at(20) })], anewFrom: at(30) }),
      undefined,
    );
    assert.match(
      tried({ migrations: [makeMove(1, 'a', 'error', { created: at(30) })], anewFrom: at(30) }) ??
        '',
      /^tried once/,
    );
    const refusal = { count: 1, at: at(40), message: 'no' };
    assert.equal(
      tried({ migrations: [makeMove(1, 'a', 'error')], refusals: new Map([['a', refusal]]) }),
      'tried twice: no',
    );
    assert.match(
      tried({
        migrations: [makeMove(1, 'a', 'error', { updated: at(50) })],
        refusals: new Map([['a', refusal]]),
      }) ?? '',
      /^tried twice: its migration failed/,
    );
  });
});

describe('a server that has left', () => {
  const gone = (migrations: readonly ServerMigration[], over: Partial<NovaServer> = {}) =>
    looked({ elsewhere: [makeServer('a', { host: 'h2', ...over })], migrations });
  const said = (...args: Parameters<typeof gone>) =>
    gone(...args).view.vms.map(({ state, target, since, message }) => [
      state,
      target,
      since?.toString(),
      message,
    ]);

  test('has been moved once its migration went well', () => {
    assert.deepEqual(said([makeMove(1, 'a', 'completed')]), [
      ['Moved', 'h2', at(15).toString(), undefined],
    ]);
  });
  test('is none of ours without a migration that went well in this emptying', () => {
    assert.deepEqual(said([makeMove(1, 'a', 'error')]), []);
    assert.deepEqual(said([makeMove(1, 'a', 'completed', { created: at(-6) })]), []);
  });
  test('counts as moved while its record is about to end', () =>
    assert.deepEqual(said([makeMove(1, 'a', 'running')]), [['Moved', 'h2', undefined, undefined]]));
  test('is still on its way as long as Nova is busy with it', () => {
    assert.deepEqual(said([makeMove(1, 'a', 'running')], { taskState: 'migrating' }), [
      ['Migrating', undefined, at(10).toString(), 'migration is running'],
    ]);
    assert.deepEqual(said([makeMove(1, 'a', 'completed')], { taskState: 'rebooting' }), [
      ['Moved', 'h2', at(15).toString(), undefined],
    ]);
  });

  const cold = (over: Partial<ServerMigration> = {}) =>
    makeMove(1, 'a', 'finished', { type: 'migration', ...over });
  const confirmed = (move: ServerMigration, over: Partial<HostSnapshot> = {}) =>
    looked({
      elsewhere: [makeServer('a', { host: 'h2', vmState: 'resized' })],
      migrations: [move],
      ...over,
    }).calls.map(({ kind }) => kind);

  test('cold, and asked for by us: it is confirmed', () =>
    assert.deepEqual(confirmed(cold()), ['confirm']));
  test('anybody else, another host or another time: that is theirs to confirm', () => {
    assert.deepEqual(confirmed(cold({ user: 'them' })), []);
    assert.deepEqual(confirmed(cold({ created: at(-6) })), []);
    assert.deepEqual(confirmed(cold({ type: 'resize' })), []);
  });
  test('where Nova does not tell users, only what this process asked for counts', () => {
    const { user: _, ...nameless } = cold();
    assert.deepEqual(confirmed(nameless), []);
    assert.deepEqual(confirmed(nameless, { asked: new Set(['a']) }), ['confirm']);
    assert.deepEqual(confirmed(cold(), { user: undefined }), []);
  });
  test('without our mark on the service, only what this process asked for counts', () => {
    const service = {
      id: 's',
      host: 'h1',
      isEnabled: false,
      isUp: true,
      disabledReason: 'broken fan',
    };
    assert.deepEqual(confirmed(cold(), { service }), []);
    assert.deepEqual(confirmed(cold(), { service, asked: new Set(['a']) }), ['confirm']);
  });
});

describe('when nobody holds the node any more', () => {
  test('what Nova has not begun is called off, as far as it was ours', () => {
    const move = (id: number, status: string, over: Partial<ServerMigration> = {}) =>
      makeMove(id, `s${id}`, status, over);
    const { user: _, ...nameless } = move(6, 'queued');
    const migrations = [
      move(1, 'accepted'),
      move(2, 'queued'),
      move(3, 'running'),
      move(4, 'queued', { user: 'them' }),
      move(5, 'queued', { created: at(-6) }),
      nameless,
      move(7, 'queued', { source: 'h2' }),
    ];
    assert.deepEqual(calls(makeReleased({ migrations })), ['s1 abort 1', 's2 abort 2']);
    assert.deepEqual(
      calls(makeReleased({ migrations, isReleased: false })),
      [],
      'as long as that is not known, nothing is',
    );
    assert.deepEqual(calls(makeReleased({ migrations: migrations.slice(2) })), ['host enable']);
  });

  test('it is enabled when we disabled it, and nothing is left to be confirmed', () => {
    const service = {
      id: 's',
      host: 'h1',
      isEnabled: false,
      isUp: true,
      disabledReason: 'broken fan',
    };
    assert.deepEqual(calls(makeReleased()), ['host enable']);
    assert.deepEqual(calls(makeReleased({ service })), []);
    assert.deepEqual(
      calls(makeReleased({ service: { ...makeReleased().service, isEnabled: true } })),
      [],
    );
    const cold = makeMove(1, 'a', 'running', { type: 'migration' });
    assert.deepEqual(
      calls(makeReleased({ migrations: [makeMove(2, 'b', 'completed'), cold] })),
      [],
    );
    assert.deepEqual(calls(makeReleased({ migrations: [{ ...cold, status: 'confirmed' }] })), [
      'host enable',
    ]);
    assert.deepEqual(calls(makeReleased({ migrations: [{ ...cold, user: 'them' }] })), [
      'host enable',
    ]);
  });

  test('what is called off is so before it is enabled', () =>
    assert.deepEqual(calls(makeReleased({ migrations: [makeMove(1, 'a', 'queued')] })), [
      'a abort 1',
    ]));
});

describe('when it looks again', () => {
  const requeueMs = (snapshot: HostSnapshot, moment = now) => decideHost(snapshot, moment).againMs;
  const enabled = { id: 's', host: 'h1', isEnabled: true, isUp: true };
  const rows: readonly (readonly [string, HostSnapshot, number | undefined])[] = [
    ['at once, when it was disabled', makeHost({ service: enabled }), 0],
    ['at once, when it was enabled', makeReleased(), 0],
    [
      'in a second, while something is called off',
      makeReleased({ migrations: [makeMove(1, 'a', 'queued')] }),
      1000,
    ],
    [
      'in ten seconds, as long as nobody knows whether it is released',
      makeReleased({ isReleased: false }),
      10_000,
    ],
    ['never, when nothing is wanted of it', makeReleased({ service: enabled }), undefined],
    ['in a second, when a move is on', makeHost({ servers: [makeServer('a')] }), 1000],
    [
      'in ten seconds, when all that is left cannot move',
      makeHost({ servers: [makeServer('a', { vmState: 'error' })] }),
      10_000,
    ],
    ['in ten seconds, when it is empty', makeHost(), 10_000],
    [
      'in a second, when something arrives',
      makeHost({ migrations: [makeMove(1, 'z', 'running', { source: 'h2', target: 'h1' })] }),
      1000,
    ],
  ];
  for (const [what, snapshot, wanted] of rows)
    test(what, () => assert.equal(requeueMs(snapshot), wanted));
});

describe('an empty host', () => {
  const empty = (over: Partial<HostSnapshot>) => looked(over).view.empty;
  test('has nothing that has to go and nothing that comes, after new ones were kept away', () => {
    assert.equal(empty({}), true);
    assert.equal(empty({ desired: undefined }), false);
    assert.equal(empty({ servers: [makeServer('a')] }), false);
    assert.equal(
      empty({ migrations: [makeMove(1, 'z', 'completed', { source: 'h2', target: 'h1' })] }),
      true,
      'it has come, and would be on the list',
    );
    assert.equal(
      empty({ migrations: [makeMove(1, 'z', 'running', { target: 'h1' })] }),
      true,
      'a resize on the spot does not arrive',
    );
    assert.equal(
      empty({ migrations: [makeMove(1, 'z', 'running', { source: 'h2', target: 'h3' })] }),
      true,
    );
  });

  test('the expected end is said to those who wait for it', () => {
    const over = { servers: [makeServer('a')], migrations: [makeMove(1, 'b', 'completed')] };
    assert.equal(looked(over).view.expectedEnd?.toString(), at(20).toString());
    assert.equal('expectedEnd' in looked({ ...over, desired: undefined }).view, false);
    assert.equal('expectedEnd' in looked({}).view, false);
  });

  test('servers are shown by name, and by id where two have one name', () => {
    const servers = [
      makeServer('3', { name: 'b' }),
      makeServer('2', { name: 'a' }),
      makeServer('1', { name: 'b' }),
    ];
    for (const told of [servers, servers.toReversed()])
      assert.deepEqual(
        looked({ servers: told }).view.vms.map(({ id }) => id),
        ['2', '1', '3'],
      );
  });
});

test('what helps is said by what Nova says; where that is not known, where to look', () => {
  const remedy = (reason: string) => {
    const migrations = [1, 2, 3].map(id => makeMove(id, 'a', 'error'));
    return (
      looked({ servers: [makeServer('a')], migrations, reasons: new Map([[3, reason]]) }).view
        .vms[0]?.remedy ?? ''
    );
  };
  assert.match(remedy('No valid host was found.'), /^make room for it/);
  assert.match(remedy("Policy doesn't allow this"), /role admin/);
  assert.match(remedy('the moon is wrong'), /^see the logs of nova-compute/);
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { isObject } from '@drydock/apimachinery';
import { failure, response } from '../testing/fakes.ts';
import { announced, type Furniture, machineBench, paths } from '../testing/machine-bench.ts';

const request = paths.request('mm-m1');
const child = paths.maintenance('mm-m1-mmm1-uid');
const now = Temporal.Instant.from('2026-01-01T00:00:00Z');

/** Machine m1 with its node, in a set of one, and a source. */
function furnished(furniture: Furniture): void {
  furniture.machineApi();
  furniture.set('workers', 1);
  furniture.machine('m1', { set: 'workers' });
  furniture.node('n-m1', 'aws:///a/i-m1');
  furniture.source('cloud');
}

type Bench = ReturnType<typeof machineBench>;

function phase({ part }: Bench, path = request): string {
  const { phase, waitingFor } = part(path, 'status') as {
    readonly phase?: string;
    readonly waitingFor?: string;
  };
  return `${phase} ${waitingFor}`;
}

function changed({ cluster }: Bench, word: string): readonly string[] {
  return cluster.written.filter(one => one.includes(word));
}
function eventsOf({ part }: Bench, path = request): readonly JsonObject[] {
  const { events } = part(path, 'spec');
  return Array.isArray(events) ? events.filter(isObject) : [];
}

describe('a machine that is to be retired', () => {
  test('is drained, deleted and replaced, and nothing is left', async () => {
    const bench = machineBench(furnished);
    const { cluster, cloud, calm, wait, end, furniture } = bench;
    cloud.events = [announced('i-m1')];
    await calm();
    await wait(1);
    assert.equal(phase(bench), 'Replacing Replacement');
    assert.deepEqual(changed(bench, '/machines/'), [`DELETE ${paths.machine('m1')}`]);
    assert.equal(
      bench.part(request, 'spec')['maintenancescheduled'],
      true,
      'the flag was stored before',
    );
    assert.ok(cluster.get(child), 'its node is held until it is replaced');
    furniture.machine('m2', { set: 'workers' });
    furniture.node('n-m2', 'aws:///a/i-m2', 'False');
    await wait(1);
    assert.equal(phase(bench), 'Replacing Replacement', 'the new one is not Ready');
    furniture.node('n-m2', 'aws:///a/i-m2');
    cluster.remove(paths.node('n-m1'));
    await wait(5);
    assert.equal(phase(bench), 'Succeeded undefined');
    assert.equal(cluster.get(child), undefined);
    await end();
    assert.deepEqual(bench.log.of('error'), []);
  });

  test('waits for another one of its set', async () => {
    const bench = machineBench(furniture => {
      furnished(furniture);
      furniture.set('workers', 2);
      furniture.machine('m2', { set: 'workers' });
      furniture.node('n-m2', 'aws:///a/i-m2');
    });
    bench.cloud.events = [announced('i-m1'), announced('i-m2')];
    await bench.wait(1);
    const second = paths.request('mm-m2');
    assert.deepEqual(
      [phase(bench), phase(bench, second)],
      ['Replacing Replacement', 'Scheduled Turn'],
    );
    bench.furniture.machine('m3', { set: 'workers' });
    bench.furniture.node('n-m3', 'aws:///a/i-m3');
    await bench.wait(5);
    assert.equal(phase(bench), 'Succeeded undefined');
    assert.match(phase(bench, second), /^Replacing/, 'then it is its turn');
    await bench.end();
  });

  test('what the API server refuses is told where people look, and tried again ever more slowly until it is stored', async () => {
    const bench = machineBench(furnished);
    let refused = 0;
    bench.server.responses = ({ method, path }) =>
      method === 'DELETE' && path === paths.machine('m1') && (refused += 1) < 5
        ? failure(422, 'not now')
        : undefined;
    bench.cloud.events = [announced('i-m1')];
    await bench.wait(4);
    const { message, conditions } = bench.part(request, 'status');
    assert.match(JSON.stringify(message), /refused so far: .*not now/);
    assert.match(JSON.stringify(conditions), /"type":"Stalled","status":"True"/);
    const tried = refused;
    assert.ok(tried >= 1 && tried < 5, String(tried));
    await bench.wait(300);
    assert.equal(phase(bench), 'Replacing Replacement');
    assert.doesNotMatch(JSON.stringify(bench.part(request, 'status')['message']), /refused/);
    await bench.end();
  });

  /** Its node has a pod that a budget keeps. */
  const guarded = (furniture: Furniture, cluster: Bench['cluster']): void => {
    furnished(furniture);
    const [name, namespace] = ['a', 'shop'];
    cluster.put('/api/v1/namespaces/shop/pods/a', {
      metadata: { name, namespace },
      spec: { nodeName: 'n-m1' },
      status: { phase: 'Running' },
    });
    cluster.put('/apis/policy/v1/namespaces/shop/poddisruptionbudgets/b', {
      metadata: { name, namespace, generation: 1 },
      spec: { selector: {} },
      status: { observedGeneration: 1, disruptionsAllowed: 0 },
    });
  };

  test('is replaced when its cloud has taken it before it was drained, and released when its node has survived', async () => {
    for (const kind of ['stop', 'retirement'] as const)
      for (const [status, wanted] of [
        ['Unknown', 'Replacing Replacement'],
        ['True', 'Cancelled undefined'],
      ] as const) {
        const bench = machineBench(guarded);
        bench.cloud.events = [announced('i-m1', { kind, notBefore: now, deadline: now })];
        await bench.wait(1);
        assert.equal(phase(bench), 'Draining Drain');
        bench.furniture.node('n-m1', 'aws:///a/i-m1', status);
        bench.cloud.events = [
          announced('i-m1', { kind, notBefore: now, deadline: now, state: 'Completed' }),
        ];
        await bench.wait(3700);
        assert.equal(phase(bench), wanted, `${kind} ${status}`);
        assert.equal(bench.cluster.get(paths.machine('m1')) === undefined, status === 'Unknown');
        assert.equal(bench.cluster.get(child) === undefined, status === 'True');
        await bench.end();
      }
  });

  test('is released when its object is deleted', async () => {
    const bench = machineBench((furniture, cluster) => {
      furnished(furniture);
      cluster.put('/api/v1/namespaces/shop/pods/a', {
        metadata: { name: 'a', namespace: 'shop' },
        spec: { nodeName: 'n-m1' },
        status: { phase: 'Running' },
      });
      cluster.put('/apis/policy/v1/namespaces/shop/poddisruptionbudgets/b', {
        metadata: { name: 'b', namespace: 'shop', generation: 1 },
        spec: { selector: {} },
        status: { observedGeneration: 1, disruptionsAllowed: 0 },
      });
    });
    bench.cloud.events = [announced('i-m1')];
    await bench.wait(1);
    assert.equal(phase(bench), 'Draining Drain');
    assert.ok(bench.cluster.get(child));
    bench.cloud.events = [];
    bench.cluster.patch(request, { metadata: { deletionTimestamp: '2026-01-01T00:00:09Z' } });
    await bench.wait(5);
    assert.deepEqual(
      [bench.cluster.get(child), bench.cluster.get(request)],
      [undefined, undefined],
    );
    assert.ok(bench.cluster.get(paths.machine('m1')));
    await bench.end();
  });
});

/** An object that somebody has made: the machine is to be replaced. */
function asked(furniture: Furniture, cluster: Bench['cluster']): void {
  furnished(furniture);
  cluster.put(request, {
    metadata: { name: 'mm-m1', namespace: 'drydock-system', uid: 'mmm1-uid' },
    spec: { maintenancescheduled: false, machineid: 'i-m1', machinelink: 'm1' },
  });
}

describe('the loop of the machines', () => {
  test('a machine that is gone when it is asked to go is not asked for for ever, however late the watch is', async () => {
    const bench = machineBench(asked);
    bench.server.responses = ({ method, path }) => {
      if (method !== 'DELETE' || path !== paths.machine('m1')) return undefined;
      bench.cluster.silent = true;
      return response(404, {
        kind: 'Status',
        reason: 'NotFound',
        details: { name: 'm1', group: 'machine.openshift.io', kind: 'machines' },
      });
    };
    await bench.wait(60);
    assert.equal(phase(bench), 'Replacing Replacement');
    const deletions = changed(bench, 'DELETE').filter(one => one.endsWith('/m1'));
    assert.equal(deletions.length, 1);
    await bench.end();
  });

  test('a machine that its finalizers keep is asked for once', async () => {
    const bench = machineBench(asked);
    bench.server.responses = ({ method, path }) => {
      if (method !== 'DELETE' || path !== paths.machine('m1')) return undefined;
      const { metadata, ...rest } = bench.cluster.get(path) as { metadata: JsonObject };
      return response(200, {
        ...rest,
        metadata: {
          ...metadata,
          resourceVersion: '9999',
          deletionTimestamp: '2026-01-01T00:00:00Z',
        },
      });
    };
    await bench.wait(60);
    assert.equal(phase(bench), 'Replacing MachineDeletion');
    assert.equal(changed(bench, 'DELETE').length, 1);
    assert.match(
      JSON.stringify(bench.part(request, 'status')['message']),
      /Waiting until Machine m1 is gone/,
    );
    await bench.end();
  });

  test('every step of the way is told once, what does not go on by itself as a warning', async () => {
    const bench = machineBench(furnished);
    bench.cloud.events = [announced('i-m1')];
    bench.server.responses = ({ method, path }) =>
      method === 'DELETE' && path === paths.machine('m1') ? failure(422, 'not now') : undefined;
    await bench.wait(30);
    const told = bench.recorder.notes
      .filter(({ about }) => about.kind === 'MachineMaintenance')
      .map(({ type, reason }) => `${type} ${reason}`);
    assert.deepEqual(told, [
      'Normal EventAnnounced',
      'Normal Begun',
      'Normal Drain',
      'Normal MachineDeletion',
    ]);
    await bench.end();
    const approval = machineBench((furniture, cluster) => {
      furnished(furniture);
      cluster.put(request, {
        metadata: { name: 'mm-m1', namespace: 'drydock-system', uid: 'mmm1-uid' },
        spec: {
          maintenancescheduled: false,
          machineid: 'i-m1',
          machinelink: 'm1',
          approval: 'Required',
        },
      });
    });
    await approval.wait(1);
    assert.deepEqual(
      approval.recorder.notes.map(({ type, reason }) => `${type} ${reason}`),
      ['Normal EventAnnounced', 'Warning Approval'],
    );
    approval.cluster.patch(request, {
      metadata: { annotations: { 'drydock.dev/approved': 'true' } },
    });
    await approval.wait(1);
    assert.match(phase(approval), /^Replacing/);
    await approval.end();
  });

  test('what is refused is asked for again after ever longer pauses, a minute at most', async () => {
    const bench = machineBench(furnished);
    const times: number[] = [];
    bench.server.responses = ({ method, path }) => {
      if (method !== 'DELETE' || path !== paths.machine('m1')) return undefined;
      times.push(bench.clock.now().epochMilliseconds);
      return failure(409, 'the object has been modified');
    };
    bench.cloud.events = [announced('i-m1')];
    await bench.wait(400);
    const pauses = times.slice(1).map((time, at) => time - (times[at] ?? 0));
    assert.ok(pauses.length >= 8, String(pauses));
    for (const [at, pause] of pauses.entries())
      if (at > 0) assert.ok(pause >= (pauses[at - 1] ?? 0), String(pauses));
    assert.equal(Math.max(...pauses), 60_000);
    await bench.end();
  });

  test('an object that cannot be read is told, and the rest goes on', async () => {
    const bench = machineBench((furniture, cluster) => {
      furnished(furniture);
      cluster.put(paths.request('broken'), {
        metadata: { name: 'broken', namespace: 'drydock-system' },
        spec: {},
      });
    });
    bench.cloud.events = [announced('i-m1', { kind: 'freeze' })];
    await bench.wait(1);
    assert.ok(bench.log.of('warn').includes('ignoring invalid object'));
    assert.equal(phase(bench), 'Notified EventPending');
    await bench.end();
  });
});

describe('what is announced', () => {
  test('a machine, a node without one, and nothing of this cluster', async () => {
    const bench = machineBench(furniture => {
      furnished(furniture);
      furniture.node('bare', 'aws:///a/i-bare');
    });
    bench.cloud.events = [
      announced('i-m1', { kind: 'freeze' }),
      announced('i-bare', { kind: 'freeze' }),
      announced('i-other', { kind: 'freeze' }),
    ];
    await bench.wait(1);
    assert.deepEqual(changed(bench, 'POST').length, 2);
    const spec = bench.part(request, 'spec');
    assert.partialDeepStrictEqual(spec, {
      machineid: 'i-m1',
      machinelink: 'm1',
      nodeName: 'n-m1',
      machineRef: { kind: 'Machine', namespace: 'machines', name: 'm1' },
    });
    assert.partialDeepStrictEqual(bench.part(paths.request('mm-bare'), 'spec'), {
      machineid: 'i-bare',
      nodeName: 'bare',
      machineRef: { kind: 'Node', name: 'bare' },
    });
    assert.deepEqual(
      eventsOf(bench).map(({ id }) => id),
      ['e-i-m1'],
      'each its own',
    );
    assert.deepEqual(
      [phase(bench), phase(bench, paths.request('mm-bare'))],
      ['Notified EventPending', 'Notified EventPending'],
    );
    await bench.end();
  });

  test('changes are noted and told once; what is over makes nothing new', async () => {
    const bench = machineBench(furniture => {
      furnished(furniture);
      furniture.machine('m2');
    });
    const freeze = announced('i-m1', { kind: 'freeze', code: 'freeze-1' });
    bench.cloud.events = [freeze, announced('i-m2', { state: 'Completed' })];
    await bench.wait(1);
    assert.equal(bench.cluster.get(paths.request('mm-m2')), undefined);
    const writes = (): number =>
      changed(bench, 'mm-m1').filter(one => !one.endsWith('/status')).length;
    const before = writes();
    await bench.wait(3600);
    assert.equal(writes(), before, 'nothing new, nothing written');
    bench.cloud.events = [{ ...freeze, state: 'Active', deadline: now.add({ hours: 9 }) }];
    await bench.wait(3600);
    assert.deepEqual(
      eventsOf(bench).map(({ state }) => state),
      ['Active'],
    );
    assert.equal(writes(), before + 1);
    const told = bench.recorder.notes
      .filter(({ reason }) => reason === 'EventChanged')
      .map(({ message }) => message);
    assert.deepEqual(told, ['aws says: freeze-1 active, deadline 2026-01-01T09:00:00Z']);
    bench.cloud.events = [];
    await bench.wait(3600);
    assert.deepEqual(
      eventsOf(bench).map(({ state }) => state),
      ['Completed'],
      'it was due, and is not announced any more',
    );
    await bench.end();
  });

  test('where two machines have one name, each has its own object', async () => {
    const bench = machineBench(furniture => {
      furnished(furniture);
      furniture.machine('m1', { namespace: 'others', providerID: 'aws:///a/i-x' });
    });
    bench.cloud.events = [announced('i-m1', { kind: 'freeze' })];
    await bench.wait(1);
    bench.cloud.events = [
      announced('i-m1', { kind: 'freeze' }),
      announced('i-x', { kind: 'freeze' }),
    ];
    await bench.wait(3600);
    assert.equal(bench.part(request, 'spec')['machineid'], 'i-m1');
    assert.equal(bench.part(paths.request('mm-others-m1'), 'spec')['machineid'], 'i-x');
    await bench.end();
  });

  test('a race for the object is run again, and given up after a while until the next look', async () => {
    const bench = machineBench(furnished);
    let lost = 0;
    bench.server.responses = ({ method, path }) =>
      method === 'POST' && path.endsWith('/machinemaintenances') && (lost += 1) <= 3
        ? failure(409, 'already exists')
        : undefined;
    bench.cloud.events = [announced('i-m1', { kind: 'freeze' })];
    await bench.wait(0.7);
    assert.deepEqual([lost, bench.cluster.get(request) !== undefined], [4, true]);
    await bench.end();
    const losing = machineBench(furnished);
    losing.server.responses = ({ method, path }) =>
      method === 'POST' && path.endsWith('/machinemaintenances')
        ? failure(409, 'already exists')
        : undefined;
    losing.cloud.events = [announced('i-m1', { kind: 'freeze' })];
    await losing.wait(20);
    const tries = changed(losing, 'POST').length;
    assert.ok(tries >= 6, String(tries));
    assert.ok(losing.log.of('warn').includes('failed to store announcements; retrying'));
    await losing.end();
  });
});

describe('how often a source is asked', () => {
  const looks = async (cloud: Partial<Bench['cloud']>, seconds: number, interval = 3600) => {
    const bench = machineBench(furniture => {
      furnished(furniture);
      furniture.source('cloud', { aws: { intervalSeconds: interval } });
    });
    Object.assign(bench.cloud, cloud);
    await bench.wait(seconds);
    const count = bench.cloud.looks.length;
    await bench.end();
    return count;
  };
  const freeze = (over: Parameters<typeof announced>[1] = {}) => [
    announced('i-m1', { kind: 'freeze', ...over }),
  ];

  test('as it says', async () => {
    assert.equal(await looks({}, 3599), 1);
    assert.equal(await looks({}, 3600), 2);
    assert.equal(await looks({}, 120, 60), 3);
  });
  test('every five minutes while something happens, or is due within two intervals', async () => {
    assert.equal(await looks({ events: freeze() }, 900), 1);
    assert.equal(await looks({ events: freeze({ state: 'Active' }) }, 900), 4);
    assert.equal(await looks({ events: freeze({ deadline: now.add({ seconds: 7000 }) }) }, 900), 4);
    assert.equal(await looks({ events: freeze({ deadline: now.add({ seconds: 7300 }) }) }, 900), 1);
    assert.equal(
      await looks(
        { events: freeze({ deadline: now.add({ seconds: 100 }), state: 'Cancelled' }) },
        900,
      ),
      1,
    );
    assert.equal(
      await looks({ events: freeze({ state: 'Active' }) }, 120, 60),
      3,
      'never more seldom than it says',
    );
  });
  test('every five minutes while it cannot be read', async () => {
    const trouble = { reason: 'Throttled', message: 'slowly' } as const;
    assert.equal(await looks({ trouble }, 900), 4);
    assert.equal(await looks({ trouble }, 120, 60), 3);
  });

  test('at once when it is changed, and not any more when it is gone', async () => {
    const bench = machineBench(furnished);
    await bench.wait(10);
    bench.cluster.put(paths.source('cloud'), {
      metadata: { name: 'cloud', generation: 2 },
      spec: { aws: { intervalSeconds: 60 } },
    });
    await bench.calm();
    assert.equal(bench.cloud.looks.length, 2);
    bench.cluster.remove(paths.source('cloud'));
    await bench.wait(7200);
    assert.equal(bench.cloud.looks.length, 2);
    await bench.end();
  });

  test('about the machines and nodes of its cloud, each once', async () => {
    const bench = machineBench(furniture => {
      furnished(furniture);
      furniture.node('z', 'aws:///a/i-z');
      furniture.node('g', 'gce://p/z/g');
      furniture.node('none');
    });
    await bench.wait(1);
    assert.deepEqual(bench.cloud.looks, ['cloud: i-m1,i-z']);
    await bench.end();
  });
});

describe('what a look has come to is said on its source', () => {
  test('how many, what is pending, and when it looks again', async () => {
    const bench = machineBench(furnished);
    bench.cloud.events = [
      announced('i-m1', { kind: 'freeze' }),
      announced('i-m1', { id: 'e2', kind: 'freeze', state: 'Completed' }),
    ];
    await bench.wait(1);
    assert.partialDeepStrictEqual(bench.part(paths.source('cloud'), 'status'), {
      machines: 1,
      events: 1,
      observedGeneration: 1,
      nextScanTime: '2026-01-01T01:00:00Z',
    });
    assert.doesNotMatch(bench.recorder.reasons.join(), /Instance|Provider|Throttled/);
    await bench.end();
  });

  test('what is wrong, as events too: trouble, strangers, machines that nothing can be asked about', async () => {
    const bench = machineBench((furniture, cluster) => {
      furnished(furniture);
      const silent = (name: string, more: JsonObject = {}): unknown =>
        cluster.put(paths.machine(name), {
          apiVersion: 'machine.openshift.io/v1beta1',
          kind: 'Machine',
          metadata: { name, namespace: 'machines', ...more },
          spec: {},
        });
      silent('m8');
      silent('m9', { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['x/y'] });
    });
    bench.cloud.trouble = { reason: 'Throttled', message: 'slowly' };
    bench.cloud.unknown = ['i-1', 'i-2', 'i-3', 'i-4', 'i-5', 'i-6', 'i-7'];
    await bench.wait(1);
    const told = new Map(
      bench.recorder.notes
        .filter(({ type }) => type === 'Warning')
        .map(({ reason, message }) => [reason, message]),
    );
    assert.equal(told.get('Throttled'), 'slowly');
    assert.match(told.get('InstanceUnknown') ?? '', /i-1, i-2, i-3, i-4, i-5 and 2 more/);
    assert.match(told.get('NoProviderID') ?? '', /: machines\/m8$/);
    await bench.end();
  });

  test('one that follows nodes is not scanned, and says so once', async () => {
    const bench = machineBench(furniture => {
      furniture.machineApi();
      furniture.source('nodes', { presets: ['gke'] });
    });
    await bench.wait(7200);
    assert.deepEqual(
      [bench.cloud.looks.length, changed(bench, 'machineeventsources').length],
      [0, 1],
    );
    assert.equal(bench.part(paths.source('nodes'), 'status')['observedGeneration'], 1);
    await bench.end();
  });
});

describe('what nodes say', () => {
  const signals = {
    signals: () => [announced('i-m1', { kind: 'freeze', provider: 'node', source: 'nodes' })],
  };
  test('is heard where a source listens', async () => {
    for (const listens of [true, false]) {
      const bench = machineBench(furniture => {
        furnished(furniture);
        if (listens) furniture.source('nodes', { presets: ['gke'] });
      }, signals);
      await bench.wait(1);
      assert.equal(bench.cluster.get(request) !== undefined, listens);
      await bench.end();
    }
  });

  test('is looked at when the node changes, and when a source is made', async () => {
    const bench = machineBench(furnished, signals);
    await bench.wait(1);
    bench.furniture.source('nodes', { signals: [{ kind: 'freeze', label: { key: 'x' } }] });
    await bench.calm();
    assert.deepEqual(
      eventsOf(bench).map(({ provider }) => provider),
      ['node'],
    );
    await bench.end();
  });

  const notice = (instance = 'i-m1', over: JsonObject = {}): JsonObject => ({
    metadata: { name: 'n-m1', uid: 'notice-uid' },
    spec: {
      provider: 'aws',
      instance,
      events: [announced(instance, { kind: 'freeze', source: 'x' }) as unknown as JsonObject],
      ...over,
    },
  });

  test('an agent speaks for its own node', async () => {
    const bench = machineBench((furniture, cluster) => {
      furnished(furniture);
      cluster.put(paths.notice('n-m1'), notice());
    });
    await bench.wait(1);
    assert.deepEqual(
      eventsOf(bench).map(({ source }) => source),
      ['agent/aws'],
    );
    await bench.end();
    const lying = machineBench((furniture, cluster) => {
      furnished(furniture);
      cluster.put(paths.notice('n-m1'), notice('i-other'));
    });
    await lying.wait(1);
    assert.equal(lying.cluster.get(request), undefined);
    assert.deepEqual(lying.recorder.reasons, ['NotOwnNode']);
    await lying.end();
  });

  test('what an agent does not tell any more is over, unless it could not ask for everything', async () => {
    const after = async (incomplete: boolean) => {
      const bench = machineBench((furniture, cluster) => {
        furnished(furniture);
        cluster.put(paths.notice('n-m1'), notice());
      });
      await bench.wait(1);
      bench.cluster.put(
        paths.notice('n-m1'),
        notice('i-m1', {
          events: [],
          ...(incomplete && { trouble: { reason: 'Unreachable', message: '' } }),
        }),
      );
      await bench.wait(1);
      const states = eventsOf(bench).map(({ state }) => state);
      await bench.end();
      return states;
    };
    assert.deepEqual([await after(false), await after(true)], [['Cancelled'], ['Scheduled']]);
  });

  test('the notice of a node that is gone is taken away', async () => {
    const bench = machineBench((furniture, cluster) => {
      furniture.machineApi();
      cluster.put(paths.notice('n-m1'), notice());
    });
    await bench.wait(1);
    assert.equal(bench.cluster.get(paths.notice('n-m1')), undefined);
    assert.deepEqual(bench.cluster.calls.find(({ method }) => method === 'DELETE')?.body, {
      preconditions: { uid: 'notice-uid' },
    });
    await bench.end();
  });
});

describe('what somebody sends', () => {
  const send = (bench: Bench, ...instances: readonly string[]) =>
    bench.manager.receive(
      instances.map(instance => announced(instance, { kind: 'freeze', source: 'sender' })),
    );

  test('is stored, whatever he calls the machine: its node, its name, or what the cloud calls it', async () => {
    for (const name of ['n-m1', 'm1', 'i-m1']) {
      const bench = machineBench(furnished);
      await bench.wait(1);
      assert.equal(await send(bench, name), 'stored');
      assert.equal(bench.part(request, 'spec')['machineid'], 'i-m1', name);
      await bench.end();
    }
  });

  test('is judged one by one: what is known here is stored, and the others are named', async () => {
    const after = async (...names: readonly string[]) => {
      const bench = machineBench(furnished);
      await bench.wait(1);
      const became = await send(bench, ...names);
      const stored = bench.cluster.get(request) !== undefined;
      await bench.end();
      return [became, stored] as const;
    };
    const stranger = 'no node or machine of this cluster is called stranger';
    assert.deepEqual(await after('stranger'), [{ refused: stranger }, false]);
    assert.deepEqual(await after('m1', 'stranger'), [{ stored: 1, refused: stranger }, true]);
    assert.deepEqual(await after('stranger', 'm1', 'stranger'), [
      { stored: 1, refused: stranger },
      true,
    ]);
    const many = Array.from({ length: 8 }, (_, n) => `s${n}`.padEnd(400, 'x'));
    const [became, stored] = await after('m1', ...many);
    const { refused } = became as { readonly refused: string };
    assert.ok(stored && refused.length < 1500 && refused.endsWith(' and 3 more'), refused);
  });

  test('takes nothing back of what was sent before', async () => {
    const bench = machineBench(furnished);
    await bench.wait(1);
    await send(bench, 'm1');
    const sent = bench.manager.receive([
      announced('m1', { id: 'e2', kind: 'freeze', source: 'sender' }),
    ]);
    await bench.wait(5);
    assert.equal(await sent, 'stored');
    assert.deepEqual(
      eventsOf(bench).map(({ state }) => state),
      ['Scheduled', 'Scheduled'],
    );
    await bench.end();
  });

  test('has to come later as long as the cluster has not been read, and when it cannot be stored', async () => {
    const bench = machineBench((furniture, cluster) => {
      furnished(furniture);
      cluster.hold('/api/v1/nodes');
    });
    await bench.wait(1);
    assert.deepEqual(await send(bench, 'm1'), { later: 'the cluster has not been read yet' });
    bench.cluster.letGo('/api/v1/nodes');
    await bench.wait(1);
    bench.server.responses = ({ method }) =>
      method === 'POST' ? response(500, { message: 'broken' }) : undefined;
    const sent = send(bench, 'm1');
    await bench.wait(30);
    assert.match(JSON.stringify(await sent), /"later":/);
    await bench.end();
  });
});

describe('machine APIs', () => {
  test('without one, what is about machines waits, and what is about nodes goes on', async () => {
    const bench = machineBench((furniture, cluster) => {
      furniture.node('bare', 'aws:///a/i-bare');
      furniture.source('cloud');
      cluster.put(request, {
        metadata: {
          name: 'mm-m1',
          namespace: 'drydock-system',
          uid: 'mmm1-uid',
          finalizers: ['drydock.dev/machine-maintenance'],
        },
        spec: { maintenancescheduled: false, machineid: 'i-m1', machinelink: 'm1' },
      });
    });
    bench.cloud.events = [announced('i-bare', { kind: 'freeze' })];
    await bench.wait(1);
    assert.deepEqual(
      [phase(bench), phase(bench, paths.request('mm-bare'))],
      ['Pending NoMachineApi', 'Notified EventPending'],
    );
    // It is installed later.
    furnished(bench.furniture);
    await bench.wait(300);
    assert.match(phase(bench), /^Replacing/);
    await bench.end();
  });

  test('as long as nobody knows which there are, nothing is done', async () => {
    const api = { isDown: true };
    const responses = ({ method, path }: { method: string; path: string }) =>
      api.isDown && method === 'GET' && path === paths.api ? failure(503, 'busy') : undefined;
    const bench = machineBench(furnished, { responses });
    bench.cloud.events = [announced('i-m1', { kind: 'freeze' })];
    await bench.wait(4);
    assert.deepEqual(
      [bench.cloud.looks, bench.manager.unsynced.includes('machine APIs')],
      [[], true],
    );
    api.isDown = false;
    await bench.wait(5);
    assert.deepEqual([bench.cloud.looks.length, bench.manager.unsynced], [1, []]);
    assert.deepEqual(bench.manager.states(), [['MachineMaintenance', 'Notified']]);
    await bench.end();
  });
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import type { Node } from '@drydock/core/node';
import { failure, response } from '../testing/fakes.ts';
import { announced, type Furniture, machineBench, paths } from '../testing/machine-bench.ts';

const request = paths.request('mm-m1');

/** Machine m1 with its node. */
function furnished(furniture: Furniture): void {
  furniture.machineApi();
  furniture.machine('m1');
  furniture.node('n-m1', 'aws:///a/i-m1');
}

type Bench = ReturnType<typeof machineBench>;

function statesOf({ part }: Bench): readonly string[] {
  const { events = [] } = part(request, 'spec') as {
    readonly events?: readonly { readonly id: string; readonly state: string }[];
  };
  return events.map(({ id, state }) => `${id} ${state}`).sort();
}

const freeze = announced('i-m1', { kind: 'freeze' });

describe('a cloud that is asked', () => {
  const scanned = (furniture: Furniture): void => {
    furnished(furniture);
    furniture.source('cloud');
  };

  test('takes back what it does not tell any more, also where others have told something', async () => {
    const bench = machineBench(scanned);
    bench.cloud.events = [freeze];
    await bench.wait(1);
    await bench.manager.receive([
      announced('m1', { id: 'sent', kind: 'freeze', source: 'sender' }),
    ]);
    bench.cloud.events = [];
    await bench.wait(3600);
    assert.deepEqual(statesOf(bench), ['e-i-m1 Cancelled', 'sent Scheduled']);
    await bench.end();
  });

  test('takes nothing back of a machine that it was not asked about', async () => {
    const bench = machineBench(scanned);
    bench.cloud.events = [freeze];
    await bench.wait(1);
    Object.assign(bench.cloud, { events: [], blind: ['i-m1'] });
    await bench.wait(3600);
    assert.deepEqual(statesOf(bench), ['e-i-m1 Scheduled']);
    await bench.end();
  });

  test('is told of in the log where it cannot be read, and only there', async () => {
    const warns = async (trouble: Partial<Bench['cloud']>): Promise<boolean> => {
      const bench = machineBench(scanned);
      Object.assign(bench.cloud, trouble);
      await bench.wait(1);
      const told = bench.log.of('warn').includes('failed to read an event source');
      await bench.end();
      return told;
    };
    assert.deepEqual(
      [await warns({}), await warns({ trouble: { reason: 'Throttled', message: 'slowly' } })],
      [false, true],
    );
  });

  test('is told of as one that failed where the look at it throws', async () => {
    const bench = machineBench(scanned);
    bench.cloud.defect = new Error('no such region');
    await bench.wait(1);
    assert.deepEqual([...new Set(bench.recorder.reasons)], ['Failed']);
    assert.match(JSON.stringify(bench.part(paths.source('cloud'), 'status')), /no such region/);
    await bench.end();
  });

  test('names five of the machines that it does not know, and counts the rest', async () => {
    const bench = machineBench(scanned);
    bench.cloud.unknown = ['i-1', 'i-2', 'i-3', 'i-4', 'i-5'];
    await bench.wait(1);
    const [told] = bench.recorder.notes.filter(({ reason }) => reason === 'InstanceUnknown');
    assert.match(told?.message ?? '', /does not know i-1, i-2, i-3, i-4, i-5: /);
    await bench.end();
  });
});

describe('what nodes and their agents say', () => {
  const notice = (over: JsonObject = {}): JsonObject => ({
    metadata: { name: 'n-m1', uid: 'notice-uid' },
    spec: {
      provider: 'aws',
      instance: 'i-m1',
      events: [{ ...freeze, source: 'x' } as unknown as JsonObject],
      ...over,
    },
  });
  const signals = ({ labels }: Node) =>
    labels['freeze'] === undefined ? [] : [{ ...freeze, provider: 'node', source: 'nodes' }];

  test('a node is heard as soon as it changes, and takes back what it does not say any more', async () => {
    const bench = machineBench(
      furniture => {
        furnished(furniture);
        furniture.source('nodes', { presets: ['gke'] });
      },
      { signals },
    );
    await bench.wait(1);
    assert.equal(bench.cluster.get(request), undefined);
    bench.cluster.patch(paths.node('n-m1'), { metadata: { labels: { freeze: 'soon' } } });
    await bench.calm();
    assert.deepEqual(statesOf(bench), ['e-i-m1 Scheduled']);
    bench.cluster.patch(paths.node('n-m1'), { metadata: { labels: { freeze: null } } });
    await bench.calm();
    assert.deepEqual(statesOf(bench), ['e-i-m1 Cancelled']);
    await bench.end();
  });

  test('the notice of a node is taken away once the node goes, and tried again where that is refused', async () => {
    const bench = machineBench((furniture, cluster) => {
      furnished(furniture);
      cluster.put(paths.notice('n-m1'), notice({ events: [] }));
    });
    await bench.wait(1);
    let tries = 0;
    bench.server.responses = ({ method, path }) =>
      method === 'DELETE' && path === paths.notice('n-m1') && (tries += 1) === 1
        ? failure(500, 'broken')
        : undefined;
    bench.cluster.remove(paths.node('n-m1'));
    await bench.calm();
    assert.deepEqual([tries, bench.cluster.get(paths.notice('n-m1')) !== undefined], [1, true]);
    await bench.wait(10);
    assert.deepEqual([tries, bench.cluster.get(paths.notice('n-m1'))], [2, undefined]);
    await bench.end();
  });

  test('the notice of a node goes before all that is asked of clouds', async () => {
    const bench = machineBench((furniture, cluster) => {
      furnished(furniture);
      for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) furniture.source(name);
      cluster.put(paths.notice('n-m1'), notice());
    });
    await bench.wait(1);
    assert.match(bench.cluster.written[0] ?? '', /^POST .*\/machinemaintenances$/);
    await bench.end();
  });

  test('a notice that is gone again before it is read says nothing', async () => {
    const bench = machineBench(furnished);
    await bench.wait(1);
    bench.cluster.put(paths.notice('n-m1'), notice());
    bench.cluster.remove(paths.notice('n-m1'));
    await bench.wait(1);
    assert.deepEqual([bench.log.of('error'), bench.cluster.get(request)], [[], undefined]);
    await bench.end();
  });
});

test('what is sent about nobody is refused', async () => {
  const bench = machineBench(furniture => {
    furnished(furniture);
    furniture.node('bare');
  });
  await bench.wait(1);
  const { instance: _nobody, ...event } = freeze;
  assert.deepEqual(await bench.manager.receive([event]), {
    refused: 'no node or machine of this cluster is called ',
  });
  await bench.end();
});

describe('machine APIs', () => {
  const asked = (cluster: Bench['cluster']): unknown =>
    cluster.put(request, {
      metadata: {
        name: 'mm-m1',
        namespace: 'drydock-system',
        uid: 'mmm1-uid',
        finalizers: ['drydock.dev/machine-maintenance'],
      },
      spec: {
        maintenancescheduled: false,
        machineid: 'i-m1',
        machinelink: 'm1',
        strategy: 'Notify',
      },
    });
  const reasonWith = async (
    fill: (furniture: Furniture, cluster: Bench['cluster']) => void,
  ): Promise<unknown> => {
    const bench = machineBench((furniture, cluster) => {
      fill(furniture, cluster);
      asked(cluster);
    });
    await bench.wait(1);
    const { waitingFor } = bench.part(request, 'status');
    const found = [waitingFor, bench.manager.unsynced];
    await bench.end();
    return found;
  };
  const served = (cluster: Bench['cluster'], ...names: readonly string[]): unknown =>
    cluster.put(paths.api, {
      resources: names.map(name => ({ name })),
      metadata: { name: 'v1beta1' },
    });

  test('one that serves no machines, or whose machines nobody may read, says nothing of machines', async () => {
    const machines = `${paths.api}/machines`;
    const scenes: readonly (readonly [
      (furniture: Furniture, cluster: Bench['cluster']) => void,
      unknown,
    ])[] = [
      [furnished, 'EventPending'],
      [(_, cluster) => served(cluster, 'machinesets'), 'NoMachineApi'],
      [
        (furniture, cluster) => {
          furniture.machine('m1');
          served(cluster, 'machines');
        },
        'EventPending',
      ],
      [
        (furniture, cluster) => {
          furnished(furniture);
          cluster.withheld.add(machines);
        },
        'NoMachineApi',
      ],
      [
        (furniture, cluster) => {
          furnished(furniture);
          cluster.missing.add(machines);
        },
        'NoMachineApi',
      ],
    ];
    for (const [fill, reason] of scenes) assert.deepEqual(await reasonWith(fill), [reason, []]);
  });

  test('nothing is done while nobody may read what is to be done', async () => {
    const path = '/apis/machinemaintenance.managed.openshift.io/v1alpha1/machinemaintenances';
    const bench = machineBench((furniture, cluster) => {
      furnished(furniture);
      cluster.withheld.add(path);
    });
    await bench.wait(1);
    assert.deepEqual(bench.manager.unsynced, [
      'machinemaintenances.machinemaintenance.managed.openshift.io',
    ]);
    await bench.end();
  });

  test('why they are not known is in the log, and what nobody has looked at yet is pending', async () => {
    const responses = ({ method, path }: { readonly method: string; readonly path: string }) =>
      method === 'GET' && path === paths.api ? response(503, { message: 'busy' }) : undefined;
    const bench = machineBench((_, cluster) => asked(cluster), { responses });
    await bench.wait(1);
    const [line] = bench.log.lines.filter(({ message }) =>
      message.startsWith('failed to discover the machine APIs'),
    );
    assert.equal(
      line?.fields['error'],
      'failed to discover what machine.openshift.io/v1beta1 serves: busy',
    );
    assert.deepEqual(bench.manager.states(), [['MachineMaintenance', 'Pending']]);
    await bench.end();
  });
});

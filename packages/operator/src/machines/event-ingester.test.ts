import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { machineAdapter } from '@drydock/apis';
import type { Write } from '@drydock/core';
import type { AnnouncedTarget, Machine, MachineRequest } from '@drydock/core/machine';
import type { Node } from '@drydock/core/node';
import { at, makeEvent, makeMachine, makeMachineRequest, makeNode } from '@drydock/core/testing';
import type { Clock } from '@drydock/utils';
import { PanicHandler } from '@drydock/utils';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { NodeCache } from '../cache/node-cache.ts';
import { FakeLog, ScriptedApi } from '../testing/fakes.ts';
import type { WriteOutcome, Writer } from '../write/writer.ts';
import { EventIngester } from './event-ingester.ts';
import { MachineCache } from './machine-cache.ts';

type Known = {
  readonly machines?: readonly Machine[];
  readonly nodes?: readonly Node[];
  readonly requests?: readonly MachineRequest[];
};

/**
 * An intake that knows these objects, whose writes are answered one after the other; the last
 * answer counts for all that follow.
 */
function bench(
  { machines = [], nodes = [], requests = [] }: Known,
  responses: readonly WriteOutcome[] = [{ result: 'stored' }],
) {
  const writes: Write[] = [];
  const about: string[] = [];
  const pauses: number[] = [];
  const writer = {
    write: (write: Write, name: string): Promise<WriteOutcome> => {
      about.push(name);
      return Promise.resolve(responses[writes.push(write) - 1] ?? responses.at(-1)!);
    },
  } as unknown as Writer;
  const clock = {
    now: () => at(0),
    sleep: (ms: number) => Promise.resolve(void pauses.push(ms)),
  } as unknown as Clock;
  const log = new FakeLog();
  const unused = {
    api: new ScriptedApi(),
    watcher: {} as never,
    namespaces: {} as never,
    changes: {} as never,
    log,
    defects: new PanicHandler({ log }),
  };
  const machineCache = new MachineCache({ ...unused, clock, adapter: machineAdapter });
  for (const machine of machines) machineCache.machines.observe(machine);
  for (const request of requests) machineCache.requests.observe(request);
  const cache = { nodes: new NodeCache() };
  for (const node of nodes) cache.nodes.observe(node);
  const options = {
    machines: machineCache,
    cache: cache as unknown as ClusterCache,
    writer,
    adapter: machineAdapter,
    clock,
  };
  return {
    ingester: new EventIngester({ ...options, namespace: 'drydock-system' }),
    writes,
    about,
    pauses,
  };
}

const own = makeMachine({ providerId: 'aws:///a/i-1' });
const { nodeName: _none, ...nodeless } = own;
const node = makeNode({ providerId: 'aws:///a/i-n' });

describe('whom an announcement is about', () => {
  const target = (known: Known, by: (ingester: EventIngester) => AnnouncedTarget | undefined) =>
    by(bench(known).ingester);

  const of = makeNode({ providerId: 'aws:///a/i-1' });
  const alien = makeMachine({
    key: 'capi/customer/db-1',
    namespace: 'customer',
    name: 'db-1',
    uid: 'db',
    providerId: 'vsphere://4230',
  });

  test('what the cloud calls a machine: the machine, else the node, else nobody', () => {
    const found = (known: Known, instance: string) =>
      target(known, ingester => ingester.targetOf(instance));
    assert.deepEqual(found({ machines: [own], nodes: [of] }, 'i-1'), {
      name: 'm1',
      instance: 'i-1',
      machine: own,
      nodeName: 'n1',
    });
    assert.deepEqual(found({ machines: [nodeless] }, 'i-1'), {
      name: 'm1',
      instance: 'i-1',
      machine: nodeless,
    });
    assert.deepEqual(
      found({ machines: [own] }, 'i-1'),
      { name: 'm1', instance: 'i-1', machine: own, nodeName: 'n1' },
      'a node elsewhere',
    );
    assert.deepEqual(found({ nodes: [node] }, 'i-n'), {
      name: 'n1',
      instance: 'i-n',
      nodeName: 'n1',
    });
    assert.equal(found({ nodes: [node] }, 'i-9'), undefined);
    assert.deepEqual(
      found({ machines: [own], nodes: [node] }, 'i-1'),
      { name: 'm1', instance: 'i-1', machine: own },
      'another node has its name',
    );
  });

  test('several that are called so: none, whichever comes first', () => {
    const twin = makeMachine({
      key: 'capi/tenant/m2',
      namespace: 'tenant',
      name: 'm2',
      uid: 'm2',
      providerId: 'aws:///a/i-1',
    });
    for (const machines of [
      [own, twin],
      [twin, own],
    ]) {
      assert.equal(
        target({ machines }, ingester => ingester.targetOf('i-1')),
        undefined,
      );
      assert.deepEqual(
        target({ machines, nodes: [of] }, ingester => ingester.targetOf('i-1')),
        { name: 'n1', instance: 'i-1', nodeName: 'n1' },
      );
    }
    const second = makeNode({ key: 'n2', name: 'n2', uid: 'n2', providerId: 'aws:///a/i-1' });
    assert.equal(
      target({ nodes: [of, second] }, ingester => ingester.targetOf('i-1')),
      undefined,
    );
  });

  test('a node: the Machine of its providerID, never one that only names it', () => {
    const found = (known: Known) => {
      const { name, instance } = target(known, ingester => ingester.targetOfNode('n1')) ?? {};
      return [name, instance];
    };
    assert.deepEqual(found({ machines: [own, alien], nodes: [of] }), ['m1', 'i-1']);
    assert.deepEqual(found({ machines: [alien, own], nodes: [of] }), ['m1', 'i-1']);
    assert.deepEqual(found({ machines: [alien], nodes: [of] }), ['n1', 'i-1']);
    assert.deepEqual(
      found({ machines: [makeMachine()], nodes: [node] }),
      ['n1', 'i-n'],
      'no providerID on the Machine',
    );
    assert.deepEqual(
      found({ machines: [own], nodes: [makeNode()] }),
      ['n1', 'n1'],
      'no providerID on the node',
    );
    assert.equal(
      target({ nodes: [makeNode({ key: 'n2', name: 'n2' })] }, ingester =>
        ingester.targetOfNode('n1'),
      ),
      undefined,
    );
  });

  test('a Machine by its name, under that name where the cloud has none for it', () => {
    const bare = makeMachine();
    const found = (known: Known) => target(known, ingester => ingester.targetNamed('m1'));
    assert.deepEqual(found({ machines: [bare] }), {
      name: 'm1',
      instance: 'm1',
      machine: bare,
      nodeName: 'n1',
    });
    assert.deepEqual(found({ machines: [nodeless] }), {
      name: 'm1',
      instance: 'i-1',
      machine: nodeless,
    });
    assert.deepEqual(
      found({ machines: [bare], nodes: [node] }),
      { name: 'm1', instance: 'm1', machine: bare },
      'that node is another machine',
    );
  });
});

describe('what is taken in', () => {
  const about: AnnouncedTarget = { name: 'm1', instance: 'i-1', machine: own, nodeName: 'n1' };
  const look = (target = about, events = [makeEvent()]) => ({
    target,
    events,
    source: 'aws',
    complete: true,
  });

  test('a machine of which one thing is pending gets an object, one of which all is over does not', async () => {
    const over = makeEvent({ id: 'e0', state: 'Completed' });
    const both = bench({});
    assert.equal(await both.ingester.take(look(about, [over, makeEvent()])), undefined);
    assert.deepEqual(
      both.writes.map(({ method }) => method),
      ['POST'],
    );
    const ended = bench({});
    assert.equal(await ended.ingester.take(look(about, [over])), undefined);
    assert.deepEqual(ended.writes, []);
  });

  /** What there is already, whom the announcement is about, and what becomes of it. */
  const { machineNamespace: _unsaid, ...unnamed } = makeMachineRequest({
    instance: '',
    events: [],
  });
  const bareNode: AnnouncedTarget = { name: 'm1', instance: 'i-1', nodeName: 'm1' };
  const objects: readonly (readonly [string, MachineRequest, AnnouncedTarget, string])[] = [
    ['the same instance', makeMachineRequest({ events: [] }), about, 'PATCH'],
    [
      'a machine of that namespace, whose instance was not known',
      { ...unnamed, machineNamespace: 'machines' },
      about,
      'PATCH',
    ],
    ['a machine of another namespace', { ...unnamed, machineNamespace: 'others' }, about, 'POST'],
    [
      'another instance of that name',
      { ...unnamed, machineNamespace: 'machines', instance: 'i-9' },
      about,
      'POST',
    ],
    ['nobody knows which machine, and a node is meant', unnamed, bareNode, 'POST'],
    [
      'the same instance, and being deleted',
      makeMachineRequest({ events: [], deleting: true }),
      about,
      '',
    ],
  ];

  for (const [what, request, target, method] of objects) {
    test(`where there is an object for ${what}: ${method === 'POST' ? 'a new one' : method === 'PATCH' ? 'it is noted there' : 'nothing'}`, async () => {
      const { ingester, writes } = bench({ requests: [request] });
      assert.equal(await ingester.take(look(target)), undefined);
      assert.equal(writes.map(write => write.method).join(), method);
    });
  }

  test('on an object that was there before anything was announced it is noted that it does not end with the announcement', async () => {
    const noted = async (request: MachineRequest): Promise<unknown> => {
      const { ingester, writes } = bench({ requests: [request] });
      await ingester.take(look(about));
      const { annotations } = (writes[0]?.body['metadata'] ?? {}) as {
        readonly annotations?: unknown;
      };
      return annotations;
    };
    assert.deepEqual(await noted(makeMachineRequest({ events: [] })), {
      'drydock.dev/independent-of-events': 'true',
    });
    assert.equal(await noted(makeMachineRequest({ events: [makeEvent({ id: 'e0' })] })), undefined);
  });

  test('the object of a machine whose name is taken has its namespace in its name, that of a node says so', async () => {
    const taken = makeMachineRequest({ instance: 'i-9' });
    const nameFor = async (target: AnnouncedTarget): Promise<unknown> => {
      const { ingester, writes } = bench({ requests: [taken] });
      await ingester.take(look(target));
      const { name } = (writes[0]?.body['metadata'] ?? {}) as { readonly name?: string };
      return name;
    };
    assert.deepEqual(
      [await nameFor(about), await nameFor(bareNode)],
      ['mm-machines-m1', 'mm-node-m1'],
    );
  });

  test('of what was known and what is new, only the news is told, by its code or else its kind', async () => {
    const [old, moved] = [
      makeEvent({ id: 'old' }),
      makeEvent({ id: 'moved', code: 'instance-stop' }),
    ];
    const request = makeMachineRequest({ events: [old, moved] });
    const { ingester, writes } = bench({ requests: [request] });
    const { deadline: _none, ...fresh } = makeEvent({ id: 'fresh', kind: 'freeze' });
    await ingester.take(look(about, [old, { ...moved, deadline: at(60) }, fresh]));
    assert.deepEqual(
      writes.flatMap(({ events: announce }) => announce.map(({ message }) => message)).toSorted(),
      [
        'aws says: freeze scheduled',
        'aws says: instance-stop scheduled, deadline 2026-11-21T08:01:00Z',
      ],
    );
  });

  test('whoever is stopped waits for no other try, and begins none', async () => {
    const { ingester, writes, pauses } = bench({}, [{ result: 'conflict' }]);
    const stop = new AbortController();
    const taken = ingester.take(look(), stop.signal);
    stop.abort();
    assert.equal(await taken, 'another writer keeps changing the object');
    assert.ok(
      writes.length <= 2 && pauses.length <= 1,
      `${writes.length} writes, ${pauses.length} pauses`,
    );
    assert.equal(await ingester.take(look(), stop.signal), 'the operator is stopping');
  });

  test('a race is run six times with ever longer pauses between, and what was said last is the answer', async () => {
    const later = { until: at(9) };
    const ends: readonly (readonly [WriteOutcome, string])[] = [
      [{ result: 'conflict' }, 'another writer keeps changing the object'],
      [{ result: 'postponed', ...later }, 'the API server refused the last write'],
      [{ result: 'refused', message: 'no', ...later }, 'no'],
    ];
    for (const [response, problem] of ends) {
      const { ingester, writes, pauses, about: names } = bench({}, [response]);
      assert.equal(await ingester.take(look()), problem);
      assert.deepEqual([writes.length, pauses, names[0]], [6, [100, 200, 400, 800, 1600], 'n1']);
    }
    const won = bench({}, [{ result: 'conflict' }, { result: 'stored' }]);
    assert.equal(
      await won.ingester.take(look({ name: 'm1', instance: 'i-1', machine: nodeless })),
      undefined,
    );
    assert.deepEqual([won.pauses, won.about], [[100], ['m1', 'm1']]);
  });
});

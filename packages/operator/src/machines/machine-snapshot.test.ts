import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { timeText } from '@drydock/apimachinery';
import { machineAdapter } from '@drydock/apis';
import type {
  EventSource,
  Machine,
  MachineRequest,
  MachineSet,
  Notice,
} from '@drydock/core/machine';
import type { Node } from '@drydock/core/node';
import {
  at,
  isReady,
  makeChild,
  makeEvent,
  makeMachine,
  makeMachineRequest,
  makeNode,
  makeNotice,
  makeSet,
} from '@drydock/core/testing';
import { Cache } from '../cache/cache.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { NodeCache } from '../cache/node-cache.ts';
import { snapshotOf } from './gather.ts';
import { type MachineCache, MachineStore } from './machine-cache.ts';

type Known = {
  readonly machines?: readonly Machine[];
  readonly sets?: readonly MachineSet[];
  readonly nodes?: readonly Node[];
  readonly requests?: readonly MachineRequest[];
  readonly notices?: readonly Notice[];
  readonly sources?: readonly EventSource[];
  readonly children?: readonly ReturnType<typeof makeChild>[];
  readonly operatorNode?: string;
};

function cacheOf<
  T extends { readonly key: string; readonly uid: string; readonly resourceVersion: string },
>(objects: readonly T[], group = (_: T): string => ''): Cache<T> {
  const cache = new Cache<T>(group);
  for (const object of objects) cache.apply({ type: 'added', object });
  return cache;
}

function filled<
  C extends Cache<T>,
  T extends { readonly key: string; readonly uid: string; readonly resourceVersion: string },
>(cache: C, objects: readonly T[]): C {
  for (const object of objects) cache.apply({ type: 'added', object });
  return cache;
}

/** The node whose machine the cloud calls `i-NUMBER`. */
function nodeNumber(number: number, over: Partial<Node> = {}): Node {
  return makeNode({
    key: `n${number}`,
    name: `n${number}`,
    uid: `n${number}`,
    providerId: `aws:///a/i-${number}`,
    ...over,
  });
}

/** m1 of the workers has the node n1. */
function pictured(request: MachineRequest, known: Known = {}) {
  const {
    machines = [member('m1')],
    sets = [workers],
    nodes = [nodeNumber(1, { conditions: [isReady] })],
    requests = [request],
    notices = [],
    sources = [],
    children = [],
    operatorNode,
  } = known;
  const knownWindows = { problemFor: () => undefined };
  const operatorReplicas = {
    ownOn: (nodeName: string) => (nodeName === operatorNode ? 'drydock/one' : undefined),
  };
  const cache = {
    nodes: filled(new NodeCache(), nodes),
    requests: cacheOf(children),
    windows: cacheOf([]),
    knownWindows,
    operatorReplicas,
  } as unknown as ClusterCache;
  const found = {
    machines: filled(new MachineStore(), machines),
    sets: cacheOf(sets),
    requests: cacheOf(requests),
    notices: cacheOf(notices),
    sources: cacheOf(sources),
    hasMachineApi: true,
    clusterOf: () => undefined,
  } as unknown as MachineCache;
  return snapshotOf(request, found, cache, {
    limits: { perSet: 1, perZone: 0, nodes: 1 },
    drainLeadSeconds: 1800,
    drainPolicy: machineAdapter.drainPolicy,
  });
}

const workers = makeSet({ uid: 'workers' });
const owner = { kind: 'MachineSet', name: 'workers', uid: 'workers' };
function member(name: string, over: Partial<Machine> = {}): Machine {
  return makeMachine({
    key: `openshift/machines/${name}`,
    name,
    uid: name,
    owner,
    providerId: 'aws:///a/i-1',
    ...over,
  });
}

test('the pod of the operator is in the picture of its own node alone', () => {
  const on = (operatorNode: string) => pictured(makeMachineRequest(), { operatorNode }).operatorPod;
  assert.deepEqual([on('n1'), on('n2')], ['drydock/one', undefined]);
});

describe('what replaces a machine', () => {
  test('the uppermost of its owners that is known, of three at most', () => {
    const chain = (...names: readonly string[]): readonly MachineSet[] =>
      names.map((name, n) =>
        makeSet({
          key: `openshift/MachineSet/machines/${name}`,
          name,
          uid: name,
          ...(names[n + 1] !== undefined && {
            owner: { kind: 'MachineSet', name: names[n + 1] ?? '', uid: names[n + 1] ?? '' },
          }),
        }),
      );
    const set = (sets: readonly MachineSet[]) =>
      pictured(makeMachineRequest(), { sets }).replacement?.set.name;
    assert.equal(set(chain('workers')), 'workers');
    assert.equal(set(chain('workers', 'b')), 'b');
    assert.equal(set(chain('workers', 'b', 'c', 'd')), 'c');
    assert.equal(set([]), undefined);
    assert.equal(set(chain('others')), undefined);
  });

  test('the one that was noted, for when the machine is gone', () => {
    const request = makeMachineRequest({ history: { set: workers.key } });
    assert.equal(pictured(request, { machines: [] }).replacement?.set.name, 'workers');
    assert.equal('supply' in pictured(makeMachineRequest(), { machines: [] }), false);
  });

  test('its members, those that are Ready, and since when the others are not', () => {
    const node = (number: number, status: string) =>
      nodeNumber(number, {
        conditions: [{ ...isReady, status, lastTransitionTime: timeText(at(-500)) }],
      });
    const machines = [
      member('m1'),
      member('down', { nodeName: 'n2', providerId: 'aws:///a/i-2' }),
      member('going', { deleting: true, phase: 'Failed', providerId: 'aws:///a/i-3' }),
      member('failed', { nodeName: 'n4', phase: 'Failed', providerId: 'aws:///a/i-4' }),
      member('elsewhere', { nodeName: 'far', available: true, providerId: 'aws:///a/i-5' }),
      member('lost', { nodeName: 'far', available: false, providerId: 'aws:///a/i-6' }),
      member('alien', { nodeName: 'n1', available: true, providerId: 'vsphere://4230' }),
      makeMachine({ key: 'other', name: 'other', uid: 'other' }),
    ];
    const { nodeName: _, ...nodeless } = member('new', { providerId: 'aws:///a/i-7' });
    const { replacement } = pictured(makeMachineRequest(), {
      machines: [...machines, nodeless],
      nodes: [node(1, 'True'), node(2, 'False'), node(4, 'False')],
    });
    assert.deepEqual(
      replacement?.members.map(({ name }) => name),
      ['m1', 'down', 'going', 'failed', 'elsewhere', 'lost', 'alien', 'new'],
    );
    assert.equal(replacement?.ready, 2);
    assert.deepEqual(
      replacement.unready.map(({ machine, since }) => [machine.name, since?.toString()]),
      [
        ['down', at(-500).toString()],
        ['failed', at(-500).toString()],
        ['lost', undefined],
        ['alien', undefined],
        ['new', undefined],
      ],
    );
  });

  test('sets with a machine too many for it, but for copies of the record', () => {
    const surges = new Map([['uid-mm', 'x']]);
    const [own, copy, other] = [
      makeSet({ key: 'a', name: 'a', surges }),
      makeSet({
        key: 'b',
        name: 'b',
        surges,
        owner: { kind: 'MachineDeployment', name: 'a', uid: 'a' },
      }),
      makeSet({ key: 'c', name: 'c', surges: new Map([['another', 'x']]) }),
    ];
    assert.deepEqual(
      pictured(makeMachineRequest(), { sets: [own, copy, other] }).surged.map(({ name }) => name),
      ['a'],
    );
  });
});

describe('whose machine, node, notice and Maintenance', () => {
  test('the machine of that name: in the namespace that is said, else the one that the cloud calls so', () => {
    const [one, two] = [
      member('m1', { namespace: 'one', providerId: 'aws:///a/i-1' }),
      member('m1', { key: 'x', uid: 'x', namespace: 'two', providerId: 'aws:///a/i-2' }),
    ];
    const found = (
      machines: readonly Machine[],
      over: Parameters<typeof makeMachineRequest>[0] = {},
    ) => pictured(makeMachineRequest(over), { machines }).machine?.namespace;
    assert.equal(found([one, two], { machineNamespace: 'two', instance: 'i-2' }), 'two');
    assert.equal(
      found([one, two], { machineNamespace: 'two', instance: '' }),
      'two',
      'nothing is said of its identity',
    );
    assert.equal(found([one, two], { instance: 'i-2' }), 'two');
    assert.equal(found([one, two], { instance: 'i-9' }), undefined);
    assert.equal(found([one], { instance: 'i-9' }), undefined, 'another machine has its name');
    assert.equal(found([one], { history: { machineUid: 'm1' } }), 'one');
    assert.equal(
      found([one], { history: { machineUid: 'before' } }),
      undefined,
      'the successor of the one that was begun with',
    );
    assert.equal(found([one], { machineNamespace: 'two' }), undefined);
    assert.equal(found([one], { nodeOnly: true }), undefined);
  });

  test('the node of the identity of the machine; without a machine the one that is said, else noted, unless it has another identity', () => {
    const nodes = [nodeNumber(1), nodeNumber(2), nodeNumber(3, { providerId: 'aws:///a/i-1b' })];
    const node = (
      over: Parameters<typeof makeMachineRequest>[0],
      machines: readonly Machine[] = [member('m1')],
    ) => pictured(makeMachineRequest(over), { nodes, machines }).node?.name;
    assert.equal(node({ nodeName: 'n2' }), 'n1');
    const { nodeName: _, ...nodeless } = member('m1');
    assert.equal(node({}, [nodeless]), 'n1', 'the Machine does not name it yet');
    assert.equal(node({ instance: 'i-2', nodeName: 'n2', history: { nodeName: 'n1' } }, []), 'n2');
    assert.equal(node({ instance: 'i-2', history: { nodeName: 'n2' } }, []), 'n2');
    assert.equal(
      node({ history: { nodeName: 'n3' } }, []),
      undefined,
      'the successor of the node, under its name',
    );
    assert.equal(node({}, []), undefined);
  });

  test('a Machine that names a node of another identity, or the node of another Machine, has none, and it is said why', () => {
    const seen = (
      machines: readonly Machine[],
      nodes: readonly Node[],
      over: Parameters<typeof makeMachineRequest>[0] = {},
    ) => {
      const { node, machine, unidentified } = pictured(makeMachineRequest(over), {
        machines,
        nodes,
      });
      return { node: node?.name, named: machine?.nodeName, unidentified };
    };
    const { providerId: _p, ...anonymous } = member('m1');
    const { providerId: _n, ...plain } = nodeNumber(1);
    const twins = [member('m1'), member('twin', { namespace: 'tenant', key: 'tenant/twin' })];
    assert.deepEqual(seen([member('m1', { nodeName: 'n2' })], [nodeNumber(1), nodeNumber(2)]), {
      node: undefined,
      named: undefined,
      unidentified:
        'Machine machines/m1 has the providerID of node n1, and names node n2 in its status',
    });
    assert.match(
      seen([member('m1')], [nodeNumber(1, { providerId: 'vsphere://4230' })]).unidentified ?? '',
      /has providerID aws.*has vsphere/,
    );
    assert.match(
      seen([anonymous], [nodeNumber(1)]).unidentified ?? '',
      /^Machine machines\/m1 has no spec.providerID/,
    );
    assert.match(
      seen([member('m1')], [plain]).unidentified ?? '',
      /^node n1 has no spec.providerID/,
    );
    assert.match(
      seen([member('m1')], [nodeNumber(1), nodeNumber(9, { providerId: 'aws:///a/i-1' })]).node ??
        '',
      /^n1$/,
    );
    const onNode = { nodeOnly: true, machineName: 'n1', nodeName: 'n1' };
    assert.match(
      seen(twins, [nodeNumber(1)], onNode).unidentified ?? '',
      /^several Machines .* machines\/m1, Machine tenant\/twin$/,
    );
    assert.deepEqual(seen([member('m1', { nodeName: 'far' })], [nodeNumber(2)]), {
      node: undefined,
      named: 'far',
      unidentified: undefined,
    });
  });

  test('the notice of that node, and the Maintenance that is named after it, for this request and its node', () => {
    const key = 'maintenances.drydock.dev//mm-m1-uid-mm';
    const policy = machineAdapter.drainPolicy({ deleteEmptyDirData: true, force: true });
    const child = makeChild('Draining', { key, policy, part: { of: makeMachineRequest().key } });
    const all = pictured(makeMachineRequest(), { notices: [makeNotice()], children: [child] });
    assert.deepEqual(
      [all.notice?.instance, all.child?.name, all.childChanged, all.stranger],
      ['i-1', 'mm-m1-uid-mm', undefined, undefined],
    );
    for (const over of [{ nodeName: 'n9' }, { part: { of: 'tenant/mm-m1' } }]) {
      const strange = pictured(makeMachineRequest(), { children: [{ ...child, ...over }] });
      assert.deepEqual(
        [strange.child, strange.stranger?.name],
        [undefined, 'mm-m1-uid-mm'],
        JSON.stringify(over),
      );
    }
    const own = pictured(makeMachineRequest(), {
      children: [makeChild('Draining', { key, policy })],
    });
    assert.deepEqual(
      [own.child, own.stranger?.name],
      [undefined, 'mm-m1-uid-mm'],
      'one that says of nobody that it is part of him',
    );
    const emptied = { ...policy, podSelector: { matchLabels: { none: 'x' } } };
    assert.equal(
      pictured(makeMachineRequest(), { children: [{ ...child, policy: emptied }] }).childChanged,
      true,
    );
    const hurried = { ...policy, maxGracePeriodSeconds: 5 };
    assert.equal(
      pictured(makeMachineRequest(), { children: [{ ...child, policy: hurried }] }).childChanged,
      undefined,
      'its deadline adds that',
    );
    const none = pictured(makeMachineRequest(), { notices: [makeNotice({ key: 'n9' })] });
    assert.deepEqual(['notice' in none, 'child' in none], [false, false]);
    assert.equal(
      'notice' in pictured(makeMachineRequest(), { machines: [], notices: [makeNotice()] }),
      false,
    );
  });
});

test('what presses: what an agent says, and what a cloud says that is asked and heeded', () => {
  const aws = { intervalSeconds: 3600 };
  const source = (name: string, spec: object): EventSource =>
    machineAdapter.readSource({
      metadata: { name, uid: name, resourceVersion: '1', generation: 1 },
      spec,
    });
  const sources = [
    source('asked', { aws }),
    source('calm', { aws, urgency: 'Ignored' }),
    source('nodes', { urgency: 'Heeded' }),
  ];
  const events = [makeEvent({ source: 'agent/aws' }), makeEvent({ id: 'e2', source: 'sender' })];
  assert.deepEqual(
    [...pictured(makeMachineRequest({ events }), { sources }).urgentSources],
    ['agent/aws', 'asked'],
  );
});

describe('what others are doing', () => {
  const other = (over: Parameters<typeof makeMachineRequest>[0], known: Known = {}) => {
    const request = makeMachineRequest({ key: 'x/other', ...over });
    return pictured(makeMachineRequest(), { ...known, requests: [request] }).others[0];
  };
  test('active from the beginning to the end', () => {
    assert.equal(other({})?.active, false);
    assert.equal(other({ history: { startedAt: at(0), phase: 'Draining' } })?.active, true);
    assert.equal(other({ history: { startedAt: at(0), phase: 'Succeeded' } })?.active, false);
  });
  test('whose set, zone and plane it is', () => {
    assert.partialDeepStrictEqual(
      other({}, { machines: [member('m1', { zone: 'a', controlPlane: true })] }),
      {
        set: workers.key,
        zone: 'a',
        controlPlane: true,
      },
    );
    assert.partialDeepStrictEqual(other({ history: { set: 'noted' } }, { machines: [] }), {
      set: 'noted',
      controlPlane: false,
    });
    const stranger = other({}, { machines: [] });
    assert.deepEqual(
      [stranger && 'set' in stranger, stranger && 'zone' in stranger],
      [false, false],
    );
  });
  test('what it is not drained for yet', () => {
    const events = [makeEvent({ id: 'a' }), makeEvent({ id: 'b', state: 'Completed' })];
    assert.deepEqual([...(other({ events })?.undrained ?? [])], ['a']);
    assert.deepEqual(
      [...(other({ events, history: { phase: 'Drained' } })?.undrained ?? ['x'])],
      [],
    );
  });
});

test('how long it takes is the longest of those that went through: to the empty node for Drain, to the end for the others', () => {
  const took = (
    strategy: 'Drain' | 'Replace',
    drained: number,
    completed: number,
    more: object = {},
  ) =>
    makeMachineRequest({
      key: `${strategy}${drained}${completed}`,
      uid: `${completed}`,
      history: {
        strategy,
        startedAt: at(0),
        drainedAt: at(drained),
        completedAt: at(completed),
        phase: 'Succeeded',
        ...more,
      },
    });
  const seen = (...requests: readonly MachineRequest[]) =>
    Object.fromEntries(pictured(makeMachineRequest(), { requests }).seen);
  assert.deepEqual(seen(took('Drain', 10, 100), took('Drain', 30, 50), took('Replace', 1, 200)), {
    Drain: 30,
    Replace: 200,
  });
  assert.deepEqual(seen(took('Replace', 1, 200, { phase: 'Cancelled' })), {});
  assert.deepEqual(
    seen(
      makeMachineRequest({ history: { strategy: 'Replace', startedAt: at(0) } }),
      makeMachineRequest({ history: { strategy: 'Replace', completedAt: at(9) } }),
      makeMachineRequest({ history: { startedAt: at(0), completedAt: at(9) } }),
    ),
    {},
  );
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import type { Node } from '../node/node.ts';
import type { Pod } from '../pod/pod.ts';
import { at, makeNode, makePod, makeSnapshot } from '../testing/make.ts';
import { decide } from './decide.ts';
import type { Self } from './snapshot.ts';
import { type OperatorPod, type OperatorView, stayingOn, successorOf } from './successor.ts';

const home = 'n1';
const key = 'drydock/one';
const ready = { type: 'Ready', status: 'True', reason: '', message: '' };
function node(name: string, over: Partial<Node> = {}): Node {
  return makeNode({ key: name, name, uid: name, conditions: [ready], ...over });
}
function replica(name: string, over: Partial<OperatorPod> = {}): OperatorPod {
  return {
    ...makePod(name, { namespace: 'drydock', nodeName: home }),
    placement: {},
    ...over,
  };
}
function view(over: Partial<OperatorView> = {}): OperatorView {
  return {
    pods: [replica('one')],
    nodes: [node(home, { unschedulable: true }), node('n2')],
    wanted: new Set(),
    ...over,
  };
}

const taint = { key: 'gpu', value: 'yes', effect: 'NoSchedule' };
function picky(placement: JsonObject): readonly OperatorPod[] {
  return [replica('one', { placement })];
}
function required(expression: JsonObject): JsonObject {
  return {
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [expression] }],
        },
      },
    },
  };
}

describe('who does the work of the operator when its pod goes', () => {
  const rows: readonly (readonly [
    what: string,
    known: Partial<OperatorView>,
    kind: string,
    says?: RegExp,
  ])[] = [
    ['another node is free', {}, 'fits'],
    [
      'there is no other node',
      { nodes: [node(home)] },
      'none',
      /^there is no other node; add a node/,
    ],
    [
      'the other is cordoned',
      { nodes: [node('n2', { unschedulable: true })] },
      'none',
      /^n2 is cordoned; kubectl uncordon n2/,
    ],
    [
      'the other is held',
      { nodes: [node('n2', { holdRecord: '{}' })] },
      'none',
      /^n2 is in maintenance .*; .*drydock release n2$/,
    ],
    [
      'the other is to be held',
      { wanted: new Set(['n2']) },
      'none',
      /^n2 is in maintenance or about to be/,
    ],
    [
      'the other is not Ready',
      { nodes: [node('n2', { conditions: [] })] },
      'none',
      /^n2 is not Ready/,
    ],
    [
      'the other is being deleted',
      { nodes: [node('n2', { deleting: true })] },
      'none',
      /^n2 is being deleted/,
    ],
    [
      'the other has a taint',
      { nodes: [node('n2', { taints: [taint] })] },
      'none',
      /^n2 is tainted with what it does not tolerate/,
    ],
    [
      'it tolerates the taint',
      {
        nodes: [node('n2', { taints: [taint] })],
        pods: picky({ tolerations: [{ key: 'gpu', operator: 'Exists' }] }),
      },
      'fits',
    ],
    [
      'the taint only asks',
      { nodes: [node('n2', { taints: [{ ...taint, effect: 'PreferNoSchedule' }] })] },
      'fits',
    ],
    [
      'its node selector picks no other',
      { pods: picky({ nodeSelector: { role: 'a' } }) },
      'none',
      /^n2 is not picked by its node selector/,
    ],
    [
      'its affinity picks no other',
      { pods: picky(required({ key: 'role', operator: 'Exists' })) },
      'none',
      /^n2 is not picked/,
    ],
    [
      'its affinity picks the other',
      { pods: picky(required({ key: 'role', operator: 'DoesNotExist' })) },
      'fits',
    ],
    [
      'one of many is free',
      { nodes: [node('n2', { unschedulable: true }), node('n3', { conditions: [] }), node('n4')] },
      'fits',
    ],
    [
      'each for its own reason',
      {
        nodes: [
          node('n2', { conditions: [] }),
          node('n3', { unschedulable: true }),
          node('n4', { unschedulable: true }),
        ],
      },
      'none',
      /^n2 is not Ready, n3, n4 are cordoned; kubectl uncordon n3$/,
    ],
    [
      'another replica runs on a cordoned node',
      { nodes: [], pods: [replica('one'), replica('two', { nodeName: 'n2' })] },
      'runs',
    ],
    [
      'another replica is not ready',
      { pods: [replica('one'), replica('two', { nodeName: 'n2', ready: false })] },
      'coming',
      /^pod drydock\/two on node n2 is not ready; kubectl -n drydock describe pod two$/,
    ],
    [
      'another replica goes as well',
      {
        nodes: [],
        pods: [replica('one'), replica('two', { nodeName: 'n2', deletionTimestamp: at(9) })],
      },
      'none',
    ],
    [
      'a kubelet has made one up',
      { nodes: [], pods: [replica('one'), replica('two', { nodeName: 'n2', mirror: true })] },
      'none',
    ],
    [
      'another replica has ended',
      { nodes: [], pods: [replica('one'), replica('two', { nodeName: 'n2', phase: 'Failed' })] },
      'none',
    ],
    [
      'another replica is being evicted',
      {
        nodes: [],
        pods: [replica('one'), replica('two', { nodeName: 'n2' })],
        leaving: new Set([replica('two').uid]),
      },
      'none',
    ],
    [
      'another replica on the same node goes first',
      { pods: [replica('one'), replica('two')] },
      'fits',
    ],
    [
      'the scheduler has not looked',
      { pods: [replica('one'), replica('two', { nodeName: '', ready: false })] },
      'coming',
      /has no node yet/,
    ],
    [
      'the scheduler finds nothing',
      {
        pods: [
          replica('one'),
          replica('two', { nodeName: '', ready: false, unschedulable: 'Insufficient cpu' }),
        ],
      },
      'none',
      /^the scheduler has none for pod drydock\/two: Insufficient cpu;/,
    ],
    [
      'its label is missing',
      { pods: [replica('two')] },
      'none',
      /not known, .*; kubectl -n drydock label pod one app.kubernetes.io\/name=drydock$/,
    ],
  ];
  for (const [what, known, kind, says = /^/] of rows)
    test(what, () => {
      const found = successorOf(key, view(known));
      assert.equal(found.kind, kind);
      assert.match('why' in found ? `${found.why}; ${found.remedy}` : '', says);
    });

  test('what may not be read counts as nobody', () => {
    const { pods: _, ...unread } = view();
    const found = successorOf(key, unread);
    assert.match(
      'why' in found ? `${found.kind} ${found.why}` : found.kind,
      /^none that is not known, the pods of namespace drydock may not be read/,
    );
  });
});

describe('the drain of its node', () => {
  const own = replica('one');
  const told = (
    known: Partial<OperatorView>,
    more: Partial<Self> = {},
    pods: readonly Pod[] = [own],
  ) => {
    const self = { pod: key, handedOver: false, ...view(known), ...more };
    const { calls, handOver, writes, evictable } = decide(makeSnapshot({ pods, self }), at(1));
    const write = writes.find(({ reportOf }) => reportOf !== undefined);
    const { phase, blockers } = (write?.body['status'] ?? {}) as {
      readonly phase?: string;
      readonly blockers?: readonly string[];
    };
    return {
      calls: calls.map(({ pod }) => pod.name),
      handOver,
      phase,
      blockers,
      events: write?.events ?? [],
      evictable: evictable.size,
    };
  };
  const stuck = { nodes: [] };

  test('is complete without it while nobody could do its work, whether or not it has handed over', () => {
    for (const handedOver of [false, true]) {
      const { events, ...rest } = told(stuck, { handedOver });
      assert.deepEqual(rest, {
        calls: [],
        handOver: false,
        phase: 'Drained',
        blockers: [],
        evictable: 0,
      });
      assert.deepEqual(
        events.map(({ type, reason }) => [type, reason]),
        [
          ['Normal', 'Succeeded'],
          ['Warning', 'OperatorStays'],
        ],
      );
      assert.match(
        events[1]?.message ?? '',
        /^pod drydock\/one of the operator stays on the node, .*there is no other node.*What helps: add a node/,
      );
    }
  });

  test('takes all others away, its own replicas too', () => {
    const { calls, phase } = told({ ...stuck, pods: [own, replica('two')] }, {}, [
      own,
      replica('two'),
      makePod('web'),
    ]);
    assert.deepEqual([calls, phase], [['two', 'web'], 'Draining']);
  });

  test('waits for a replica that is to run, and says for which', () => {
    const pods = [own, replica('two', { nodeName: 'n2', ready: false })];
    const { phase, blockers, calls } = told({ pods }, { handedOver: true });
    assert.deepEqual([phase, blockers, calls], ['Draining', ['EarlierWave one'], []]);
  });

  test('goes on as soon as somebody can: it hands over, and goes by itself where nobody has taken over', () => {
    const first = told({});
    assert.deepEqual([first.calls, first.handOver, first.phase], [[], true, 'Draining']);
    const late = told({}, { handedOver: true });
    assert.deepEqual([late.calls, late.handOver], [['one'], false]);
  });

  test('leaves a pod that somebody has deleted to its end', () => {
    const going = { ...own, deletionTimestamp: at(30) };
    assert.equal(told({ ...stuck, pods: [going] }, {}, [going]).phase, 'Draining');
  });
});

test('an operator that goes begins with no other node, and says so; what it holds it goes on with', () => {
  const self = {
    pod: 'drydock/one',
    handedOver: true,
    ...view({ pods: [replica('one', { deletionTimestamp: at(30) })] }),
  };
  const free = decide(makeSnapshot({ node: node(home), self, leases: new Map() }), at(1));
  assert.deepEqual(
    free.writes
      .filter(({ reportOf }) => reportOf !== undefined)
      .map(({ body }) => (body['status'] as { readonly problem?: string }).problem),
    ['waits for the next operator: pod drydock/one of this one is being deleted'],
  );
  assert.ok(!free.writes.some(({ path }) => path === `/api/v1/nodes/${home}`));
  assert.deepEqual(
    decide(makeSnapshot({ self, pods: [makePod('web')] }), at(1)).calls.map(({ pod }) => pod.name),
    ['web'],
  );
});

test('before a drain it is said which pod would stay, and nothing where none would', () => {
  assert.match(
    stayingOn(home, view({ nodes: [] })) ?? '',
    /^pod drydock\/one of the operator stays/,
  );
  assert.equal(stayingOn(home, view()), undefined);
  assert.equal(stayingOn('n2', view({ nodes: [] })), undefined);
});

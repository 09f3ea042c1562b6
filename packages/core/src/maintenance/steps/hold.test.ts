import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { InFlightEviction } from '../../drain/budgets/budget.ts';
import type { KindAdapter } from '../../request/request.ts';
import { at, heldNode, makeNode, makeRequest, makeSnapshot } from '../../testing/make.ts';
import { decide } from '../decide.ts';
import { emptyMemo, type NodeSnapshot } from '../snapshot.ts';

const { adapter: plain } = makeRequest('one');
function look(over: Partial<NodeSnapshot> = {}) {
  const write = decide(makeSnapshot(over), at(100)).writes.find(
    ({ cache: store }) => store === 'nodes',
  );
  return { write, what: write?.description, said: write?.events.map(({ reason }) => reason) };
}
function recordOf({ write }: ReturnType<typeof look>): unknown {
  const { annotations } = (write?.body['metadata'] ?? {}) as {
    annotations?: Record<string, string>;
  };
  return JSON.parse(annotations?.['drydock.dev/before'] ?? 'null');
}

test('a node that the operator before us holds was free before; one that others have marked is as they left it', () => {
  const { holdRecord: _, ...unrecorded } = heldNode;
  const marks = {
    'node.kubernetes.io/unschedulable:NoSchedule': null,
    'test/drain:NoSchedule': null,
  };
  const taken = makeRequest('one', { claim: 'takenOver' });
  assert.deepEqual(recordOf(look({ node: unrecorded, requests: [taken] })), {
    unschedulable: false,
    taints: marks,
    labels: {},
    kinds: ['plains.test'],
  });
  const [cordon, mark] = heldNode.taints;
  assert.deepEqual(recordOf(look({ node: unrecorded })), {
    unschedulable: true,
    taints: {
      'node.kubernetes.io/unschedulable:NoSchedule': cordon,
      'test/drain:NoSchedule': mark,
    },
    labels: {},
    kinds: ['plains.test'],
  });
});

describe('kinds that the cluster does not serve at the moment', () => {
  const ofKind = (name: string): KindAdapter => ({
    ...plain,
    name: `${name}.test`,
    marks: () => ({
      unschedulable: true,
      taints: [{ key: `${name}/drain`, effect: 'NoSchedule' }],
      labels: {},
    }),
  });
  const adapters = [ofKind('a'), ofKind('b')];
  const taint = (name: string) => ({ key: `${name}/drain`, effect: 'NoSchedule' });
  /** The node is held by these, and nobody asks for it. */
  const after = (holders: readonly string[], missing: readonly string[]) => {
    const before = {
      unschedulable: false,
      taints: Object.fromEntries(holders.map(name => [`${name}/drain:NoSchedule`, null])),
      labels: {},
      kinds: holders.map(name => `${name}.test`),
    };
    const node = makeNode({
      unschedulable: true,
      taints: holders.map(taint),
      holdRecord: JSON.stringify(before),
    });
    const { write, what } = look({
      node,
      adapters,
      requests: [],
      missingKinds: new Set(missing.map(name => `${name}.test`)),
    });
    return [what, (write?.body['spec'] as { taints?: unknown } | undefined)?.taints];
  };

  test('keep the node that they hold, and put nothing on one that they do not', () => {
    assert.deepEqual(after(['a'], ['a']), [undefined, undefined]);
    assert.deepEqual(after(['a'], ['a', 'b']), [undefined, undefined]);
    assert.deepEqual(after(['a'], ['b']), ['release the node', null]);
  });
  test('do not keep what others had put on it', () =>
    assert.deepEqual(after(['a', 'b'], ['a']), ['hold the node', [taint('a')]]));
});

describe('a node that is released', () => {
  const requests = [makeRequest('one', { deleting: true })];
  const cordonedBefore = {
    ...heldNode,
    holdRecord: heldNode.holdRecord?.replace('"unschedulable":false', '"unschedulable":true') ?? '',
  };
  test('is said to be schedulable, or to stay cordoned as it was; nothing where somebody has uncordoned it', () => {
    assert.deepEqual(look({ requests }).said, ['Uncordoned']);
    assert.deepEqual(look({ requests, node: cordonedBefore }).said, ['NodeReleased']);
    assert.deepEqual(look({ requests, node: { ...heldNode, unschedulable: false } }).said, []);
  });

  test('waits for what has been sent to its own pods, and for nothing else', () => {
    const inFlightEviction: InFlightEviction = {
      uid: 'u',
      podKey: 'shop/a',
      podName: 'a',
      nodeName: 'n1',
      state: 'sent',
      at: at(99),
    };
    const given = (over: Partial<InFlightEviction>) =>
      look({ requests, inFlight: [{ ...inFlightEviction, ...over }] }).what;
    assert.equal(given({}), undefined);
    assert.equal(given({ nodeName: 'n2' }), 'release the node');
    assert.equal(given({ state: 'accepted' }), 'release the node');
    assert.equal(given({ state: 'queued' }), 'release the node');
  });
});

test('a quorum that is lost with the node is told once, when it is held for the first time, for each that holds it', () => {
  const quorum = { members: [{ name: 'n1', ready: true, held: false }], seats: new Set<string>() };
  const said = (over: Partial<NodeSnapshot>) => look({ quorum, node: makeNode(), ...over }).said;
  assert.deepEqual(said({}), ['QuorumAtRisk']);
  assert.deepEqual(
    said({ requests: [makeRequest('one'), makeRequest('two', { claim: 'none' })] }),
    ['QuorumAtRisk'],
  );
  assert.deepEqual(said({ node: { ...heldNode, unschedulable: false } }), ['HoldRestored']);
  const elsewhere = makeRequest('two', {
    adapter: {
      ...plain,
      lease: () => ({ namespace: 'x', name: 'y', holder: 'us', released: 'deleted' }),
    },
  });
  assert.deepEqual(
    said({ requests: [makeRequest('one'), elsewhere] }),
    ['QuorumAtRisk'],
    'the other waits for its lease',
  );
});

describe('marks that somebody removes are put back, and who it was is said as far as that is known', () => {
  const bare = { ...heldNode, unschedulable: false };
  const removed = (
    node: NodeSnapshot['node'],
    restored?: NonNullable<NodeSnapshot['memo']['restored']>,
  ) => {
    const notes = { ...emptyMemo, ...(restored && { restored }) };
    const { writes, notes: after } = decide(
      makeSnapshot({ memo: notes, ...(node && { node }) }),
      at(100),
    );
    return {
      said: writes.flatMap(({ events: announce }) => announce).map(({ message }) => message)[0],
      after: after.restored,
    };
  };
  test('one that wrote to the spec just now, and no other', () => {
    assert.match(
      removed({ ...bare, specWriter: { name: 'autoscaler', at: at(99) } }).said ?? '',
      /\(autoscaler wrote to it last\); restored/,
    );
    for (const node of [bare, { ...bare, specWriter: { name: 'cloud', at: at(0) } }])
      assert.doesNotMatch(removed(node).said ?? '', /wrote to it last/);
  });
  test('how often is counted for ten minutes after the last time', () => {
    const first = removed({ ...bare, specWriter: { name: 'autoscaler', at: at(99) } }).after;
    assert.deepEqual(first, { count: 1, since: at(100), lastAt: at(100), by: 'autoscaler' });
    const earlier = { count: 4, since: at(-50), lastAt: at(90), by: 'autoscaler' };
    assert.deepEqual(removed(bare, earlier).after, {
      count: 5,
      since: at(-50),
      lastAt: at(100),
      by: 'autoscaler',
    });
    assert.deepEqual(
      removed(heldNode, earlier).after,
      earlier,
      'and stays while nothing is removed',
    );
    assert.equal(removed(heldNode, { ...earlier, lastAt: at(-500) }).after, undefined);
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Budget } from '../drain/budgets/budget.ts';
import { seedPolicy } from '../drain/policy.ts';
import type { Member } from '../quorum/quorum.ts';
import { type MaintenanceRequest, noHistory } from '../request/request.ts';
import {
  at,
  heldNode,
  makeBudget,
  makeNode,
  makePod,
  makeRequest,
  makeSnapshot,
  ourLease,
} from '../testing/make.ts';
import { decide } from './decide.ts';
import type { Decision } from './decision.ts';
import { emptyMemo, type NodeSnapshot, type Quorum } from './snapshot.ts';

const now = at(100);
function whats(decision: Decision): readonly string[] {
  return decision.writes.map(({ description: what }) => what);
}
function evicted(decision: Decision): readonly string[] {
  return decision.calls.map(({ pod }) => pod.name);
}
function run(over: Partial<NodeSnapshot> = {}): Decision {
  return decide(makeSnapshot(over), now);
}
const noLeases: NodeSnapshot['leases'] = new Map();
const foreign: NodeSnapshot['leases'] = new Map([
  [ourLease.key, { ...ourLease, holder: 'miau', renewTime: at(99) }],
]);

test('a new request is claimed first, and nothing else', () => {
  const decision = run({
    node: makeNode(),
    leases: noLeases,
    requests: [makeRequest('one', { claim: 'none', finalizers: [] })],
    pods: [makePod('a')],
  });
  assert.deepEqual(whats(decision), ['claim']);
  assert.deepEqual(decision.calls, []);
  assert.equal(decision.watchPods, true, 'the pods are read meanwhile');
});

test('a claimed one asks for the lease, then holds, then drains', () => {
  const pods = [makePod('a')];
  assert.deepEqual(whats(run({ node: makeNode(), leases: noLeases, pods })), [
    'create the node lease',
  ]);
  assert.deepEqual(whats(run({ node: makeNode(), pods })), ['hold the node']);
  assert.deepEqual(evicted(run({ node: makeNode(), pods })), []);
  assert.deepEqual(evicted(run({ pods })), ['a']);
});

test('a drained node is reported as such and stays on guard', () => {
  const decision = run();
  assert.deepEqual(whats(decision), ['report on the node', 'report Drained']);
  assert.deepEqual(
    decision.writes.flatMap(({ events: announce }) => announce.map(({ reason }) => reason)),
    ['Succeeded'],
  );
  assert.deepEqual(evicted(run({ pods: [makePod('late')] })), ['late']);
});

test('a deleted Maintenance of a plan keeps its node held until the work of the plan has ended, unless somebody says otherwise', () => {
  const drained = { ...noHistory, state: 'Drained' } as const;
  const child = (over: Partial<MaintenanceRequest> = {}) =>
    makeRequest('one', { deleting: true, plan: 'kernel', history: drained, ...over });
  const atWork = { namespace: 'drydock-plans', plans: new Set(['kernel']) };
  const opens = (over: Partial<NodeSnapshot>): boolean =>
    whats(run({ pods: [makePod('late')], ...over })).some(
      what => what === 'release the node' || what === 'let go',
    );
  const waiting = run({ requests: [child()], planWork: atWork, pods: [makePod('late')] });
  assert.deepEqual(
    [evicted(waiting), opens({ requests: [child()], planWork: atWork })],
    [[], false],
  );
  const said = JSON.stringify(waiting.writes.map(({ body }) => body));
  assert.match(said, /"phase":"Drained"/, 'its node is as empty as it was');
  assert.match(said, /"blockers":\["WorkOfPlan "\]/);
  assert.match(
    said,
    /released when the work of MaintenancePlan kernel on the node has ended; to release it at once: kubectl annotate maintenances/,
  );
  assert.equal(
    opens({ requests: [child()], planWork: { ...atWork, plans: undefined } }),
    false,
    'plans that are not known may be at work',
  );
  const held = run({
    requests: [child()],
    planWork: atWork,
    node: { ...heldNode, unschedulable: false },
  });
  assert.deepEqual(whats(held), ['restore the hold', 'report Drained'], 'its hold is kept up');
  assert.equal(opens({ requests: [child()], planWork: { ...atWork, plans: new Set() } }), true);
  assert.equal(opens({ requests: [child({ releasesDuringWork: true })], planWork: atWork }), true);
  assert.equal(
    opens({ requests: [makeRequest('one', { deleting: true })], planWork: atWork }),
    true,
    'not of that plan',
  );
  assert.equal(opens({ requests: [child({ plan: 'other' })], planWork: atWork }), true);
  assert.equal(opens({ requests: [child()] }), true, 'nobody asks for plans here');
});

test('unknown pods are not no pods', () => {
  const { pods: _pods, ...snapshot } = makeSnapshot();
  const decision = decide(snapshot, now);
  assert.deepEqual(decision.writes, []);
});

test('a node is not called empty by a list that may be older than the hold', () => {
  const decision = run({ podsConfirmed: false });
  assert.deepEqual(decision.writes, []);
  assert.equal(decision.confirmPods, true);
  assert.deepEqual(
    evicted(run({ podsConfirmed: false, pods: [makePod('a')] })),
    ['a'],
    'what is known to be there may go meanwhile',
  );
  assert.equal(
    run({ node: makeNode(), podsConfirmed: false }).confirmPods,
    false,
    'nor is it asked for before the hold',
  );
});

test('an uncordon by hand is put right at once, before anything else is evicted', () => {
  const decision = run({ node: { ...heldNode, unschedulable: false }, pods: [makePod('a')] });
  assert.deepEqual(whats(decision), ['restore the hold']);
  assert.deepEqual(
    decision.writes[0]?.events.map(({ reason }) => reason),
    ['HoldRestored'],
  );
  assert.deepEqual(decision.calls, []);
});

test('two requests on one node: one hold, released with the last', () => {
  const leaving = makeRequest('one', { deleting: true });
  const both = run({ requests: [leaving, makeRequest('two')], pods: [makePod('a')] });
  assert.deepEqual(
    whats(both).filter(what => what === 'let go'),
    ['let go'],
  );
  assert.deepEqual(evicted(both), ['a'], 'the other goes on');
  assert.deepEqual(whats(run({ requests: [leaving] })), ['release the node']);
});

test('on the way out: marks, then lease and conditions, then the finalizer', () => {
  const leaving = [makeRequest('one', { deleting: true })];
  const conditions = [
    { type: 'Drained', status: 'True', reason: 'DrydockDrainCompleted', message: '' },
  ];
  assert.deepEqual(whats(run({ requests: leaving })), ['release the node']);
  assert.deepEqual(whats(run({ requests: leaving, node: makeNode({ conditions }) })), [
    'report on the node',
    'release the node lease',
  ]);
  assert.deepEqual(whats(run({ requests: leaving, node: makeNode(), leases: noLeases })), [
    'let go',
  ]);
});

test('a lease in other hands is not deleted on the way out', () => {
  assert.deepEqual(
    whats(
      run({
        requests: [makeRequest('one', { deleting: true })],
        node: makeNode(),
        leases: foreign,
      }),
    ),
    ['let go'],
  );
});

test('evictions that are sent are waited for before the node is released', () => {
  const inFlightEviction = {
    uid: 'u',
    podKey: 'shop/a',
    podName: 'a',
    nodeName: 'n1',
    state: 'sent',
    at: at(99),
  } as const;
  const decision = run({
    requests: [makeRequest('one', { deleting: true })],
    inFlight: [inFlightEviction],
  });
  assert.deepEqual(decision.writes, []);
  assert.ok(decision.requeueAt !== undefined);
});

test('an object that is being deleted and does not carry our finalizer is left alone', () => {
  assert.deepEqual(
    run({
      requests: [makeRequest('one', { deleting: true, finalizers: ['x/y'] })],
      node: makeNode(),
      leases: noLeases,
    }).writes,
    [],
  );
});

test('a node that is held and asked for by nobody is released', () => {
  assert.deepEqual(whats(run({ requests: [] })), ['release the node']);
});

test('a hold of a kind that the cluster does not serve at the moment stays', () => {
  assert.deepEqual(run({ requests: [], missingKinds: new Set(['plains.test']) }).writes, []);
});

test('what another operator has released is not released once more: only the record goes', () => {
  const node = makeNode({
    unschedulable: true,
    taints: [{ key: 'x', effect: 'NoExecute' }],
    holdRecord: heldNode.holdRecord ?? '',
  });
  const [write, ...others] = run({ node, requests: [], leases: noLeases }).writes;
  assert.deepEqual(others, []);
  assert.deepEqual(write?.body, {
    metadata: { resourceVersion: '5', annotations: { 'drydock.dev/before': null } },
  });
});

test('a hold whose request has vanished is released', () => {
  const [write] = run({ requests: [], leases: noLeases }).writes;
  assert.equal(write?.description, 'release the node');
  assert.deepEqual(write?.body['spec'], { unschedulable: null, taints: null });
});

const { adapter: plain } = makeRequest('one');
const { finalizer: _finalizer, ...withoutFinalizer } = plain;

test('a kind without a finalizer is claimed by its mark alone, and let go without a write', () => {
  const request = makeRequest('one', { adapter: withoutFinalizer, claim: 'none', finalizers: [] });
  const [claim] = run({ node: makeNode(), leases: noLeases, requests: [request] }).writes;
  assert.deepEqual(claim?.body, {
    metadata: { resourceVersion: '30', annotations: { 'drydock.dev/claim': 'taken-over' } },
  });
  const claimed = { ...request, claim: 'takenOver' as const };
  assert.deepEqual(whats(run({ node: makeNode(), requests: [claimed] })), ['hold the node']);
  const deleting = run({ requests: [{ ...claimed, deleting: true }] });
  assert.deepEqual(whats(deleting), ['release the node']);
});

test('a kind without leases holds without one', () => {
  const request = makeRequest('one', { adapter: { ...plain, lease: () => undefined } });
  assert.deepEqual(whats(run({ node: makeNode(), leases: foreign, requests: [request] })), [
    'hold the node',
  ]);
  assert.deepEqual(evicted(run({ leases: foreign, requests: [request], pods: [makePod('a')] })), [
    'a',
  ]);
});

test('a lease that is left behind is emptied once, and never that of somebody else', () => {
  const leaving = makeRequest('one', {
    deleting: true,
    adapter: {
      ...plain,
      lease: () => ({ namespace: 'leases', name: 'node-n1', holder: 'us', released: 'blanked' }),
    },
  });
  const over = { node: makeNode(), requests: [leaving] };
  const [write] = run(over).writes;
  assert.deepEqual(write?.body, {
    metadata: { resourceVersion: '40' },
    spec: {
      leaseDurationSeconds: null,
      acquireTime: null,
      renewTime: null,
      leaseTransitions: null,
    },
  });
  const { key, uid, resourceVersion } = ourLease;
  const blank = new Map([[key, { key, uid, resourceVersion, holder: 'us' }]]);
  assert.deepEqual(whats(run({ ...over, leases: blank })), ['let go']);
  assert.deepEqual(whats(run({ ...over, leases: foreign })), ['let go']);
});

function member(name: string, held = false): Member {
  return { name, ready: true, held };
}
function quorumOf(members: readonly Member[], seats: readonly string[] = []): Quorum {
  return { members, seats: new Set(seats) };
}

test('a node that the quorum needs is neither asked for nor held, and the status says why', () => {
  const three = quorumOf([member('n1'), member('n2', true), member('n3')]);
  const waiting = run({ node: makeNode(), leases: noLeases, quorum: three, pods: [makePod('a')] });
  assert.deepEqual(whats(waiting), ['report on the node', 'report Pending']);
  assert.match(
    JSON.stringify(waiting.writes.at(-1)?.body),
    /will violate etcd quorum.*drydock.dev\/allow-quorum-loss/,
  );
  assert.ok(waiting.requeueAt !== undefined);
  assert.deepEqual(evicted(waiting), []);
  const free = quorumOf([member('n1'), member('n2'), member('n3')]);
  assert.deepEqual(whats(run({ node: makeNode(), leases: noLeases, quorum: free })), [
    'create the node lease',
  ]);
});

test('who is about to be held counts as out, and a node that is held already stays', () => {
  const seated = quorumOf([member('n1'), member('n2'), member('n3')], ['n2']);
  const pods = [makePod('a')];
  assert.deepEqual(whats(run({ node: makeNode(), quorum: seated, pods })), [
    'release the node lease',
    'report on the node',
    'report Pending',
  ]);
  assert.deepEqual(evicted(run({ quorum: seated, pods })), ['a']);
  const free = quorumOf([member('n1'), member('n2'), member('n3')]);
  const going = run({ node: makeNode(), quorum: free });
  assert.deepEqual([whats(going), going.notes.seat], [['hold the node'], true]);
  assert.equal(run({ quorum: free }).notes.seat, false, 'the hold itself says so now');
});

test('the quorum is waived by the one who asks, and asks nothing of an announcement', () => {
  const one = quorumOf([member('n1')]);
  const over = { node: makeNode(), leases: noLeases, quorum: one };
  assert.deepEqual(
    whats(run({ ...over, requests: [makeRequest('one', { mayLoseQuorum: true })] })),
    ['create the node lease'],
  );
  assert.deepEqual(whats(run({ ...over, requests: [makeRequest('one', { level: 'Announce' })] })), [
    'report on the node',
    'report Announced',
  ]);
});

test('what the operator before us has taken out is taken over, whatever the quorum says', () => {
  const { holdRecord: _before, ...unrecorded } = heldNode;
  const decision = run({
    node: unrecorded,
    quorum: quorumOf([member('n1')]),
    requests: [makeRequest('one', { claim: 'takenOver' })],
  });
  assert.deepEqual(whats(decision), ['hold the node']);
});

test('what is taken over stays held while its lease is renewed, made anew or in other hands', () => {
  const { holdRecord: _before, ...unrecorded } = heldNode;
  const requests = [makeRequest('one', { claim: 'takenOver' })];
  const due = new Map([[ourLease.key, { ...ourLease, renewTime: at(-3000) }]]);
  for (const leases of [due, noLeases, foreign]) {
    const { writes } = run({ node: unrecorded, requests, leases });
    for (const { description: what } of writes) assert.notEqual(what, 'release the node');
    assert.ok(
      writes.some(({ description: what }) => what === 'hold the node'),
      'its record is written meanwhile',
    );
  }
});

test("on OpenShift the budget of etcd's operator decides first", () => {
  const members = [member('n1'), member('n2'), member('n3')];
  const guard = makeBudget('etcd-guard-pdb', {
    namespace: 'openshift-etcd',
    disruptionsAllowed: 0,
    selector: { matchLabels: { app: 'guard' } },
  });
  const pod = makePod('guard', { namespace: 'openshift-etcd', labels: { app: 'guard' } });
  const over = { node: makeNode(), leases: noLeases };
  const quorum = (etcdBudgets: readonly Budget[]): Quorum => ({
    members,
    seats: new Set(),
    etcdBudgets,
  });
  const denied = run({ ...over, quorum: quorum([guard]), pods: [pod] });
  assert.match(
    JSON.stringify(denied.writes.at(-1)?.body),
    /disrupting node n1 will violate etcd quorum"/,
  );
  assert.deepEqual(
    whats(run({ ...over, quorum: quorum([guard]), pods: [{ ...pod, ready: false }] })),
    ['create the node lease'],
  );
  assert.deepEqual(
    whats(run({ ...over, quorum: quorum([{ ...guard, disruptionsAllowed: 1 }]), pods: [pod] })),
    ['create the node lease'],
  );
  assert.deepEqual(whats(run({ ...over, quorum: quorum([]), pods: [] })), [
    'report on the node',
    'report Pending',
  ]);
  const { pods: _pods, ...unknown } = makeSnapshot({ ...over, quorum: quorum([guard]) });
  assert.deepEqual(
    decide(unknown, now).writes,
    [],
    'as long as the pods are not known, nothing is done',
  );
});

test('a missing node fails the request, and holds nobody who wants to go', () => {
  const { node: _node, ...snapshot } = makeSnapshot({ leases: noLeases });
  const decision = decide(snapshot, now);
  assert.deepEqual(
    decision.writes.map(({ body }) => body['status']),
    [{ phase: 'Failed', problem: 'nodes "n1" not found', blockers: [] }],
  );
  const leaving = decide({ ...snapshot, requests: [makeRequest('one', { deleting: true })] }, now);
  assert.deepEqual(whats(leaving), ['let go']);
});

test('one that is part of something greater has nothing to say of a node that is gone', () => {
  const { node: _node, ...snapshot } = makeSnapshot({ leases: noLeases });
  const parts = [makeRequest('one', { part: { of: 'ops/machine' } }), makeRequest('two')];
  assert.deepEqual(
    decide({ ...snapshot, requests: parts }, now).writes.map(({ reportOf }) => reportOf),
    ['plains.test//two'],
  );
});

test('a claim that is refused is reported: nothing else would say why nothing is begun', () => {
  const unclaimed = makeRequest('one', { claim: 'none', finalizers: [] });
  const trouble = { reason: 'WriteRefused', message: 'cannot write: forbidden' };
  const refused = run({ requests: [unclaimed], node: makeNode(), trouble });
  assert.deepEqual(whats(refused), ['claim', 'report Pending']);
  assert.match(JSON.stringify(refused.writes.at(-1)?.body), /cannot write: forbidden/);
  assert.deepEqual(whats(run({ requests: [unclaimed], node: makeNode() })), ['claim']);
  assert.deepEqual(
    whats(run({ requests: [{ ...unclaimed, deleting: true }], node: makeNode(), trouble })),
    [],
  );
});

test('pods are watched for as long as somebody wants them gone', () => {
  const watched = (...requests: readonly Partial<MaintenanceRequest>[]): boolean =>
    run({ requests: requests.map((one, index) => makeRequest(`r${index}`, one)) }).watchPods;
  assert.equal(watched({}), true);
  assert.equal(watched({ level: 'Cordon' }, {}), true);
  assert.equal(watched({ level: 'Cordon' }), false);
  assert.equal(watched({ deleting: true }), false);
  assert.equal(watched(), false);
});

test('the node says what its maintenances come to only when all has been done that they want of it', () => {
  const trouble = { reason: 'Refused', message: 'no' };
  assert.deepEqual(whats(run({ node: makeNode(), trouble })), ['hold the node', 'report Pending']);
  assert.deepEqual(whats(run({ trouble })), ['report on the node', 'report Drained']);
});

test('as long as a kind is not served that holds a node, what has been said on the node stays', () => {
  const conditions = [
    { type: 'Drained', status: 'True', reason: 'DrydockDrainCompleted', message: '' },
  ];
  assert.deepEqual(
    run({ requests: [], node: { ...heldNode, conditions }, missingKinds: new Set(['plains.test']) })
      .writes,
    [],
  );
});

test('a foreign lease: nothing is touched, and the status says who has it', () => {
  const decision = run({ node: makeNode(), leases: foreign, pods: [makePod('a')] });
  assert.deepEqual(whats(decision), ['report on the node', 'report Pending']);
  assert.match(
    JSON.stringify(decision.writes.at(-1)?.body),
    /failed to obtain a lease that is not owned by us : .*owner: miau errorOnLeaseCount 0/,
  );
  assert.deepEqual(decision.calls, []);
});

test('a lost lease: the hold stays for a few tries, nothing is evicted, then the node is released', () => {
  const lost = (leaseErrors: number): Decision =>
    run({
      leases: foreign,
      pods: [makePod('a')],
      requests: [makeRequest('one', { history: { ...noHistory, leaseErrors, state: 'Draining' } })],
    });
  assert.deepEqual(evicted(lost(0)), []);
  assert.match(
    JSON.stringify(lost(0).writes),
    /failed to extend a lease that used to be owned by us.*errorOnLeaseCount: 1/,
  );
  assert.ok(!whats(lost(3)).includes('release the node'));
  assert.ok(whats(lost(4)).includes('release the node'));
  assert.match(
    JSON.stringify(lost(4).writes),
    /maintenance failed: lease could not be extended after 4 attempts/,
  );
});

test('a lost lease is counted once in five seconds, however often the node is looked at', () => {
  const decision = run({ leases: foreign, memo: { ...emptyMemo, leaseMissedAt: at(98) } });
  assert.match(JSON.stringify(decision.writes), /errorOnLeaseCount: 0/);
});

test('a lease that is free again is taken again, and the failure is over', () => {
  const failed = makeRequest('one', {
    history: { ...noHistory, leaseErrors: 4, state: 'Failed', failure: 'LeaseLost' },
  });
  const expired: NodeSnapshot['leases'] = new Map([
    [ourLease.key, { ...ourLease, holder: 'miau', durationSeconds: 10, renewTime: at(0) }],
  ]);
  assert.deepEqual(whats(run({ requests: [failed], node: makeNode(), leases: expired })), [
    'renew the node lease',
  ]);
  assert.deepEqual(whats(run({ requests: [failed], node: makeNode() })), ['hold the node']);
});

test('a held node stays held while its lease is made anew or taken back', () => {
  assert.deepEqual(whats(run({ leases: noLeases, pods: [makePod('a')] })), [
    'create the node lease',
  ]);
  const expired: NodeSnapshot['leases'] = new Map([
    [ourLease.key, { ...ourLease, holder: 'miau', durationSeconds: 10, renewTime: at(0) }],
  ]);
  assert.deepEqual(whats(run({ leases: expired, pods: [makePod('a')] })), ['renew the node lease']);
  assert.deepEqual(evicted(run({ leases: noLeases, pods: [makePod('a')] })), []);
});

test('our own lease is renewed in time without holding up the drain', () => {
  const due: NodeSnapshot['leases'] = new Map([
    [ourLease.key, { ...ourLease, renewTime: at(-1000) }],
  ]);
  const decision = run({ leases: due, pods: [makePod('a')] });
  assert.ok(whats(decision).includes('renew the node lease'));
  assert.deepEqual(evicted(decision), ['a']);
});

test('Announce touches nothing but says so; Cordon holds and evicts nothing', () => {
  const announced = run({
    requests: [makeRequest('one', { level: 'Announce' })],
    node: makeNode(),
    leases: noLeases,
    pods: [makePod('a')],
  });
  assert.deepEqual(whats(announced), ['report on the node', 'report Announced']);
  assert.match(JSON.stringify(announced.writes[0]?.body), /MaintenancePlanned/);
  const cordoned = run({
    requests: [makeRequest('one', { level: 'Cordon' })],
    pods: [makePod('a')],
  });
  assert.deepEqual(cordoned.calls, []);
  assert.ok(whats(cordoned).includes('report Cordoned'));
});

test('a refused pod stops the drain before the first eviction', () => {
  const policy = { ...seedPolicy, deleteEmptyDirData: false };
  const decision = run({
    requests: [makeRequest('one', { policy })],
    pods: [makePod('a'), makePod('b', { localData: true })],
  });
  assert.deepEqual(decision.calls, []);
  assert.match(JSON.stringify(decision.writes), /LocalData b/);
});

test('a pod stays, and the node is not drained, until its DaemonSet is known to be there or gone: a watch that is late proves nothing', () => {
  const agent = makePod('agent', {
    owner: { kind: 'DaemonSet', name: 'new', uid: 'ds', apiVersion: 'apps/v1' },
  });
  const requests = [makeRequest('one', { policy: { ...seedPolicy, force: true } })];
  const see = (over: Partial<NodeSnapshot>) =>
    run({ requests, pods: [agent, makePod('web')], ...over });
  const unknown = see({ goneDaemonSets: new Set(['another']) });
  assert.deepEqual(unknown.lookups, [{ kind: 'DaemonSet', key: 'shop/new', uid: 'ds' }]);
  assert.deepEqual([unknown.calls, whats(unknown)], [[], []]);
  const names = ({ calls }: Decision): readonly string[] => calls.map(({ pod }) => pod.name);
  assert.deepEqual(names(see({ goneDaemonSets: new Set(['ds']) })), ['agent', 'web']);
  assert.deepEqual(names(see({ goneDaemonSets: new Set(), daemonSets: new Set(['shop/new']) })), [
    'web',
  ]);
  assert.deepEqual(
    names(see({})),
    ['agent', 'web'],
    'a list that is younger than the pods is proof',
  );
  for (const name of ['new/status', '..', 'New', '', 'a'.repeat(254)]) {
    const pods = [
      makePod('agent', { owner: { kind: 'DaemonSet', name, uid: 'ds', apiVersion: 'apps/v1' } }),
    ];
    assert.deepEqual(
      names(run({ requests, pods, goneDaemonSets: new Set() })),
      ['agent'],
      `no object is called ${name}: nobody is asked`,
    );
  }
});

test('volumes of pods that left are waited for; those of pods that stay are not', () => {
  const attachment = { key: 'va', uid: 'va', resourceVersion: '1', nodeName: 'n1', volume: 'pv-1' };
  assert.ok(whats(run({ attachments: [attachment] })).includes('report Detaching'));
  const stays = makePod('agent', {
    owner: { kind: 'DaemonSet', name: 'agent', uid: 'ds', apiVersion: 'apps/v1' },
    claims: ['data'],
  });
  assert.deepEqual(run({ attachments: [attachment], pods: [stays] }).lookups, [
    { kind: 'PersistentVolumeClaim', key: 'shop/data' },
  ]);
  assert.ok(
    whats(
      run({ attachments: [attachment], pods: [stays], volumes: new Map([['shop/data', 'pv-1']]) }),
    ).includes('report Drained'),
  );
});

function ladder(action: 'Fail' | 'Release' | 'Delete' | 'KeepTrying'): MaintenanceRequest {
  return makeRequest('one', {
    policy: { ...seedPolicy, ladder: [{ afterSeconds: 60, action, gracePeriodSeconds: 5 }] },
    history: { ...noHistory, drainStartedAt: at(30), state: 'Draining' },
  });
}
const stuck = { pods: [makePod('a')], budgets: [makeBudget('b', { disruptionsAllowed: 0 })] };

test("the operator's own pod goes last, and somebody else leads first", () => {
  const self = makePod('operator', { namespace: 'drydock-system', ready: false });
  const other = makePod('other', { namespace: 'drydock-system', nodeName: 'n2' });
  const replicas = {
    pods: [self, other].map(pod => ({ ...pod, placement: {} })),
    nodes: [],
    wanted: new Set<string>(),
  };
  const known = { pod: self.key, handedOver: false, ...replicas };
  const pods = [self, makePod('a')];
  const busy = run({ pods, self: known });
  assert.deepEqual([evicted(busy), busy.handOver], [['a'], false]);
  const alone = run({ pods: [self], self: known });
  assert.deepEqual([evicted(alone), alone.handOver], [[], true]);
  const late = run({ pods: [self], self: { ...known, handedOver: true } });
  assert.deepEqual(
    [evicted(late), late.handOver],
    [['operator'], false],
    'the other one does not lead, and is there',
  );
  assert.deepEqual(
    evicted(run({ pods: [self] })),
    ['operator'],
    'for the replica that leads next it is a pod like any other',
  );
});

test('the ladder: each rung does what it says, and none before its time', () => {
  const early = decide(makeSnapshot({ requests: [ladder('Delete')], ...stuck }), at(89));
  assert.deepEqual(early.calls, []);
  assert.deepEqual(early.requeueAt?.epochMilliseconds, at(90).epochMilliseconds);
  const deletion = decide(makeSnapshot({ requests: [ladder('Delete')], ...stuck }), at(90))
    .calls[0];
  assert.deepEqual(
    [deletion?.method, deletion?.gracePeriodSeconds, deletion?.escalated],
    ['delete', 5, true],
  );
  const failed = run({ requests: [ladder('Fail')], pods: [makePod('a')] });
  assert.deepEqual(failed.calls, []);
  assert.ok(whats(failed).includes('report Failed'));
  assert.deepEqual(evicted(run({ requests: [ladder('KeepTrying')], pods: [makePod('a')] })), ['a']);
});

test('Release gives the node back once its failure is stored, and keeps the object', () => {
  assert.ok(whats(run({ requests: [ladder('Release')], ...stuck })).includes('report Failed'));
  const stored = makeRequest('one', {
    history: { ...noHistory, state: 'Failed', failure: 'Released' },
  });
  assert.deepEqual(
    whats(run({ requests: [stored], ...stuck })).filter(what => !what.startsWith('report')),
    ['release the node'],
  );
});

test('a failed deadline keeps the node held and evicts no more', () => {
  const stored = makeRequest('one', {
    history: { ...noHistory, state: 'Failed', failure: 'DeadlineExceeded' },
  });
  const decision = run({ requests: [stored], pods: [makePod('a')] });
  assert.deepEqual(decision.calls, []);
  assert.ok(!whats(decision).includes('release the node'));
});

const requests = fc.array(
  fc.record({
    claim: fc.constantFrom('none' as const, 'ours' as const, 'takenOver' as const),
    finalizer: fc.boolean(),
    deleting: fc.boolean(),
    level: fc.constantFrom('Announce' as const, 'Cordon' as const, 'Drain' as const),
    failure: fc.constantFrom(
      undefined,
      'LeaseLost' as const,
      'Released' as const,
      'DeadlineExceeded' as const,
    ),
  }),
  { maxLength: 3 },
);
const snapshots = fc
  .record({
    requests,
    node: fc.constantFrom(
      undefined,
      makeNode(),
      heldNode,
      { ...heldNode, unschedulable: false },
      { ...heldNode, taints: [] },
      makeNode({ unschedulable: true }),
    ),
    pods: fc.constantFrom(
      undefined,
      [],
      [makePod('a'), makePod('b')],
      [makePod('a', { deletionTimestamp: at(120) })],
    ),
    leases: fc.constantFrom(noLeases, foreign, new Map([[ourLease.key, ourLease]])),
  })
  .map(({ requests, node, pods, leases }): NodeSnapshot => {
    const { node: _node, pods: _pods, ...rest } = makeSnapshot({ leases });
    const made = requests.map(({ finalizer, failure, ...one }, index) =>
      makeRequest(`r${index}`, {
        ...one,
        finalizers: finalizer ? ['test/hold'] : [],
        history: { ...noHistory, ...(failure && { failure }) },
      }),
    );
    return { ...rest, requests: made, ...(node && { node }), ...(pods && { pods }) };
  });

test('law: nothing is evicted before the hold is seen, without the lease, or for a request that wants to go', () => {
  fc.assert(
    fc.property(snapshots, snapshot => {
      const { calls } = decide(snapshot, now);
      if (calls.length === 0) return;
      assert.equal(snapshot.node?.unschedulable, true);
      assert.ok(snapshot.node?.taints.some(({ key }) => key === 'test/drain'));
      assert.ok(snapshot.node?.holdRecord !== undefined);
      assert.equal(snapshot.leases.get(ourLease.key)?.holder, 'us');
      assert.ok(
        snapshot.requests.some(
          ({ deleting, level, claim }) => !deleting && level === 'Drain' && claim !== 'none',
        ),
      );
    }),
    { numRuns: 2000 },
  );
});

test('law: deciding twice is deciding once', () => {
  fc.assert(
    fc.property(snapshots, snapshot =>
      assert.deepEqual(decide(snapshot, now), decide(snapshot, now)),
    ),
  );
});

test('law: the order of the requests does not matter', () => {
  fc.assert(
    fc.property(snapshots, snapshot =>
      assert.deepEqual(
        decide({ ...snapshot, requests: snapshot.requests.toReversed() }, now),
        decide(snapshot, now),
      ),
    ),
  );
});

test('law: while somebody is to hold the node, it is not released', () => {
  fc.assert(
    fc.property(snapshots, snapshot => {
      const holders = snapshot.requests.filter(
        ({ deleting, level, claim, finalizers, history }) =>
          !deleting &&
          level !== 'Announce' &&
          claim !== 'none' &&
          finalizers.length > 0 &&
          history.failure === undefined,
      );
      if (holders.length > 0 && snapshot.leases.get(ourLease.key)?.holder === 'us')
        assert.ok(!whats(decide(snapshot, now)).includes('release the node'));
    }),
  );
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Pod } from '../pod/pod.ts';
import { at, makePod } from '../testing/make.ts';
import { drainBehaviorOf, waitedForUntil } from './filters.ts';
import { type DrainPolicy, seedPolicy } from './policy.ts';

const careful: DrainPolicy = { ...seedPolicy, force: false, deleteEmptyDirData: false };
const daemon = { kind: 'DaemonSet', name: 'agent', uid: 'ds', apiVersion: 'apps/v1' };
const launcher = { kind: 'Pod', name: 'virt-launcher-db', uid: 'vl', apiVersion: 'v1' };
const filterContext = { now: at(100), vmPods: new Map(), daemonSets: new Set(['shop/agent']) };
function unowned(over: Partial<Pod> = {}): Pod {
  const { owner: _owner, ...pod } = makePod('bare', over);
  return pod;
}

const cases: readonly (readonly [what: string, pod: Pod, policy: DrainPolicy, expected: string])[] =
  [
    ['a pod with a controller goes', makePod('a'), careful, 'evict'],
    [
      'a mirror pod is not our business',
      makePod('a', { mirror: true }),
      careful,
      'ignore MirrorPod',
    ],
    ['a DaemonSet pod stays', makePod('a', { owner: daemon }), seedPolicy, 'ignore DaemonSet'],
    [
      'a DaemonSet pod is refused when the policy does not ignore them',
      makePod('a', { owner: daemon }),
      { ...careful, ignoreDaemonSets: false },
      'refuse DaemonSet',
    ],
    [
      'a finished DaemonSet pod goes',
      makePod('a', { owner: daemon, phase: 'Succeeded' }),
      careful,
      'evict',
    ],
    [
      'a DaemonSet pod whose DaemonSet is gone goes with force',
      makePod('a', { owner: { ...daemon, name: 'gone' } }),
      seedPolicy,
      'evict',
    ],
    [
      'and is refused without',
      makePod('a', { owner: { ...daemon, name: 'gone' } }),
      careful,
      'refuse Unmanaged',
    ],
    [
      'a DaemonSet of another group is a controller like any other',
      makePod('a', { owner: { ...daemon, apiVersion: 'apps.kruise.io/v1' } }),
      careful,
      'evict',
    ],
    ['local data is kept', makePod('a', { localData: true }), careful, 'refuse LocalData'],
    ['local data goes when agreed to', makePod('a', { localData: true }), seedPolicy, 'evict'],
    [
      'a finished pod with local data goes',
      makePod('a', { localData: true, phase: 'Failed' }),
      careful,
      'evict',
    ],
    ['a pod that nobody brings back is kept', unowned(), careful, 'refuse Unmanaged'],
    ['and goes with force', unowned(), seedPolicy, 'evict'],
    [
      'a terminating pod needs no permission',
      unowned({ deletionTimestamp: at(120) }),
      careful,
      'evict',
    ],
    [
      'a pod that is not selected stays',
      makePod('a'),
      { ...careful, podSelector: { matchLabels: { app: 'db' } } },
      'ignore NotSelected',
    ],
    [
      'a pod to leave alone stays',
      makePod('a'),
      { ...careful, ignorePods: [{ namespaces: ['shop'] }] },
      'ignore LeftAlone',
    ],
    [
      'a pick by no kind of owner picks all',
      makePod('a'),
      { ...careful, ignorePods: [{ ownerKinds: [] }] },
      'ignore LeftAlone',
    ],
    [
      'a pick by the kind of owner picks no other kind',
      makePod('a'),
      { ...careful, ignorePods: [{ ownerKinds: ['Job'] }] },
      'evict',
    ],
    [
      'nor a pod without an owner',
      unowned(),
      { ...seedPolicy, ignorePods: [{ ownerKinds: ['Job'] }] },
      'evict',
    ],
    [
      'a volume of a VM goes with it',
      makePod('hp-volume-1', { owner: launcher }),
      careful,
      'await GoesWithItsVm',
    ],
    ['another pod of a pod goes', makePod('a', { owner: launcher }), careful, 'evict'],
    ['another pod of that name goes', makePod('hp-volume-1'), careful, 'evict'],
    [
      'an awaited pod is waited for',
      makePod('a'),
      { ...careful, awaitPods: [{ ownerKinds: ['ReplicaSet'] }] },
      'await AwaitingCompletion',
    ],
    [
      'an awaited pod that has finished goes',
      makePod('a', { phase: 'Succeeded' }),
      { ...careful, awaitPods: [{}] },
      'evict',
    ],
  ];

for (const [what, pod, policy, expected] of cases) {
  test(what, () => {
    const behavior = drainBehaviorOf(pod, policy, filterContext);
    assert.equal(
      'reason' in behavior ? `${behavior.behavior} ${behavior.reason}` : behavior.behavior,
      expected,
    );
  });
}

describe('a pod that has been terminating for too long is not waited for: as long past its deletionTimestamp as the policy says, as kubectl counts', () => {
  // Seconds past the deletionTimestamp, whatever the grace period that led to it; what the policy
  // says; whether it is still waited for.
  const rows: readonly (readonly [past: number, wait: number, waited: boolean])[] = [
    [-3600, 5, true],
    [-14, 5, true],
    [0, 5, true],
    [5.9, 5, true],
    [6, 5, false],
    [3600, 5, false],
    [1.9, 1, true],
    [2, 1, false],
    [1e9, 0, true],
  ];
  for (const [past, wait, waited] of rows)
    for (const deletionGraceSeconds of [0, 1, 20, 3600])
      test(`${past} s past it, after ${deletionGraceSeconds} s of grace, with ${wait}: ${waited ? 'waited for' : 'not'}`, () => {
        const begun = at(100 - past - deletionGraceSeconds);
        const pod = makePod('a', {
          createdAt: begun,
          deletionTimestamp: at(100 - past),
          deletionGraceSeconds,
        });
        const policy = { ...careful, skipWaitForDeleteTimeoutSeconds: wait };
        assert.equal(
          drainBehaviorOf(pod, policy, { ...filterContext, now: at(100) }).behavior,
          waited ? 'evict' : 'ignore',
        );
        assert.deepEqual(
          waitedForUntil(pod, policy),
          wait === 0 ? undefined : at(100 - past + wait + 1),
        );
      });

  test('one whose deletionTimestamp was made of a sum that is too large is always waited for', () => {
    const pod = makePod('a', {
      createdAt: at(0),
      deletionTimestamp: at(-1e9),
      deletionGraceSeconds: 9e12,
    });
    assert.equal(
      drainBehaviorOf(
        pod,
        { ...careful, skipWaitForDeleteTimeoutSeconds: 1 },
        { ...filterContext, now: at(1e6) },
      ).behavior,
      'evict',
    );
  });
});

test('a pod that works for a plan on this node is waited for, and no other', () => {
  const work = unowned({
    namespace: 'drydock-plans',
    labels: { 'drydock.dev/maintenance-plan': 'kernel' },
  });
  const told = (pod: Pod, plans: ReadonlySet<string> | undefined = new Set(['kernel'])) => {
    const behavior = drainBehaviorOf(pod, careful, {
      ...filterContext,
      planWork: { namespace: 'drydock-plans', plans },
    });
    return 'reason' in behavior ? `${behavior.behavior} ${behavior.reason}` : behavior.behavior;
  };
  assert.equal(told(work), 'await WorkOfPlan');
  assert.equal(told(work, undefined), 'await WorkOfPlan', 'the plans are not known yet');
  assert.equal(
    told({ ...work, phase: 'Succeeded' }),
    'await WorkOfPlan',
    'what it came to is not noted yet',
  );
  assert.equal(
    told(work, new Set(['firmware'])),
    'refuse Unmanaged',
    'that plan is done with the node',
  );
  assert.equal(
    told({ ...work, namespace: 'shop' }),
    'refuse Unmanaged',
    'somebody else has made it',
  );
  assert.equal(told({ ...work, labels: {} }), 'refuse Unmanaged');
  assert.equal(told({ ...work, deletionTimestamp: at(120) }), 'evict', 'it is going');
  const own = { ...careful, ignorePods: [{ namespaces: ['drydock-plans'] }] };
  assert.equal(
    drainBehaviorOf(work, own, {
      ...filterContext,
      planWork: { namespace: 'drydock-plans', plans: undefined },
    }).behavior,
    'ignore',
  );
});

test('a DaemonSet pod that is refused is told what its DaemonSet is, and what would help', () => {
  const told = (name: string) => {
    const behavior = drainBehaviorOf(
      makePod('a', { owner: { ...daemon, name } }),
      { ...careful, ignoreDaemonSets: false },
      filterContext,
    );
    return behavior.behavior === 'refuse' ? [behavior.message, behavior.remedy] : behavior;
  };
  assert.deepEqual(told('agent'), ['is managed by a DaemonSet', 'set drain.ignoreDaemonSets']);
  assert.deepEqual(told('gone'), [
    'belongs to a DaemonSet that does not exist any more',
    'set drain.force to evict it, or delete it',
  ]);
});

test('the first wave that picks a pod is its wave; the rest comes last', () => {
  const policy = {
    ...seedPolicy,
    waves: [
      { maxPriority: 0 },
      { podSelector: { matchLabels: { app: 'web' } } },
      { namespaces: ['shop'] },
    ],
  };
  const wave = (pod: Pod): unknown => {
    const behavior = drainBehaviorOf(pod, policy, filterContext);
    return behavior.behavior === 'evict' ? behavior.wave : behavior;
  };
  assert.equal(wave(makePod('a')), 0);
  assert.equal(wave(makePod('a', { priority: 5 })), 1);
  assert.equal(wave(makePod('a', { priority: 5, labels: {} })), 2);
  assert.equal(wave(makePod('a', { priority: 5, labels: {}, namespace: 'other' })), 3);
});

test('law: a running pod of an existing DaemonSet is never evicted, whatever the policy', () => {
  const policies = fc.record({
    force: fc.boolean(),
    deleteEmptyDirData: fc.boolean(),
    ignoreDaemonSets: fc.boolean(),
    disableEviction: fc.boolean(),
    skipWaitForDeleteTimeoutSeconds: fc.nat(100),
  });
  const pods = fc.record({
    localData: fc.boolean(),
    ready: fc.boolean(),
    priority: fc.integer(),
    phase: fc.constantFrom('Running', 'Pending', 'Unknown'),
  });
  fc.assert(
    fc.property(policies, pods, (policy, pod) => {
      const behavior = drainBehaviorOf(
        makePod('a', { ...pod, owner: daemon }),
        { ...seedPolicy, ...policy },
        filterContext,
      );
      return behavior.behavior !== 'evict' && behavior.behavior !== 'await';
    }),
  );
});

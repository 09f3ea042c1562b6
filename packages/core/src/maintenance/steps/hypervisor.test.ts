import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { seedPolicy } from '../../drain/policy.ts';
import { noHistory } from '../../request/request.ts';
import { at, makeRequest, makeSnapshot } from '../../testing/make.ts';
import { makeContext, makeDrain, makeProgress } from '../../testing/make-context.ts';
import type { HostView, VmStatus } from '../../vm/vm-status.ts';
import { decide } from '../decide.ts';
import type { DrainProgress, RequestProgress } from '../reconcile-context.ts';
import type { NodeSnapshot } from '../snapshot.ts';
import { hypervisor } from './detach.ts';

function server(name: string, over: Partial<VmStatus> = {}): VmStatus {
  return {
    platform: 'OpenStack',
    id: `id-${name}`,
    name,
    state: 'Waiting',
    ...over,
  };
}

type Told = { readonly phase?: string; readonly blockers?: readonly string[] };
function look(host: NodeSnapshot['host'], over: Partial<NodeSnapshot> = {}) {
  const decision = decide(makeSnapshot({ ...(host !== undefined && { host }), ...over }), at(10));
  const told = (decision.writes.find(({ reportOf }) => reportOf !== undefined)?.body['status'] ??
    {}) as Told;
  return { desired: decision.desiredHost, phase: told.phase, blockers: told.blockers };
}

function view(vms: readonly VmStatus[], over: Partial<HostView> = {}): HostView {
  return { vms, empty: false, ...over };
}

test('a node that is no hypervisor, or of which nobody asks, is drained when its pods are gone', () => {
  for (const host of [undefined, 'none'] as const)
    assert.deepEqual([look(host).phase, look(host).desired], ['Drained', undefined]);
});

test('as long as nobody knows whether it is one it is not called drained', () => {
  const { phase, blockers, desired } = look('unknown');
  assert.deepEqual([phase, blockers], ['Draining', ['HypervisorUnknown ']]);
  assert.ok(desired, 'it is asked for, so that it is found out');
});

test('servers are waited for, each is a blocker with what its cloud says, and the node is drained when the hypervisor is empty', () => {
  const vms = [
    server('a', { state: 'Cannot', message: 'No valid host was found.' }),
    server('b', { state: 'Migrating' }),
    server('c', { state: 'Moved' }),
  ];
  const { phase, blockers, desired } = look(view(vms));
  assert.deepEqual([phase, blockers], ['Draining', ['ServerNotMovable ', 'ServerMoving ']]);
  assert.deepEqual(desired, { why: 'one', policy: makeRequest('one').policy.servers });
  assert.equal(look(view([server('c', { state: 'Moved' })], { empty: true })).phase, 'Drained');
  assert.equal(look(view([], { empty: false })).phase, 'Draining', 'it has not been seen empty');
});

test('an API that does not answer is told', () => {
  assert.deepEqual(look(view([], { problem: 'no answer' })).blockers, ['HypervisorUnknown ']);
});

test('a maintenance that only cordons keeps new servers away and leaves those that are there', () => {
  const cordon = makeRequest('one', { level: 'Cordon', reason: 'disk' });
  const { desired } = look(view([server('a')]), { requests: [cordon] });
  assert.deepEqual(
    [desired?.why, desired?.policy.active, desired?.policy.failed],
    ['one: disk', 'Leave', 'Leave'],
  );
});

test('a drain that has failed, or that is over, wants nothing moved', () => {
  const failed = makeRequest('one', {
    history: { ...noHistory, state: 'Failed', failure: 'DeadlineExceeded', drainStartedAt: at(0) },
  });
  assert.equal(look(view([server('a')]), { requests: [failed] }).desired, undefined);
  assert.equal(
    look(view([server('a')]), { requests: [makeRequest('one', { deleting: true })] }).desired,
    undefined,
  );
});

describe('step by step', () => {
  const after = (host: HostView | 'unknown', drain: Partial<DrainProgress> = {}) => {
    const [progress] = hypervisor(
      makeContext([makeProgress({ drain: makeDrain(drain) })], { host }),
    ).context.progresses;
    assert.ok(progress?.drain);
    return progress.drain;
  };

  test('each server that is still there is a blocker of its own, in the words of its cloud where it has some', () => {
    const vms = [
      server('a', { state: 'Cannot', message: 'No valid host was found.', remedy: 'add a host' }),
      server('b', { state: 'Migrating' }),
      server('c', { state: 'Waiting' }),
      server('d', { state: 'Waiting', message: 'is locked' }),
      server('e', { state: 'Moved' }),
    ];
    const about = (name: string) => ({ id: `id-${name}`, name });
    assert.deepEqual(after(view(vms)).blockerInfos, [
      {
        reason: 'ServerNotMovable',
        server: about('a'),
        message: 'server a: No valid host was found.',
        remedy: 'add a host',
      },
      { reason: 'ServerMoving', server: about('b'), message: 'server b: is being migrated' },
      { reason: 'ServerMoving', server: about('c'), message: 'server c: waits for its turn' },
      { reason: 'ServerMoving', server: about('d'), message: 'server d: is locked' },
    ]);
  });

  test('a node is empty when its pods are gone and its hypervisor is empty', () => {
    const empty = (host: HostView | 'unknown', pods: boolean) => {
      const { emptied, complete } = after(host, { emptied: pods, complete: pods });
      return [emptied, complete];
    };
    assert.deepEqual(empty(view([], { empty: true }), true), [true, true]);
    assert.deepEqual(empty(view([], { empty: true }), false), [false, false]);
    assert.deepEqual(empty(view([]), true), [false, false]);
    assert.deepEqual(empty('unknown', true), [false, false]);
  });

  describe('all VMs will have moved when the later of both is done, those of Kubernetes and those of its hypervisor', () => {
    const rows: readonly (readonly [
      what: string,
      host: HostView | 'unknown',
      pods: number | undefined,
      end: number | undefined,
    ])[] = [
      ['the servers take longer', view([server('a')], { expectedEnd: at(300) }), 200, 300],
      ['the VMs of Kubernetes do', view([server('a')], { expectedEnd: at(200) }), 300, 300],
      ['only the servers are left', view([server('a')], { expectedEnd: at(200) }), undefined, 200],
      ['nobody knows of the servers', view([server('a')]), 300, undefined],
      ['nobody knows of either', view([server('a')]), undefined, undefined],
      [
        'the servers are gone',
        view([server('a', { state: 'Moved' })], { expectedEnd: at(400) }),
        300,
        300,
      ],
      [
        'one of the servers is gone',
        view([server('a', { state: 'Moved' }), server('b')], { expectedEnd: at(400) }),
        300,
        400,
      ],
      ['nobody knows whether it is a hypervisor', 'unknown', 300, undefined],
    ];
    for (const [what, host, pods, end] of rows)
      test(`${what}: ${end ?? 'it cannot be told'}`, () => {
        const drain = after(host, pods === undefined ? {} : { vmsMovedAt: at(pods) });
        assert.deepEqual(
          'vmsMovedAt' in drain ? drain.vmsMovedAt?.toString() : undefined,
          end === undefined ? undefined : at(end).toString(),
        );
      });
  });

  test('who holds the node with its lease wants a state, and nobody else; a drain counts before a cordon', () => {
    const desired = (...progresses: readonly Partial<RequestProgress>[]) =>
      hypervisor(makeContext(progresses.map(makeProgress), { host: view([]) })).context.desiredHost
        ?.why;
    const drains = { request: makeRequest('drains'), drain: makeDrain() };
    const cordons = { request: makeRequest('cordons', { level: 'Cordon' }) };
    assert.equal(desired(cordons, drains), 'drains');
    assert.equal(desired({ ...drains, paused: true }, cordons), 'cordons');
    for (const over of [{ granted: false }, { holds: false }]) {
      assert.equal(desired({ ...cordons, ...over }), undefined);
      assert.equal(desired({ ...drains, ...over }, cordons), 'cordons');
    }
    assert.equal(desired(), undefined);
  });
});

test('the time limit of a drain bounds a hypervisor that does not empty', () => {
  const policy = { ...seedPolicy, ladder: [{ afterSeconds: 60, action: 'Fail' }] as const };
  const request = makeRequest('one', {
    policy,
    history: { ...noHistory, state: 'Draining', drainStartedAt: at(0) },
  });
  const phase = (now: number): unknown => {
    const host = { vms: [server('a')], empty: false };
    const { writes } = decide(makeSnapshot({ requests: [request], host }), at(now));
    return writes.find(({ reportOf }) => reportOf !== undefined)?.body['status'];
  };
  assert.partialDeepStrictEqual(phase(60), {
    phase: 'Failed',
    problem: 'the drain was not complete in time; the node stays held',
  });
  assert.notEqual((phase(59) as { phase?: string } | undefined)?.phase, 'Failed');
});

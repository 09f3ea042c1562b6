import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noHistory } from '../../request/request.ts';
import { at, makeRequest, makeSnapshot } from '../../testing/make.ts';
import type { HostView } from '../../vm/host.ts';
import type { VmStatus } from '../../vm/vm-status.ts';
import { decide } from '../decide.ts';
import type { NodeSnapshot } from '../snapshot.ts';

const server = (name: string, over: Partial<VmStatus> = {}): VmStatus => ({
  platform: 'OpenStack',
  id: `id-${name}`,
  name,
  state: 'Waiting',
  ...over,
});

type Told = { readonly phase?: string; readonly blockers?: readonly string[] };
const look = (host: NodeSnapshot['host'], over: Partial<NodeSnapshot> = {}) => {
  const decision = decide(makeSnapshot({ ...(host !== undefined && { host }), ...over }), at(10));
  const told = (decision.writes.find(({ reportOf }) => reportOf !== undefined)?.body['status'] ?? {}) as Told;
  return { desired: decision.desiredHost, phase: told.phase, blockers: told.blockers };
};

const view = (vms: readonly VmStatus[], over: Partial<HostView> = {}): HostView => ({ vms, empty: false, ...over });

test('a node that is no hypervisor, or of which nobody asks, is drained when its pods are gone', () => {
  for (const host of [undefined, 'none'] as const) assert.deepEqual([look(host).phase, look(host).desired], ['Drained', undefined]);
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
  const cordon = makeRequest('one', { stage: 'Cordon', reason: 'disk' });
  const { desired } = look(view([server('a')]), { requests: [cordon] });
  assert.deepEqual([desired?.why, desired?.policy.active, desired?.policy.failed], ['one: disk', 'Leave', 'Leave']);
});

test('a drain that has failed, or that is over, wants nothing moved', () => {
  const failed = makeRequest('one', { history: { ...noHistory, state: 'Failed', failure: 'DeadlineExceeded', drainStartedAt: at(0) } });
  assert.equal(look(view([server('a')]), { requests: [failed] }).desired, undefined);
  assert.equal(look(view([server('a')]), { requests: [makeRequest('one', { deleting: true })] }).desired, undefined);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Api, ApiCall, ApiResponse, Fence } from '../../operator/ports.ts';
import { silentLog } from '../../support/log.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { ConnectionError } from '../http/connection-error.ts';
import { elect } from './leader.ts';
import type { Lease } from './lease-record.ts';

type Fault = 'lost answer' | 'never arrives' | 'hangs' | undefined;

/** One Lease with optimistic locking, and faults where a test wants them. */
class LeaseServer implements Api {
  lease: Lease | undefined;
  fault: (call: ApiCall) => Fault = () => undefined;
  readonly writes: Lease[] = [];
  #version = 0;

  call(call: ApiCall, signal?: AbortSignal): Promise<ApiResponse> {
    const fault = this.fault(call);
    const lost = (happened: boolean): ConnectionError =>
      new ConnectionError({ method: call.method, path: call.path, server: 'test' }, 'reset', happened, new Error('cut'));
    if (fault === 'never arrives') return Promise.reject(lost(false));
    if (fault === 'hangs') return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    const response = this.#handle(call);
    return fault === 'lost answer' ? Promise.reject(lost(true)) : Promise.resolve({ headers: {}, ...response });
  }

  #handle(call: ApiCall): { readonly status: number; readonly body: unknown } {
    if (call.method === 'GET') return this.lease === undefined ? { status: 404, body: {} } : { status: 200, body: this.lease };
    const wanted = call.body as Lease;
    if (call.method === 'POST' && this.lease !== undefined) return { status: 409, body: { message: 'already exists' } };
    if (call.method === 'PUT' && wanted.metadata.resourceVersion !== this.lease?.metadata.resourceVersion)
      return { status: 409, body: { message: 'conflict' } };
    this.#version += 1;
    this.lease = { ...wanted, metadata: { ...wanted.metadata, resourceVersion: String(this.#version) } };
    this.writes.push(this.lease);
    return { status: 200, body: this.lease };
  }
}

/** A contender with a clock of its own; `skewMs` sets its hands, its uptime runs like everybody's. */
const contender = (api: LeaseServer, identity: string, clock: VirtualClock, skewMs = 0) => {
  const own = { now: () => clock.now().add({ milliseconds: skewMs }), sleep: clock.sleep.bind(clock), after: clock.after.bind(clock) };
  const stop = new AbortController();
  const state: { fence?: Fence; ended: boolean; work: PromiseWithResolvers<void> } = { ended: false, work: Promise.withResolvers<void>() };
  const outcome = elect({
    api,
    clock: own,
    random: () => 0,
    log: silentLog,
    namespace: 'ns',
    name: 'lock',
    identity,
    signal: stop.signal,
    uptime: () => clock.now().epochMilliseconds,
    lead: async (fence, signal) => {
      state.fence = fence;
      signal.addEventListener('abort', () => state.work.resolve());
      await state.work.promise;
      state.ended = true;
    },
  });
  return { stop, state, outcome, mayAct: () => state.fence?.mayAct() ?? false };
};

test('the first contender creates the lease, leads and renews it every 2 s', async () => {
  const clock = new VirtualClock();
  const api = new LeaseServer();
  const a = contender(api, 'a', clock);
  await clock.advance(6000);
  assert.equal(a.mayAct(), true);
  assert.deepEqual(api.lease?.spec, {
    holderIdentity: 'a',
    leaseDurationSeconds: 15,
    acquireTime: '2026-01-01T00:00:00.000000Z',
    renewTime: '2026-01-01T00:00:06.000000Z',
    leaseTransitions: 0,
  });
  a.stop.abort();
  await clock.advance(0);
  assert.equal(await a.outcome, 'stopped');
});

for (const skewMs of [-3_600_000, 0, 3_600_000]) {
  test(`two contenders, the second one's clock ${skewMs / 1000} s ahead: it takes over only 15 s after the last renewal that it saw`, async () => {
    const clock = new VirtualClock();
    const api = new LeaseServer();
    const a = contender(api, 'a', clock);
    await clock.advance(1);
    const b = contender(api, 'b', clock, skewMs);
    await clock.advance(60_000);
    assert.deepEqual([a.mayAct(), b.mayAct()], [true, false]);
    let isCut = true;
    api.fault = call =>
      isCut && call.body !== undefined && (call.body as Lease).spec?.holderIdentity === 'a' ? 'never arrives' : undefined;
    let both = 0;
    let until = 0;
    for (let step = 0; step < 200 && !b.mayAct(); step += 1) {
      await clock.advance(100);
      if (a.mayAct() && b.mayAct()) both += 1;
      until = step * 100;
    }
    assert.equal(both, 0);
    assert.ok(until >= 12_000 && until < 20_000, `taken over after ${until} ms`);
    assert.equal(await a.outcome, 'lost');
    assert.deepEqual([api.lease?.spec?.holderIdentity, api.lease?.spec?.leaseTransitions], ['b', 1]);
    isCut = false;
    b.stop.abort();
    await clock.advance(0);
    assert.equal(await b.outcome, 'stopped');
  });
}

test('renewals that hang: the fence closes after 10 s, the work is told to end, the outcome is lost', async () => {
  const clock = new VirtualClock();
  const api = new LeaseServer();
  const a = contender(api, 'a', clock);
  await clock.advance(2000);
  api.fault = () => 'hangs';
  await clock.advance(9900);
  assert.deepEqual([a.mayAct(), a.state.ended], [true, false]);
  await clock.advance(100);
  assert.deepEqual([a.mayAct(), a.state.ended], [false, true]);
  assert.equal(await a.outcome, 'lost');
});

test('timers that are late do not keep the fence open, nor does a clock that is set back', async () => {
  const clock = new VirtualClock();
  const api = new LeaseServer();
  const a = contender(api, 'a', clock);
  await clock.advance(1000);
  clock.jump(9500);
  assert.equal(a.mayAct(), false, 'the process stood still for longer than the deadline');
  clock.jump(-3_600_000);
  assert.equal(a.mayAct(), false, 'the clock was set back');
  clock.jump(3_600_000 - 9500);
  a.stop.abort();
  await clock.advance(0);
  await a.outcome;
});

test('a conflict on an update by somebody who does not hold it: read again, and renewed at once', async () => {
  const clock = new VirtualClock();
  const api = new LeaseServer();
  const a = contender(api, 'a', clock);
  await clock.advance(1);
  api.lease = { ...api.lease!, metadata: { ...api.lease!.metadata, resourceVersion: 'touched' } };
  await clock.advance(2000);
  assert.equal(api.lease?.spec?.renewTime, '2026-01-01T00:00:02.000000Z');
  assert.equal(a.mayAct(), true);
  a.stop.abort();
  await clock.advance(0);
  await a.outcome;
});

test('the answer of an update that happened is lost: still the leader, without a second transition', async () => {
  const clock = new VirtualClock();
  const api = new LeaseServer();
  let lose = true;
  api.fault = call => (call.method !== 'GET' && lose ? 'lost answer' : undefined);
  const a = contender(api, 'a', clock);
  await clock.advance(1000);
  assert.equal(a.mayAct(), false, 'it happened, but nobody said so');
  lose = false;
  await clock.advance(2000);
  assert.equal(a.mayAct(), true);
  lose = true;
  await clock.advance(2000);
  lose = false;
  await clock.advance(2000);
  assert.deepEqual([a.mayAct(), api.lease?.spec?.leaseTransitions], [true, 0]);
  a.stop.abort();
  await clock.advance(0);
  await a.outcome;
});

test('another one has taken the lease: lost at once', async () => {
  const clock = new VirtualClock();
  const api = new LeaseServer();
  const a = contender(api, 'a', clock);
  await clock.advance(1);
  api.lease = {
    ...api.lease!,
    metadata: { ...api.lease!.metadata, resourceVersion: 'x' },
    spec: { ...api.lease!.spec, holderIdentity: 'thief' },
  };
  await clock.advance(2000);
  assert.equal(await a.outcome, 'lost');
  assert.deepEqual([a.mayAct(), api.lease.spec?.holderIdentity], [false, 'thief']);
});

test('a clean hand-over: released only after the work has ended, and taken at once', async () => {
  const clock = new VirtualClock();
  const api = new LeaseServer();
  const a = contender(api, 'a', clock);
  await clock.advance(1);
  const b = contender(api, 'b', clock);
  await clock.advance(10_000);
  a.stop.abort();
  await clock.advance(2000);
  assert.equal(await a.outcome, 'stopped');
  const givenBack = api.writes.find(({ spec }) => spec?.holderIdentity === '');
  assert.equal(givenBack?.spec?.leaseDurationSeconds, 1);
  await clock.advance(2500);
  assert.deepEqual([a.mayAct(), b.mayAct()], [false, true]);
  b.stop.abort();
  await clock.advance(0);
  await b.outcome;
});

test('work that fails: the lease is released and the failure is passed on', async () => {
  const clock = new VirtualClock();
  const api = new LeaseServer();
  const a = contender(api, 'a', clock);
  const outcome = assert.rejects(a.outcome, /the work failed/);
  await clock.advance(1);
  a.state.work.reject(new Error('the work failed'));
  await clock.advance(0);
  await outcome;
  assert.equal(api.lease?.spec?.holderIdentity, '');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog, VirtualClock } from '@drydock/utils';
import type {
  Api,
  ApiCall,
  ApiResponse,
  CachedObject,
  Collection,
  Fence,
  Watcher,
  WatchHandler,
} from '../api.ts';
import { ConnectionError } from '../http/credentials.ts';
import { elect } from './leader.ts';
import type { LeaseObject } from './lease-lock.ts';

type Fault = 'lost answer' | 'never arrives' | 'hangs' | undefined;

/** One Lease with optimistic locking, and faults where a test wants them. */
class LeaseServer implements Api, Watcher {
  lease: LeaseObject | undefined;
  fault: (call: ApiCall) => Fault = () => undefined;
  readonly writes: LeaseObject[] = [];
  /** Watches see nothing. */
  blind = false;
  readonly watched: string[] = [];
  readonly #tell = new Set<(type?: 'removed') => void>();
  #version = 0;

  async watch<T extends CachedObject>(
    { path, fieldSelector }: Collection,
    project: (raw: unknown) => T | undefined,
    handler: WatchHandler<T>,
    signal: AbortSignal,
  ): Promise<void> {
    this.watched.push(`${path}?${fieldSelector ?? ''}`);
    const tell = (type: 'added' | 'removed' = 'added'): void => {
      const object =
        this.lease === undefined || this.blind
          ? undefined
          : project({ ...this.lease, metadata: { ...this.lease.metadata, uid: 'u' } });
      if (object !== undefined) handler.changed({ type, object });
    };
    tell();
    handler.synced();
    this.#tell.add(tell);
    await new Promise<void>(resolve => {
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve());
    });
    this.#tell.delete(tell);
  }

  call(call: ApiCall, signal?: AbortSignal): Promise<ApiResponse> {
    const fault = this.fault(call);
    const lost = (happened: boolean): ConnectionError =>
      new ConnectionError(
        { method: call.method, path: call.path, server: 'test' },
        'reset',
        happened,
        new Error('cut'),
      );
    if (fault === 'never arrives') return Promise.reject(lost(false));
    if (fault === 'hangs')
      return new Promise((_, reject) =>
        signal?.addEventListener('abort', () => reject(signal.reason)),
      );
    const response = this.#handle(call);
    return fault === 'lost answer'
      ? Promise.reject(lost(true))
      : Promise.resolve({ headers: {}, ...response });
  }

  /** etcd is restored: the lease and the revision are those of then. */
  restore(lease: LeaseObject, revision: number): void {
    this.lease = lease;
    this.#version = revision;
  }

  /** Somebody deletes the lease. */
  remove(): void {
    for (const tell of this.#tell) tell('removed');
    this.lease = undefined;
  }

  #handle(call: ApiCall): { readonly status: number; readonly body: unknown } {
    if (call.method === 'GET')
      return this.lease === undefined
        ? { status: 404, body: {} }
        : { status: 200, body: this.lease };
    const wanted = call.body as LeaseObject;
    if (call.method === 'POST' && this.lease !== undefined)
      return { status: 409, body: { message: 'already exists' } };
    if (
      call.method === 'PUT' &&
      wanted.metadata.resourceVersion !== this.lease?.metadata.resourceVersion
    )
      return { status: 409, body: { message: 'conflict' } };
    this.#version += 1;
    this.lease = {
      ...wanted,
      metadata: { ...wanted.metadata, resourceVersion: String(this.#version) },
    };
    this.writes.push(this.lease);
    for (const tell of this.#tell) tell();
    return { status: 200, body: this.lease };
  }
}

/**
 * A contender with a clock of its own; `skewMs` sets its hands, its uptime runs like everybody's.
 */
function contender(
  api: LeaseServer,
  identity: string,
  clock: VirtualClock,
  skewMs = 0,
  ownPrefix?: string,
) {
  const own = {
    now: () => clock.now().add({ milliseconds: skewMs }),
    sleep: clock.sleep.bind(clock),
    after: clock.after.bind(clock),
  };
  const stop = new AbortController();
  const state: { fence?: Fence; ended: boolean; work: PromiseWithResolvers<void> } = {
    ended: false,
    work: Promise.withResolvers<void>(),
  };
  const outcome = elect({
    api,
    watcher: api,
    ownPrefix,
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
}

test('the first contender creates the lease, leads and renews it every 1.5 s', async () => {
  const clock = new VirtualClock();
  const api = new LeaseServer();
  const a = contender(api, 'a', clock);
  await clock.advance(6000);
  assert.equal(a.mayAct(), true);
  assert.deepEqual(api.lease?.spec, {
    holderIdentity: 'a',
    leaseDurationSeconds: 9,
    acquireTime: '2026-01-01T00:00:00.000000Z',
    renewTime: '2026-01-01T00:00:06.000000Z',
    leaseTransitions: 0,
  });
  a.stop.abort();
  await clock.advance(0);
  assert.equal(await a.outcome, 'stopped');
});

for (const skewMs of [-3_600_000, 0, 3_600_000]) {
  test(`two contenders, the second one's clock ${skewMs / 1000} s ahead: it takes over only 9 s after the last renewal that it saw`, async () => {
    const clock = new VirtualClock();
    const api = new LeaseServer();
    const a = contender(api, 'a', clock);
    await clock.advance(1);
    const b = contender(api, 'b', clock, skewMs);
    await clock.advance(60_000);
    assert.deepEqual([a.mayAct(), b.mayAct()], [true, false]);
    let isCut = true;
    api.fault = call =>
      isCut && call.body !== undefined && (call.body as LeaseObject).spec?.holderIdentity === 'a'
        ? 'never arrives'
        : undefined;
    let both = 0;
    let until = 0;
    for (let step = 0; step < 200 && !b.mayAct(); step += 1) {
      await clock.advance(100);
      if (a.mayAct() && b.mayAct()) both += 1;
      until = step * 100;
    }
    assert.equal(both, 0);
    assert.ok(until >= 7000 && until < 9500, `taken over after ${until} ms`);
    assert.equal(await a.outcome, 'lost');
    assert.deepEqual(
      [api.lease?.spec?.holderIdentity, api.lease?.spec?.leaseTransitions],
      ['b', 1],
    );
    isCut = false;
    b.stop.abort();
    await clock.advance(0);
    assert.equal(await b.outcome, 'stopped');
  });
}

test('renewals that hang: the fence closes after 6 s, the work is told to end, the outcome is lost', async () => {
  const clock = new VirtualClock();
  const api = new LeaseServer();
  const a = contender(api, 'a', clock);
  await clock.advance(1500);
  api.fault = () => 'hangs';
  await clock.advance(5900);
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
  clock.jump(5500);
  assert.equal(a.mayAct(), false, 'the process stood still for longer than the deadline');
  clock.jump(-3_600_000);
  assert.equal(a.mayAct(), false, 'the clock was set back');
  clock.jump(3_600_000 - 5500);
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
  assert.equal(api.lease?.spec?.renewTime, '2026-01-01T00:00:01.500000Z');
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

for (const blind of [false, true])
  test(`a clean hand-over: released only after the work has ended, and taken ${blind ? 'at the next try where the watch sees nothing' : 'at once'}`, async () => {
    const clock = new VirtualClock();
    const api = new LeaseServer();
    api.blind = blind;
    const a = contender(api, 'a', clock);
    await clock.advance(1);
    const b = contender(api, 'b', clock);
    await clock.advance(9_100);
    a.stop.abort();
    await clock.advance(0);
    assert.equal(await a.outcome, 'stopped');
    const givenBack = api.writes.find(({ spec }) => spec?.holderIdentity === '');
    assert.equal(givenBack?.spec?.leaseDurationSeconds, 1);
    await clock.advance(0);
    assert.deepEqual([a.mayAct(), b.mayAct()], [false, !blind]);
    await clock.advance(1500);
    assert.equal(b.mayAct(), true);
    assert.deepEqual(
      new Set(api.watched),
      new Set(['/apis/coordination.k8s.io/v1/namespaces/ns/leases?metadata.name=lock']),
    );
    b.stop.abort();
    await clock.advance(0);
    await b.outcome;
  });

test('an older lease than before is that of a restored backup: lost, and to be had again at once', async () => {
  const clock = new VirtualClock();
  const api = new LeaseServer();
  const a = contender(api, 'a', clock);
  await clock.advance(1000);
  const backup = api.lease;
  await clock.advance(6000);
  api.restore(backup!, 1);
  await clock.advance(1500);
  assert.equal(await a.outcome, 'lost');
  assert.equal(a.mayAct(), false);
  const again = contender(api, 'a', clock);
  await clock.advance(0);
  assert.equal(again.mayAct(), true);
  again.stop.abort();
  await clock.advance(0);
  await again.outcome;
});

test('a lease that somebody deletes is made anew at once', async () => {
  const clock = new VirtualClock();
  const api = new LeaseServer();
  const a = contender(api, 'a', clock);
  await clock.advance(100);
  api.fault = call =>
    (call.body as LeaseObject | undefined)?.spec?.holderIdentity === 'a'
      ? 'never arrives'
      : undefined;
  const b = contender(api, 'b', clock);
  await clock.advance(100);
  api.remove();
  await clock.advance(0);
  assert.deepEqual([api.lease?.spec?.holderIdentity, b.mayAct()], ['b', true]);
  for (const one of [a, b]) one.stop.abort();
  await clock.advance(0);
  await Promise.all([a.outcome, b.outcome]);
});

test('what an earlier process of the same pod has left is taken at once, what another pod has is not', async () => {
  const clock = new VirtualClock();
  const api = new LeaseServer();
  const a = contender(api, 'pod-a_1_first', clock, 0, 'pod-a_1_');
  await clock.advance(100);
  // It is killed: it neither renews nor gives back.
  api.fault = call =>
    (call.body as LeaseObject | undefined)?.spec?.holderIdentity === 'pod-a_1_first'
      ? 'never arrives'
      : undefined;
  const b = contender(api, 'pod-b_2_first', clock, 0, 'pod-b_2_');
  const namesake = contender(api, 'pod-a_3_first', clock, 0, 'pod-a_3_');
  await clock.advance(1000);
  const again = contender(api, 'pod-a_1_second', clock, 0, 'pod-a_1_');
  await clock.advance(0);
  assert.deepEqual([again.mayAct(), b.mayAct(), namesake.mayAct()], [true, false, false]);
  assert.deepEqual(
    [api.lease?.spec?.holderIdentity, api.lease?.spec?.leaseTransitions],
    ['pod-a_1_second', 1],
  );
  await clock.advance(8000);
  assert.equal(await a.outcome, 'lost');
  for (const one of [again, b, namesake]) one.stop.abort();
  await clock.advance(0);
  await Promise.all([again.outcome, b.outcome, namesake.outcome]);
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

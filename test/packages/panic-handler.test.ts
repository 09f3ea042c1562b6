import assert from 'node:assert/strict';
import { request, validateHeaderValue } from 'node:http';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { machineAdapter } from '@drydock/apis';
import { watchMetadata } from '@drydock/clouds';
import type { Api } from '@drydock/kube-client';
import { EventRecorder, LeaseLock, reflectorWatcher } from '@drydock/kube-client';
import { scanner } from '@drydock/operator';
import { AdmissionHandler, followCertificate } from '@drydock/operator/admission';
import { InformerSet, PodWatches } from '@drydock/operator/cache';
import { MachineCache } from '@drydock/operator/machines';
import { Guard } from '@drydock/operator/serving';
import {
  creation,
  FakeLog,
  FakeMeter,
  medik8s,
  node,
  object,
  response,
  ScriptedApi,
  settle,
} from '@drydock/operator/testing';
import { isDefect, PanicHandler, VirtualClock } from '@drydock/utils';

test('a defect is logged once for each object and counted each time, until a thousand others have come', () => {
  const [log, meter] = [new FakeLog(), new FakeMeter()];
  const defects = new PanicHandler({ log, meter });
  const tell = (count: number): void =>
    void defects.report('Node', `n${count}`, new Error('broken'));
  for (const count of [0, 1, 0, 1]) tell(count);
  assert.deepEqual([log.lines.length, meter.panics.length], [2, 4]);
  for (let count = 2; count < 1000; count += 1) tell(count);
  tell(0);
  assert.equal(log.lines.length, 1000);
  tell(1000);
  tell(0);
  assert.equal(log.lines.length, 1002, 'then all of them are forgotten, and told anew');
});

describe('what is a defect', () => {
  const thrownBy = (work: () => unknown): unknown => {
    try {
      work();
    } catch (error) {
      return error;
    }
    throw new Error('nothing was thrown');
  };
  const missing = undefined as unknown as { readonly length: number };

  test('is what the language throws at a program that is wrong', () => {
    for (const work of [
      () => missing.length,
      () => 'x'.repeat(-1),
      () => (missing as unknown as () => void)(),
    ])
      assert.equal(isDefect(thrownBy(work)), true, String(work));
  });

  test('is not what Node throws at what a file, an address or an answer holds', () => {
    const works = [
      () => new URL('http://[x'),
      () => new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array([0xff])),
      () => validateHeaderValue('authorization', 'Bearer a\nb'),
      () => request({ path: '/a b' }),
      () => connect(99_999),
    ];
    for (const work of works) assert.equal(isDefect(thrownBy(work)), false, String(work));
    assert.equal(isDefect(new Error('ECONNREFUSED')), false);
  });
});

type Place = {
  readonly api: Api;
  readonly clock: VirtualClock;
  readonly log: FakeLog;
  readonly defects: PanicHandler;
};

/**
 * Whoever asks somebody, in a loop or for an answer: what is shown when the call throws, or nothing
 * where it is in the log alone.
 */
const askers: Readonly<
  Record<string, (place: Place, stop: AbortController) => Promise<string | undefined>>
> = {
  'the webhook, of a right or a node': async ({ api, clock, log, defects }) => {
    const handler = new AdmissionHandler({
      api,
      clock,
      log,
      defects,
      openShift: false,
      namespace: 'own',
      planProblems: () => [],
    });
    const verdict = await handler.decide(medik8s, creation(medik8s, object('m', 'n1')));
    return verdict.kind === 'denied' ? verdict.message : '';
  },
  'the webhook, of a reservation': async ({ api, clock, log, defects }) => {
    const leases = {
      call: async (call: Parameters<Api['call']>[0]) =>
        call.path.includes('/leases') ? api.call(call) : known(call.path),
    };
    const handler = new AdmissionHandler({
      api: leases,
      clock,
      log,
      defects,
      openShift: false,
      namespace: 'own',
      planProblems: () => [],
    });
    const verdict = await handler.decide(medik8s, creation(medik8s, object('m', 'n1')));
    return verdict.kind === 'denied' ? verdict.message : '';
  },
  'the webhook, of what is left behind': async ({ api, clock, log, defects }) => {
    await new AdmissionHandler({
      api,
      clock,
      log,
      defects,
      openShift: false,
      namespace: 'own',
      planProblems: () => [],
    }).sweep();
    return undefined;
  },
  'the certificate': async ({ api, clock, log, defects }, stop) => {
    const pair = async (): Promise<never> => {
      await api.call({ method: 'GET', path: '/secret' });
      throw new Error('answered');
    };
    void followCertificate(
      { clock, log, defects, mounted: pair, selfMade: pair, show: () => {}, trust: () => {} },
      stop.signal,
    );
    await settle();
    return undefined;
  },
  'the leader, of its lease': async ({ api, clock, defects }) => {
    const times = { durationMs: 9000, timeoutMs: 3000, uptime: () => 0 };
    const lock = new LeaseLock({
      api,
      clock,
      defects,
      namespace: 'own',
      name: 'drydock',
      identity: 'me',
      ...times,
    });
    const { signal } = new AbortController();
    assert.equal(await lock.release(signal), false);
    const tried = await lock.attempt(signal);
    return 'why' in tried ? tried.why : '';
  },
  'the recorder of events': async ({ api, clock, log, defects }) => {
    const recorder = new EventRecorder({
      api,
      clock,
      log,
      defects,
      random: () => 0,
      instance: 'me',
    });
    const about = { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'u' };
    recorder.record({
      type: 'Normal',
      reason: 'Said',
      message: 'said',
      component: 'drydock',
      about,
    });
    await settle();
    return String(log.lines.at(-1)?.fields['error']);
  },
  'a watch': async ({ api, clock, log, defects }, stop) => {
    const stream = async (): Promise<never> => assert.fail('nothing is listed yet');
    const told: string[] = [];
    const handler = {
      changed: () => {},
      synced: () => {},
      failing: ({ message }: { readonly message: string }) => told.push(message),
    };
    const watcher = reflectorWatcher({
      api: { call: call => api.call(call), stream },
      clock,
      log,
      defects,
      random: () => 0,
    });
    void watcher.watch({ path: '/api/v1/pods' }, () => undefined, handler, stop.signal);
    await settle();
    return told.join();
  },
  'who asks whether a kind is served': async ({ api, clock, log, defects }, stop) => {
    const watcher = { watch: async () => {} };
    const informers = new InformerSet({
      watcher,
      log,
      defects,
      mayLack: () => false,
      complete: () => {},
    });
    void informers.followOnceServed(
      { api, clock },
      'vms',
      { path: '/apis/x/v1/vms' },
      () => undefined,
      () => {},
      stop.signal,
    );
    await settle();
    return undefined;
  },
  'who looks for machine APIs': async ({ api, clock, log, defects }, stop) => {
    const changes = { complete: () => {} } as never;
    const options = {
      api,
      clock,
      log,
      defects,
      watcher: { watch: async () => {} },
      namespaces: {} as never,
      changes,
    };
    void new MachineCache({ ...options, adapter: machineAdapter }).run(stop.signal);
    await settle();
    return String(log.lines.at(-1)?.fields['error']);
  },
  'who reads pods once more': async ({ api, clock, log, defects }) => {
    const events = { touched: () => {}, podChanged: () => {} };
    const pods = new PodWatches({
      api,
      clock,
      log,
      defects,
      watcher: { watch: () => new Promise(() => {}) },
      events,
    });
    pods.start('n1');
    pods.confirm('n1');
    await settle();
    pods.stopAll();
    return String(log.lines.at(-1)?.fields['error']);
  },
  'the guard of metrics': async ({ api, clock, defects }) => {
    const checked = await new Guard(api, clock, defects).check('Bearer token', '/metrics');
    return checked === 'allowed' ? '' : checked.text;
  },
  'the scanner of a cloud': async ({ api, clock, defects }) => {
    const source = { name: 'aws', signals: [], presets: [] } as never;
    const { trouble } = await scanner({ api, clock, defects, namespace: 'own' }).scan(
      source,
      new Map([['i-1', 'aws:///eu-central-1a/i-1']]),
      new AbortController().signal,
    );
    return trouble?.message ?? '';
  },
  'the agent, of its notice': async ({ api, clock, log, defects }, stop) => {
    const seen = async (): Promise<void> =>
      void (await api.call({ method: 'PATCH', path: '/notice' }));
    // Nobody answers there: that is told to the cluster as well.
    void watchMetadata({
      provider: 'gcp',
      base: 'http://127.0.0.1:1',
      clock,
      log,
      defects,
      signal: stop.signal,
      seen,
    });
    for (let turn = 0; turn < 400 && !log.lines.some(({ level }) => level === 'error'); turn += 1)
      await settle();
    return String(
      log.lines.findLast(({ message }) => message.startsWith('failed to pass on'))?.fields['error'],
    );
  },
};

function known(path: string) {
  if (path.includes('/nodes/')) return response(200, node('n1'));
  if (path.includes('accessreviews')) return response(201, { status: { allowed: true } });
  return response(200, { items: [] });
}

describe('a call that throws', () => {
  const askedWith = (error: Error) => async (ask: (typeof askers)[string]) => {
    const [log, meter, stop] = [new FakeLog(), new FakeMeter(), new AbortController()];
    const api = new ScriptedApi(() => {
      throw error;
    });
    const shown = await ask(
      { api, clock: new VirtualClock(), log, defects: new PanicHandler({ log, meter }) },
      stop,
    );
    stop.abort();
    const bugs = log.lines.filter(({ message }) => message.startsWith('bug in Drydock'));
    return {
      shown,
      counted: meter.panics.length > 0,
      logged: bugs.map(({ fields }) => fields['error']),
    };
  };

  for (const [who, ask] of Object.entries(askers)) {
    test(`is told as ours where it is ours: ${who}`, async () => {
      const ours = new TypeError('x is not a function');
      const { shown, counted, logged } = await askedWith(ours)(ask);
      assert.deepEqual([counted, logged[0]], [true, ours], 'counted, and logged with its stack');
      if (shown !== undefined)
        assert.match(shown, /Drydock hit a bug; please report it: x is not a function/);
    });

    test(`is told as what it is where nobody answers: ${who}`, async () => {
      const { shown, counted, logged } = await askedWith(new Error('connect ECONNREFUSED'))(ask);
      assert.deepEqual([counted, logged], [false, []]);
      if (shown !== undefined) assert.match(shown, /ECONNREFUSED/);
    });
  }
});

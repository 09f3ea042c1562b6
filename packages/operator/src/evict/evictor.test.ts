import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodCall } from '@drydock/core/drain';
import { at, makeBudget, makePod } from '@drydock/core/testing';
import type { Api } from '@drydock/kube-client';
import { PanicHandler, VirtualClock } from '@drydock/utils';
import {
  FakeLog,
  FakeMeter,
  FakeRecorder,
  failure,
  response,
  SlowApi,
  settle,
} from '../testing/fakes.ts';
import { Evictor } from './evictor.ts';
import { InFlightEvictions } from './in-flight-evictions.ts';

const web = makeBudget('web');
function callOf(name: string, over: Partial<PodCall> = {}): PodCall {
  return {
    pod: makePod(name),
    wave: 0,
    method: 'evict',
    escalated: false,
    ...over,
  };
}
function uidOf(name: string): string {
  return makePod(name).uid;
}

function bench() {
  const clock = new VirtualClock(at(0));
  const [api, inFlight, recorder, meter, log] = [
    new SlowApi(),
    new InFlightEvictions(),
    new FakeRecorder(),
    new FakeMeter(),
    new FakeLog(),
  ];
  const answered: string[] = [];
  const leader = { yes: true };
  const fence = { mayAct: () => leader.yes };
  const gone: string[] = [];
  const evictor = new Evictor({
    api,
    clock,
    log,
    defects: new PanicHandler({ log, meter }),
    recorder,
    meter,
    fence,
    inFlight,
    gone: ({ name }, nodeName) => gone.push(`${name} on ${nodeName}`),
    answered: node => answered.push(node),
  });
  const states = (): Readonly<Record<string, string>> =>
    Object.fromEntries(
      ['n1', 'n2'].flatMap(name => inFlight.of(name)).map(({ podName, state }) => [podName, state]),
    );
  const asked = (): readonly string[] =>
    api.waiting.map(({ call }) => `${call.method} ${call.path}`);
  return {
    clock,
    api,
    inFlight,
    recorder,
    meter,
    log,
    gone,
    answered,
    leader,
    evictor,
    states,
    asked,
  };
}

test('an eviction names its pod by uid, and goes behind everything vital', async () => {
  const { api, evictor } = bench();
  evictor.launch(callOf('a', { gracePeriodSeconds: 5 }), 'n1');
  await settle();
  const { call } = api.next();
  assert.equal(`${call.method} ${call.path}`, 'POST /api/v1/namespaces/shop/pods/a/eviction');
  assert.deepEqual(call.body, {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name: 'a', namespace: 'shop' },
    deleteOptions: { preconditions: { uid: uidOf('a') }, gracePeriodSeconds: 5 },
  });
  assert.equal(call.priority, 'bulk');
});

test('a deletion that overrules a budget waits for the evictions that are under way, not for each other', async () => {
  const { api, evictor, asked } = bench();
  const overrules = [{ budget: web.key, healthy: 3 }];
  evictor.launch(callOf('a', { budget: web }), 'n1');
  evictor.launch(callOf('b', { method: 'delete', overrules }), 'n2');
  evictor.launch(callOf('c', { method: 'delete', overrules }), 'n2');
  await settle();
  assert.equal(asked().length, 1);
  api.next().response(response(201));
  await settle();
  assert.deepEqual(asked(), [
    'DELETE /api/v1/namespaces/shop/pods/b',
    'DELETE /api/v1/namespaces/shop/pods/c',
  ]);
});

test('that a pod is no more is told at once, and only when the server says so of the pod', async () => {
  const { api, evictor, gone } = bench();
  for (const name of ['a', 'b', 'c']) evictor.launch(callOf(name), 'n1');
  await settle();
  api.next().response(response(404, { reason: 'NotFound', details: { name: 'a', kind: 'pods' } }));
  api.next().response(response(404));
  api.next().response(response(201));
  await settle();
  assert.deepEqual(gone, ['a on n1']);
});

test('the codes of a webhook say nothing of the pod, its budget or its request', async () => {
  const { api, evictor, gone, states } = bench();
  const requestFor = { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'n' };
  evictor.launch(callOf('a'), 'n1');
  evictor.launch(callOf('b', { budget: web }), 'n1');
  evictor.launch(callOf('c', { method: 'request', requestFor }), 'n1');
  await settle();
  const by = 'admission webhook "a.b.c" denied the request: no';
  api.next().response(response(404, { message: by, details: { name: 'a', kind: 'pods' } }));
  api.next().response(
    response(500, {
      message: 'Internal error occurred: failed calling webhook "a.b.c": connection refused',
    }),
  );
  api.next().response(response(409, { message: by, reason: 'AlreadyExists' }));
  await settle();
  assert.deepEqual(gone, []);
  assert.deepEqual(states(), {}, 'nothing has happened: nothing counts');
  const kinds = [...evictor.attemptsOf('n1').values()].map(({ outcome }) => outcome.kind);
  assert.deepEqual(kinds, ['denied', 'webhookFailed', 'denied']);
});

test('evictions of one budget take turns, those of others and of none at the same time', async () => {
  const { api, evictor, asked, states } = bench();
  evictor.launch(callOf('a', { budget: web }), 'n1');
  evictor.launch(callOf('b', { budget: web }), 'n2');
  evictor.launch(callOf('c', { budget: makeBudget('db') }), 'n1');
  evictor.launch(callOf('d'), 'n1');
  assert.equal(states()['b'], 'queued', 'it counts from this moment');
  await settle();
  const paths = (names: readonly string[]): readonly string[] =>
    names.map(name => `POST /api/v1/namespaces/shop/pods/${name}/eviction`);
  assert.deepEqual(asked(), paths(['a', 'c', 'd']));
  assert.deepEqual(states(), { a: 'sent', b: 'queued', c: 'sent', d: 'sent' });
  api.next().response(response(201));
  await settle();
  assert.deepEqual(asked(), paths(['c', 'd', 'b']));
});

test('a failed one does not stop those behind it', async () => {
  const { api, evictor, asked } = bench();
  evictor.launch(callOf('a', { budget: web }), 'n1');
  evictor.launch(callOf('b', { budget: web }), 'n1');
  await settle();
  api.next().fail(new Error('socket hang up'));
  await settle();
  assert.equal(asked().length, 1);
});

test('of many evictions 32 are on their way at once; the others can still be called back', async () => {
  const { api, evictor, asked, states } = bench();
  const names = Array.from({ length: 40 }, (_, index) => `p${index}`);
  for (const name of names) evictor.launch(callOf(name, { budget: makeBudget(name) }), 'n1');
  await settle();
  assert.equal(asked().length, 32);
  assert.deepEqual(
    [states()['p31'], states()['p32']],
    ['sent', 'queued'],
    'each counts against its budget all the same',
  );
  evictor.recall('n1', new Set(names.map(uidOf).filter(uid => uid !== uidOf('p32'))));
  for (let answers = 0; answers < 2; answers += 1) api.next().response(response(201));
  await settle();
  assert.deepEqual(
    asked().slice(-2),
    ['p33', 'p34'].map(name => `POST /api/v1/namespaces/shop/pods/${name}/eviction`),
  );
});

test('what is queued can be called back until it is sent; what may still leave is not', async () => {
  const { api, evictor, states, asked } = bench();
  for (const name of ['a', 'b', 'c']) evictor.launch(callOf(name, { budget: web }), 'n1');
  evictor.launch(callOf('x', { budget: web }), 'n2');
  await settle();
  evictor.recall('n1', new Set([uidOf('c')]));
  assert.deepEqual(
    states(),
    { a: 'sent', c: 'queued', x: 'queued' },
    'the one that is sent is beyond recall, other nodes are not meant',
  );
  api.next().response(response(201));
  await settle();
  assert.deepEqual(asked(), ['POST /api/v1/namespaces/shop/pods/c/eviction'], 'b is never sent');
});

test('one that was called back and may leave again is sent once, and counts until its budget shows it', async () => {
  const { api, evictor, states, asked } = bench();
  for (const name of ['a', 'b']) evictor.launch(callOf(name, { budget: web }), 'n1');
  await settle();
  evictor.recall('n1', new Set());
  evictor.launch(callOf('b', { budget: web, gracePeriodSeconds: 5 }), 'n1');
  api.next().response(response(201));
  await settle();
  const [again, ...others] = api.waiting;
  assert.deepEqual(
    [
      (again?.call.body as { deleteOptions?: { gracePeriodSeconds?: number } })?.deleteOptions
        ?.gracePeriodSeconds,
      others,
    ],
    [5, []],
    'as it was asked for the second time',
  );
  api.next().response(response(201));
  await settle();
  assert.deepEqual([states(), asked()], [{ a: 'accepted', b: 'accepted' }, []]);
});

test('with the fence closed nothing is sent, and what was queued is off', async () => {
  const { leader, evictor, states, asked, answered, meter } = bench();
  leader.yes = false;
  evictor.launch(callOf('a', { budget: web }), 'n1');
  await settle();
  assert.deepEqual([asked(), states(), answered, meter.evictions], [[], {}, [], []]);
});

test('a fence that closes meanwhile stops those that queue', async () => {
  const { api, leader, evictor, states, asked } = bench();
  evictor.launch(callOf('a', { budget: web }), 'n1');
  evictor.launch(callOf('b', { budget: web }), 'n1');
  await settle();
  leader.yes = false;
  api.next().response(response(201));
  await settle();
  assert.deepEqual(asked(), []);
  assert.deepEqual(states(), { a: 'accepted' });
});

test('what was accepted counts against its budget until the budget shows it; without a budget it is over at once', async () => {
  const { api, evictor, states, answered, meter } = bench();
  evictor.launch(callOf('a', { budget: web }), 'n1');
  evictor.launch(callOf('b'), 'n2');
  await settle();
  api.next().response(response(201));
  api.next().response(response(201));
  await settle();
  assert.deepEqual(states(), { a: 'accepted' });
  assert.deepEqual(answered, ['n1', 'n2'], 'the nodes have their turn again');
  assert.deepEqual(meter.evictions, ['evict accepted', 'evict accepted']);
});

test('no answer at all: the budget stays reserved, for it may have happened', async () => {
  const { api, evictor, states, answered, meter } = bench();
  evictor.launch(callOf('a', { budget: web }), 'n1');
  await settle();
  api.next().fail(new Error('socket hang up'));
  await settle();
  assert.deepEqual(states(), { a: 'accepted' });
  assert.deepEqual(evictor.attemptsOf('n1').get(uidOf('a'))?.outcome, {
    kind: 'failed',
    message: 'socket hang up',
  });
  assert.deepEqual([answered, meter.evictions], [['n1'], ['evict failed']]);
});

test('a refusal takes nothing from the budget, and is remembered with the version that was seen', async () => {
  const { api, clock, evictor, states } = bench();
  evictor.launch(callOf('a', { budget: web }), 'n1');
  await settle();
  await clock.advance(2000);
  api.next().response(failure(429, 'needs 3 healthy pods', 'DisruptionBudget'));
  await settle();
  assert.deepEqual(states(), {});
  const attempt = evictor.attemptsOf('n1').get(uidOf('a'));
  assert.deepEqual(attempt, {
    method: 'evict',
    outcome: { kind: 'budget', message: 'needs 3 healthy pods' },
    at: at(2),
    tries: 1,
    budgetSeen: 'shop/web@20',
  });
});

test('the seconds of an eviction are those from sending to answer, not those in the queue', async () => {
  const { api, clock, evictor, meter } = bench();
  evictor.launch(callOf('a', { budget: web }), 'n1');
  evictor.launch(callOf('b', { budget: web }), 'n1');
  await clock.advance(200);
  api.next().response(response(201));
  await clock.advance(100);
  api.next().response(response(201));
  await settle();
  assert.deepEqual(meter.seconds, [0.2, 0.1]);
});

test('attempts are counted as long as the outcome is the same, and forgotten with the pod or the node', async () => {
  const { api, evictor } = bench();
  const refuse = async (name: string, node: string, status: number): Promise<void> => {
    evictor.launch(callOf(name), node);
    await settle();
    api.next().response(failure(status, 'no'));
    await settle();
  };
  const tries = (node: string): readonly number[] =>
    [...evictor.attemptsOf(node).values()].map(({ tries }) => tries);
  await refuse('a', 'n1', 403);
  await refuse('a', 'n1', 403);
  assert.deepEqual(tries('n1'), [2]);
  await refuse('a', 'n1', 500);
  assert.deepEqual(tries('n1'), [1]);
  await refuse('b', 'n2', 403);
  evictor.forget(uidOf('a'), 'n1');
  assert.deepEqual([tries('n1'), tries('n2')], [[], [1]]);
  evictor.forgetNode('n2');
  assert.deepEqual(tries('n2'), []);
});

test('past its deadline a pod is marked as disrupted first and deleted then, with an event', async () => {
  const { api, evictor, recorder, meter } = bench();
  evictor.launch(callOf('a', { method: 'delete', escalated: true, gracePeriodSeconds: 7 }), 'n1');
  await settle();
  assert.equal(api.waiting.length, 1);
  const mark = api.next();
  assert.equal(
    `${mark.call.method} ${mark.call.path}`,
    'PATCH /api/v1/namespaces/shop/pods/a/status',
  );
  assert.match(
    JSON.stringify(mark.call.body),
    /"uid":"uid-shop-a".*"type":"DisruptionTarget","status":"True"/,
  );
  mark.response(response(200));
  await settle();
  const deletion = api.next();
  assert.equal(
    `${deletion.call.method} ${deletion.call.path}`,
    'DELETE /api/v1/namespaces/shop/pods/a',
  );
  assert.deepEqual(deletion.call.body, {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    preconditions: { uid: uidOf('a') },
    gracePeriodSeconds: 7,
  });
  assert.deepEqual(recorder.reasons, ['DeletedPastDeadline']);
  deletion.response(response(200));
  await settle();
  assert.deepEqual(meter.evictions, ['delete accepted'], 'the mark is no eviction');
});

test('a mark that cannot be set is told and does not stop the deletion', async () => {
  const { api, evictor, log } = bench();
  evictor.launch(callOf('a', { method: 'delete', escalated: true }), 'n1');
  await settle();
  api.next().response(failure(403, 'no'));
  await settle();
  assert.equal(api.next().call.method, 'DELETE');
  assert.deepEqual(log.of('warn'), ['failed to set the DisruptionTarget condition of a pod']);
});

test('a lease that is lost while a pod is marked keeps it from being deleted', async () => {
  const { api, evictor, leader } = bench();
  evictor.launch(callOf('a', { method: 'delete', escalated: true }), 'n1');
  await settle();
  leader.yes = false;
  api.next().response(response(200));
  await settle();
  assert.equal(api.waiting.length, 0);
});

test('a plain deletion, as the policy may ask for, is neither marked nor announced', async () => {
  const { api, evictor, recorder } = bench();
  evictor.launch(callOf('a', { method: 'delete' }), 'n1');
  await settle();
  assert.equal(api.next().call.method, 'DELETE');
  assert.deepEqual(recorder.reasons, []);
});

function notThere(name: string) {
  return response(404, { reason: 'NotFound', details: { name, kind: 'pods' } });
}

test('the log tells what becomes of each pod: evicted, deleted, or why it cannot go', async () => {
  const { api, evictor, log } = bench();
  const said = async (
    name: string,
    over: Partial<PodCall>,
    reply: ReturnType<typeof response>,
  ): Promise<unknown> => {
    evictor.launch(callOf(name, over), 'n1');
    await settle();
    api.next().response(reply);
    await settle();
    const { message, fields } = log.lines.at(-1)!;
    return [message, fields['outcome'], fields['message']];
  };
  assert.deepEqual(await said('a', {}, response(201)), [
    'pod is being evicted',
    undefined,
    undefined,
  ]);
  assert.deepEqual(await said('b', { method: 'delete' }, response(200)), [
    'pod is being deleted',
    undefined,
    undefined,
  ]);
  const [message, outcome, why] = (await said(
    'c',
    {},
    failure(403, 'not by you'),
  )) as readonly string[];
  assert.deepEqual([message, outcome], ['pod cannot go yet', 'forbidden']);
  assert.match(why ?? '', /not by you/);
  assert.deepEqual(await said('d', {}, notThere('d')), ['pod cannot go yet', 'gone', undefined]);
});

test('a pod that is gone when it is to be marked is no trouble', async () => {
  const { api, evictor, log } = bench();
  for (const reply of [response(200), notThere('a')]) {
    evictor.launch(callOf('a', { method: 'delete', escalated: true, budget: web }), 'n1');
    await settle();
    api.next().response(reply);
    await settle();
    api.next().response(response(200));
    await settle();
    evictor.forget(uidOf('a'), 'n1');
  }
  assert.deepEqual(log.of('warn'), []);
});

test('a deletion carries what it overrules, for others to leave that to it', () => {
  const { evictor, inFlight } = bench();
  const overrules = [{ budget: web.key, healthy: 3 }];
  evictor.launch(callOf('a', { method: 'delete', overrules }), 'n1');
  evictor.launch(callOf('b'), 'n1');
  assert.deepEqual(
    inFlight.of('n1').map(inFlightEviction => inFlightEviction.overrules),
    [overrules, undefined],
  );
});

test('whoever comes when the first of two has been answered still waits for the second', async () => {
  const { api, evictor, asked } = bench();
  for (const name of ['a', 'b']) evictor.launch(callOf(name, { budget: web }), 'n1');
  await settle();
  api.next().response(response(201));
  await settle();
  evictor.launch(callOf('c', { budget: web }), 'n1');
  await settle();
  assert.deepEqual(asked(), ['POST /api/v1/namespaces/shop/pods/b/eviction']);
});

test('of a pod that had ended when it was asked to go, that is remembered', async () => {
  const { api, evictor } = bench();
  const ended = async (name: string, phase: string): Promise<boolean> => {
    evictor.launch(callOf(name, { pod: makePod(name, { phase }) }), 'n1');
    await settle();
    api.next().response(failure(403, 'no'));
    await settle();
    return evictor.attemptsOf('n1').get(uidOf(name))?.ended === true;
  };
  assert.deepEqual([await ended('a', 'Succeeded'), await ended('b', 'Running')], [true, false]);
});

function bug(): never {
  throw new Error('bug in the cache');
}

type Breaks = {
  readonly gone?: () => never;
  readonly answered?: () => never;
  readonly evicted?: () => never;
};

function broken<A extends Api>(over: Breaks, api: A) {
  const clock = new VirtualClock(at(0));
  const [inFlight, meter, log] = [new InFlightEvictions(), new FakeMeter(), new FakeLog()];
  if (over.evicted !== undefined) meter.evicted = over.evicted;
  const { gone = () => {}, answered = () => {} } = over;
  const evictor = new Evictor({
    api,
    clock,
    log,
    defects: new PanicHandler({ log, meter }),
    recorder: new FakeRecorder(),
    meter,
    fence: { mayAct: () => true },
    inFlight,
    gone,
    answered,
  });
  return { api, inFlight, meter, log, evictor };
}

test('a bug of ours after the answer: an eviction that was accepted counts as such, and the bug is told as one, once', async () => {
  for (const over of [{ answered: bug }, { evicted: bug }]) {
    const { api, inFlight, meter, log, evictor } = broken(over, new SlowApi());
    evictor.launch(callOf('a', { budget: web }), 'n1');
    await settle();
    api.next().response(response(201));
    await settle();
    assert.deepEqual(
      inFlight.of('n1').map(({ state }) => state),
      ['accepted'],
    );
    assert.ok(meter.panics.length > 0);
    assert.equal(log.of('error').length, 1);
    evictor.launch(callOf('b', { budget: web }), 'n1');
    await settle();
    assert.equal(api.waiting.length, 1, 'the budget goes on');
  }
});

test('a bug of ours where the pod is gone: nobody waits for it', async () => {
  const { api, inFlight, meter, evictor } = broken({ gone: bug }, new SlowApi());
  evictor.launch(callOf('a', { budget: web }), 'n1');
  await settle();
  api.next().response(response(404, { details: { name: 'a', kind: 'pods' } }));
  await settle();
  assert.deepEqual([inFlight.of('n1').length, meter.panics.length], [0, 1]);
});

test('a bug of ours in the call is no refusal of the API server', async () => {
  const api = {
    call: async () => {
      throw new TypeError("Cannot read properties of undefined (reading 'boom')");
    },
  };
  const { evictor, meter, log } = broken({}, api);
  evictor.launch(callOf('a'), 'n1');
  await settle();
  assert.deepEqual([meter.panics.length, log.of('error').length], [1, 1]);
  const attempt = evictor.attemptsOf('n1').get(uidOf('a'));
  assert.match(JSON.stringify(attempt), /Drydock hit a bug/);
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { timeText } from '@drydock/apimachinery';
import { at, makePod } from '../../testing/make.ts';
import { type EvictionCandidate, type PlanContext, plan } from '../plan.ts';
import {
  type ActiveResponder,
  readLifecycleEviction,
  responderBlockerInfo,
} from './eviction-request.ts';

const mover = 'mover.example/m';
const evictor = 'imperative-eviction.k8s.io/evictor';

function raw(
  status: object,
  spec: object = { target: { pod: { name: 'a', uid: 'uid-shop-a' } } },
): object {
  return {
    metadata: {
      namespace: 'shop',
      name: 'a-1-x',
      uid: 'e',
      resourceVersion: '7',
      creationTimestamp: timeText(at(0)),
    },
    spec,
    status,
  };
}
function active(name: string): object {
  return {
    targetResponders: [
      { name: 'other.example/o', state: 'Completed' },
      { name, state: 'Active' },
    ],
  };
}

test('whose turn it is, with all that it has said', () => {
  const said = {
    name: mover,
    startTime: '2026-01-01T00:00:00Z',
    heartbeatTime: '2026-01-01T00:01:00Z',
    expectedCompletionTime: '2026-01-01T00:10:00Z',
    message: 'migrating to n2, 40 %',
  };
  const { podUid, key, responder } =
    readLifecycleEviction(
      raw({ ...active(mover), responders: [{ name: 'other.example/o' }, said] }),
    ) ?? {};
  assert.deepEqual([podUid, key], ['uid-shop-a', 'shop/a-1-x']);
  const times = [
    responder?.startTime,
    responder?.heartbeatTime,
    responder?.expectedCompletionTime,
  ].map(time => time && timeText(time));
  assert.deepEqual(
    [responder?.name, responder?.message, ...times],
    [mover, said.message, said.startTime, said.heartbeatTime, said.expectedCompletionTime],
  );
});

test('the default responder is known as such', () => {
  assert.deepEqual(readLifecycleEviction(raw(active(evictor)))?.responder, {
    name: evictor,
    createdAt: at(0),
    isDefault: true,
  });
});

for (const [what, status] of [
  ['nobody yet', {}],
  ['nobody any more', { targetResponders: [{ name: mover, state: 'Completed' }] }],
  [
    'the pod is evicted',
    { ...active(mover), conditions: [{ type: 'TargetEvicted', status: 'True' }] },
  ],
  ['it has failed', { ...active(mover), conditions: [{ type: 'Failed', status: 'True' }] }],
  ['odd: no lists', { targetResponders: 'x', responders: 7, conditions: {} }],
  ['odd: no objects', { targetResponders: [null, 'x'], conditions: [null] }],
  ['odd: a name that is none', { targetResponders: [{ name: 7, state: 'Active' }] }],
] as const)
  test(`nothing is left to a responder: ${what}`, () =>
    assert.equal(readLifecycleEviction(raw(status))?.responder, undefined));

test('conditions that are not true say nothing yet', () => {
  const conditions = ['TargetEvicted', 'Failed'].map(type => ({ type, status: 'False' }));
  assert.equal(
    readLifecycleEviction(raw({ ...active(mover), conditions }))?.responder?.name,
    mover,
  );
});

test('an Eviction of what is no pod is none of ours', () => {
  for (const spec of [{}, { target: {} }, { target: { pod: {} } }, { target: { pod: { uid: 7 } } }])
    assert.equal(readLifecycleEviction(raw(active(mover), spec)), undefined);
  assert.equal(
    readLifecycleEviction({ metadata: { name: 'x', uid: 'u', resourceVersion: '1' } }),
    undefined,
  );
});

test('texts of others are bounded, and what is no text is left out', () => {
  const long = 'x'.repeat(100_000);
  const { responder } =
    readLifecycleEviction(
      raw({ ...active(mover), responders: [{ name: mover, message: long }] }),
    ) ?? {};
  assert.equal(responder?.message?.length, 1000);
  for (const message of ['', 7, null])
    assert.deepEqual(
      readLifecycleEviction(
        raw({ ...active(mover), responders: [{ name: mover, message, startTime: 'soon' }] }),
      )?.responder,
      { name: mover, createdAt: at(0) },
    );
});

describe('the blocker', () => {
  const pod = makePod('a');
  const told = (responder: Partial<ActiveResponder>, seconds: number) =>
    responderBlockerInfo(pod, { name: mover, createdAt: at(0), ...responder }, at(seconds));

  test('says since when, when it was last heard, its own words and when it expects to finish', () => {
    const info = told(
      { startTime: at(0), heartbeatTime: at(60), expectedCompletionTime: at(600), message: '40 %' },
      100,
    );
    assert.equal(
      info.message,
      `responder ${mover} is evicting it (since ${timeText(at(0))}, last heard at ${timeText(at(60))}): 40 %; expected to finish at ${timeText(at(600))}`,
    );
    assert.deepEqual(
      [info.reason, info.remedy, info.pod],
      ['EvictionResponder', undefined, { namespace: 'shop', name: 'a' }],
    );
    assert.equal(told({}, 100).message, `responder ${mover} is evicting it`);
  });

  test('one that is silent for five minutes needs help, and is passed over after twenty', () => {
    assert.equal(told({ startTime: at(0) }, 299).reason, 'EvictionResponder');
    const silent = told({ startTime: at(0) }, 300);
    assert.equal(silent.reason, 'EvictionResponderSilent');
    assert.match(
      silent.message,
      new RegExp(
        `silent, Kubernetes passes it over at ${timeText(at(1200))}, and so does Drydock$`,
      ),
    );
    assert.match(
      silent.remedy ?? '',
      /^check the controller of responder mover\.example\/m; .*Delete overrules it$/,
    );
    assert.equal(told({}, 300).reason, 'EvictionResponderSilent', 'it has never said a word');
    const future = { startTime: at(0), heartbeatTime: at(1_000_000) };
    assert.equal(
      told(future, 300).reason,
      'EvictionResponderSilent',
      'a word of the future is no word',
    );
    assert.equal(
      told({ startTime: at(0), heartbeatTime: at(100) }, 399).reason,
      'EvictionResponder',
    );
    assert.equal(
      told({ startTime: at(0), heartbeatTime: at(100) }, 400).reason,
      'EvictionResponderSilent',
    );
  });
});

describe('the plan', () => {
  const around = (responder: ActiveResponder, seconds: number): PlanContext => ({
    nodeName: 'n1',
    vmPods: new Map(),
    budgets: [],
    inFlight: [],
    attempts: new Map(),
    recreations: new Map(),
    responders: new Map([['uid-shop-a', responder]]),
    now: at(seconds),
  });
  const candidate = (name: string, over: Partial<EvictionCandidate> = {}): EvictionCandidate => ({
    pod: makePod(name),
    wave: 0,
    method: 'evict',
    escalated: false,
    ...over,
  });

  test('leaves the pod to its responder, looks again when that may be silent, and evicts the others', () => {
    const planned = plan(
      [candidate('a'), candidate('b')],
      around({ name: mover, createdAt: at(0), startTime: at(0) }, 10),
    );
    assert.deepEqual(
      planned.calls.map(({ pod, overrulesResponder }) => [pod.name, overrulesResponder]),
      [['b', undefined]],
    );
    assert.deepEqual(
      planned.blockerInfos.map(({ reason }) => reason),
      ['EvictionResponder'],
    );
    assert.equal(planned.requeueAt && timeText(planned.requeueAt), timeText(at(300)));
    const silent = { name: mover, createdAt: at(0) };
    assert.deepEqual(
      plan([candidate('a')], around(silent, 300)).requeueAt,
      at(1200),
      'when it is passed over',
    );
    assert.deepEqual(plan([candidate('a')], around(silent, 1199)).calls, []);
    const [call] = plan([candidate('a')], around(silent, 1200)).calls;
    assert.deepEqual(
      [call?.pod.name, call?.overrulesResponder],
      ['a', mover],
      'nobody keeps a pod for as long as an object stands',
    );
  });

  test('a deletion by policy does not go past it either; a rung of the ladder does, and names it', () => {
    assert.deepEqual(
      plan([candidate('a', { method: 'delete' })], around({ name: mover, createdAt: at(0) }, 0))
        .calls,
      [],
    );
    const [call] = plan(
      [candidate('a', { method: 'delete', escalated: true })],
      around({ name: mover, createdAt: at(0) }, 0),
    ).calls;
    assert.deepEqual([call?.pod.name, call?.overrulesResponder], ['a', mover]);
  });

  test('one that is terminating is waited for as any other', () => {
    const { pod } = candidate('a');
    const going = candidate('a', { pod: { ...pod, deletionTimestamp: at(0) } });
    assert.deepEqual(
      plan([going], around({ name: mover, createdAt: at(0) }, 0)).blockerInfos.map(
        ({ reason }) => reason,
      ),
      ['Terminating'],
    );
  });
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Pod } from '../../pod/pod.ts';
import { at, makeEvictionRequest, makePod } from '../../testing/make.ts';
import type { Attempt } from '../outcome/eviction-outcome.ts';
import { type EvictionCandidate, type PlanContext, plan } from '../plan.ts';
import {
  type EvictionRequest,
  evictionRequestOf,
  evictionRequestPath,
  isUnanswered,
  readEvictionRequest,
  withdrawal,
} from './eviction-request.ts';

const node = { name: 'n1', uid: 'node-uid' };

function candidate(
  pod: Partial<Pod> = {},
  over: Partial<EvictionCandidate> = {},
): EvictionCandidate {
  return {
    pod: makePod('a', { hasResponders: true, ...pod }),
    wave: 0,
    method: 'evict',
    escalated: false,
    ...over,
  };
}

type Around = {
  readonly seconds?: number;
  readonly own?: EvictionRequest;
  readonly areAnswered?: boolean;
  readonly attempt?: Attempt;
  readonly responder?: string;
  readonly mode?: 'Auto' | 'Never';
};

const evictor = 'imperative-eviction.k8s.io/evictor';

/** The method of the call, or the cause and what is waited for. */
function decided(
  one: EvictionCandidate,
  { seconds = 1, own, areAnswered = true, attempt, responder, mode = 'Auto' }: Around = {},
): string {
  const { uid } = one.pod;
  const active =
    responder === undefined
      ? []
      : [
          [
            uid,
            {
              name: responder,
              createdAt: at(0),
              ...(responder === evictor && { isDefault: true as const }),
            },
          ] as const,
        ];
  const planContext: PlanContext = {
    nodeName: 'n1',
    vmPods: new Map(),
    budgets: [],
    inFlight: [],
    attempts: new Map(attempt ? [[uid, attempt]] : []),
    recreations: new Map(),
    responders: new Map(active),
    evictionRequests: { mode, areAnswered, node, own: new Map(own ? [[own.key, own]] : []) },
    now: at(seconds),
  };
  const { calls, blockerInfos, requeueAt } = plan([one], planContext);
  return (
    calls[0]?.method ??
    `${blockerInfos[0]?.reason ?? ''} until ${requeueAt === undefined ? '-' : (requeueAt.epochMilliseconds - at(0).epochMilliseconds) / 1000}`
  );
}

const accepted: Attempt = { method: 'request', outcome: { kind: 'accepted' }, at: at(0), tries: 1 };

describe('what a pod that names responders waits for', () => {
  const cases: readonly (readonly [
    string,
    string,
    Partial<Pod>,
    Partial<EvictionCandidate>,
    Around,
  ])[] = [
    ['nothing has been requested', 'request', {}, {}, {}],
    ['nobody answers requests here', 'evict', {}, {}, { areAnswered: false }],
    ['requests are switched off', 'evict', {}, {}, { mode: 'Never' }],
    ['it names no responders', 'evict', { hasResponders: undefined } as never, {}, {}],
    [
      'a grace period is wanted that a request cannot have',
      'evict',
      {},
      { gracePeriodSeconds: 5 },
      {},
    ],
    [
      'it is to be deleted past its budgets',
      'delete',
      {},
      { method: 'delete', escalated: true },
      {},
    ],
    ['it has ended', 'evict', { phase: 'Succeeded' }, {}, {}],
    ['it has not begun', 'evict', { phase: 'Pending' }, {}, {}],
    ['it is the image of a static pod', 'evict', { mirror: true }, {}, {}],
    [
      'it is of a DaemonSet',
      'evict',
      { owner: { kind: 'DaemonSet', name: 'd', uid: 'd', apiVersion: 'apps/v1' } },
      {},
      {},
    ],
    [
      'the request has been accepted and not been seen yet',
      'EvictionRequested until 30',
      {},
      {},
      { attempt: accepted },
    ],
    ['the request has gone since', 'evict', {}, {}, { attempt: accepted, seconds: 30 }],
    [
      'the request was refused',
      'evict',
      {},
      {},
      { attempt: { ...accepted, outcome: { kind: 'forbidden', message: 'quota' } } },
    ],
    [
      'it has been evicted before',
      'evict',
      {},
      {},
      { attempt: { ...accepted, method: 'evict', outcome: { kind: 'conflict', message: '' } } },
    ],
    [
      'the request has been made',
      'EvictionRequested until 30',
      {},
      {},
      { own: makeEvictionRequest(), seconds: 29 },
    ],
    [
      'no controller has looked at the request in time',
      'evict',
      {},
      {},
      { own: makeEvictionRequest(), seconds: 30 },
    ],
    [
      'another request went unanswered meanwhile',
      'evict',
      {},
      {},
      { own: makeEvictionRequest(), areAnswered: false },
    ],
    [
      'a controller has looked at it',
      'EvictionRequested until 30',
      {},
      {},
      { own: makeEvictionRequest({ isObserved: true }), areAnswered: false },
    ],
    [
      'a controller has looked at it, and nothing came of that',
      'evict',
      {},
      {},
      { own: makeEvictionRequest({ isObserved: true }), seconds: 30 },
    ],
    [
      'the request has come to its end',
      'evict',
      {},
      {},
      { own: makeEvictionRequest({ isOver: true }) },
    ],
    [
      'a tenant of another namespace has forged a request for it that is over',
      'request',
      {},
      {},
      {
        own: makeEvictionRequest({
          namespace: 'tenant',
          key: 'tenant/drydock-uid-shop-a',
          isOver: true,
        }),
      },
    ],
    [
      'a request of another name says that it is over',
      'request',
      {},
      {},
      { own: makeEvictionRequest({ key: 'shop/forged', isOver: true }) },
    ],
    [
      'a responder has its turn',
      'EvictionResponder until 300',
      {},
      {},
      {
        own: makeEvictionRequest({ isObserved: true }),
        responder: 'mover.example/m',
        seconds: 200,
      },
    ],
    [
      'only the default responder is left',
      'evict',
      {},
      {},
      { own: makeEvictionRequest({ isObserved: true }), responder: evictor },
    ],
    [
      'the request has been withdrawn, and goes',
      'EvictionRequested until 35',
      {},
      {},
      { own: makeEvictionRequest({ withdrawnAt: at(5) }) },
    ],
  ];
  for (const [name, expected, pod, over, around] of cases)
    test(`${name}: ${expected}`, () =>
      assert.equal(decided(candidate(pod, over), around), expected));
});

test('a call goes to the pods of no request: the ladder overrules a responder, not the default one', () => {
  const late = candidate({}, { method: 'delete', escalated: true });
  assert.equal(decided(late, { responder: 'mover.example/m' }), 'delete');
  assert.equal(decided(late, { responder: evictor }), 'delete');
});

test('the request names pod, node and intent, and is the same each time', () => {
  assert.deepEqual(evictionRequestOf(makePod('a'), node), {
    apiVersion: 'lifecycle.k8s.io/v1alpha1',
    kind: 'EvictionRequest',
    metadata: {
      namespace: 'shop',
      name: 'drydock-uid-shop-a',
      labels: { 'drydock.dev/requester': 'drain' },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'node-uid' }],
    },
    spec: {
      requester: 'drydock.dev/drain',
      intent: 'Eviction',
      target: { pod: { name: 'a', uid: 'uid-shop-a' } },
    },
  });
  assert.equal(
    evictionRequestPath(makeEvictionRequest()),
    '/apis/lifecycle.k8s.io/v1alpha1/namespaces/shop/evictionrequests/drydock-uid-shop-a',
  );
});

describe('a request as the API server gives it', () => {
  const raw = (over: object = {}) => ({
    metadata: {
      namespace: 'shop',
      name: 'drydock-uid-shop-a',
      uid: 'request-uid',
      resourceVersion: '5',
      creationTimestamp: at(0).toString(),
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'node-uid' }],
    },
    spec: { requester: 'drydock.dev/drain', target: { pod: { name: 'a', uid: 'uid-shop-a' } } },
    ...over,
  });
  test('new', () => assert.deepEqual(readEvictionRequest(raw()), makeEvictionRequest()));
  test('seen by a controller', () =>
    assert.deepEqual(
      readEvictionRequest(raw({ status: { observedGeneration: 1 } })),
      makeEvictionRequest({ isObserved: true }),
    ));
  for (const type of ['TargetEvicted', 'Failed'])
    test(`over: ${type}`, () => {
      const status = { observedGeneration: 1, conditions: [{ type, status: 'True' }] };
      assert.deepEqual(
        readEvictionRequest(raw({ status })),
        makeEvictionRequest({ isObserved: true, isOver: true }),
      );
    });
  test('withdrawn, as we write it', () => {
    const { metadata, spec } = withdrawal(makeEvictionRequest(), at(7)) as {
      readonly metadata: object;
      readonly spec: object;
    };
    assert.deepEqual(spec, { intent: 'Withdrawn' });
    assert.deepEqual(
      readEvictionRequest(raw({ metadata: { ...raw().metadata, ...metadata } })),
      makeEvictionRequest({ withdrawnAt: at(7) }),
    );
  });
  for (const [name, over] of [
    ["somebody else's", { spec: { ...raw().spec, requester: 'x.example/d' } }],
    ['without a pod', { spec: { requester: 'drydock.dev/drain' } }],
    ['that no node owns', { metadata: { ...raw().metadata, ownerReferences: [] } }],
    ['with nothing at all', { spec: undefined, status: [] }],
  ] as const)
    test(`one ${name} is left alone`, () =>
      assert.equal(readEvictionRequest(raw(over)), undefined));
  test('is unanswered after half a minute without a controller', () => {
    assert.deepEqual(
      [29, 30].map(seconds => isUnanswered(makeEvictionRequest(), at(seconds))),
      [false, true],
    );
    assert.equal(isUnanswered(makeEvictionRequest({ isObserved: true }), at(99)), false);
  });
});

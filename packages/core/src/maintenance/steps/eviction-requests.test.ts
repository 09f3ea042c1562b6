import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type {
  ActiveResponder,
  EvictionRequest,
  EvictionRequestsKnown,
} from '../../drain/responders/eviction-request.ts';
import { at, makeEvictionRequest, makeNode, makePod, makeRequest } from '../../testing/make.ts';
import { makeContext } from '../../testing/make-context.ts';
import type { ReconcileContext } from '../reconcile-context.ts';
import type { NodeSnapshot } from '../snapshot.ts';
import { cleanUpEvictionRequests } from './claim.ts';

function request(over: Partial<EvictionRequest> = {}): EvictionRequest {
  return makeEvictionRequest({ isObserved: true, ...over });
}

type Case = {
  readonly own?: readonly EvictionRequest[];
  readonly known?: Partial<EvictionRequestsKnown>;
  readonly responder?: Partial<ActiveResponder>;
  readonly snapshot?: Partial<NodeSnapshot>;
  readonly context?: Partial<ReconcileContext>;
};

const mover: ActiveResponder = { name: 'mover.example/m', createdAt: at(0) };

function tidied({ own = [request()], known, responder, snapshot, context }: Case = {}) {
  return cleanUpEvictionRequests({
    ...makeContext([], {
      node: makeNode(),
      requests: [makeRequest('one', { level: 'Drain' })],
      pods: [makePod('a')],
      evictionRequests: {
        mode: 'Auto',
        areAnswered: true,
        own: new Map(own.map(one => [one.key, one])),
        ...known,
      },
      ...(responder && { responders: new Map([['uid-shop-a', { ...mover, ...responder }]]) }),
      ...snapshot,
    }),
    isDrainJudged: true,
    ...context,
  });
}

const wanted = { context: { evictable: new Set(['uid-shop-a']) } };

/** What is written about it: the method alone says it. */
function action(one: Case): string {
  return tidied(one).context.writes.map(({ method }) => method)[0] ?? 'keep';
}

describe('a request for a pod that is wanted gone', () => {
  const rows: readonly (readonly [what: string, Case, expected: string])[] = [
    ['goes on', {}, 'keep'],
    [
      'goes on while it is young and nobody has looked at it',
      { own: [request({ isObserved: false, createdAt: at(71) })] },
      'keep',
    ],
    ['that nobody has looked at in time', { own: [request({ isObserved: false })] }, 'DELETE'],
    [
      'that has come to its end stays, so that it is not made again',
      { own: [request({ isOver: true })] },
      'keep',
    ],
    ['whose pod is gone', { snapshot: { pods: [makePod('b')] } }, 'DELETE'],
    ['when requests are switched off', { known: { mode: 'Never' } }, 'DELETE'],
    [
      'when requests are switched off and a responder has its turn',
      { known: { mode: 'Never' }, responder: {} },
      'PATCH',
    ],
  ];
  for (const [what, one, expected] of rows)
    test(`${what}: ${expected}`, () => assert.equal(action({ ...wanted, ...one }), expected));
});

describe('a request for a pod that may stay', () => {
  const rows: readonly (readonly [what: string, Case, expected: string])[] = [
    ['while a responder has its turn is withdrawn', { responder: {} }, 'PATCH'],
    ['of which the default responder has its turn', { responder: { isDefault: true } }, 'DELETE'],
    ['of which nobody has a turn', {}, 'DELETE'],
    ['that has come to its end', { own: [request({ isOver: true })], responder: {} }, 'DELETE'],
    [
      'that has been withdrawn stays for its responder',
      { own: [request({ withdrawnAt: at(71) })], responder: {} },
      'keep',
    ],
    [
      'that was withdrawn long ago',
      { own: [request({ withdrawnAt: at(70) })], responder: {} },
      'DELETE',
    ],
    [
      'of a node that is released: its pods are not watched any more',
      { snapshot: { pods: undefined, requests: [] } as never, responder: {} },
      'PATCH',
    ],
    [
      'of a node whose maintenance is being deleted',
      {
        snapshot: { requests: [makeRequest('one', { deleting: true })] },
        context: { isDrainJudged: false },
      },
      'DELETE',
    ],
    ['as long as the drain has not been looked at', { context: { isDrainJudged: false } }, 'keep'],
    [
      'of a node that is only cordoned',
      {
        snapshot: { requests: [makeRequest('one', { level: 'Cordon' })] },
        context: { isDrainJudged: false },
      },
      'DELETE',
    ],
  ];
  for (const [what, one, expected] of rows)
    test(`${what}: ${expected}`, () => assert.equal(action(one), expected));
});

test('a withdrawal is guarded by the version, a deletion by the uid', () => {
  const path =
    '/apis/lifecycle.k8s.io/v1alpha1/namespaces/shop/evictionrequests/drydock-uid-shop-a';
  const [patch] = tidied({ responder: {} }).context.writes;
  assert.deepEqual(
    [patch?.path, patch?.style, patch?.cache, patch?.body['spec']],
    [path, 'merge', 'evictionRequests', { intent: 'Withdrawn' }],
  );
  assert.match(JSON.stringify(patch?.body['metadata']), /"resourceVersion":"5"/);
  const [deletion] = tidied().context.writes;
  assert.deepEqual(
    [deletion?.path, deletion?.body['preconditions']],
    [path, { uid: 'request-uid' }],
  );
});

test('a withdrawn request is looked at again when its time is over', () => {
  const { context } = tidied({ own: [request({ withdrawnAt: at(90) })], responder: {} });
  assert.deepEqual(context.moments.map(String), [at(120).toString()]);
});

test('that nobody answers is said once, of the node, whatever number of requests shows it', () => {
  const silent = [
    request({ isObserved: false }),
    request({ isObserved: false, podUid: 'uid-shop-b', key: 'shop/b' }),
  ];
  const pods = [makePod('a'), makePod('b')];
  const all = {
    own: silent,
    snapshot: { pods },
    context: { evictable: new Set(['uid-shop-a', 'uid-shop-b']) },
  };
  const { context, requestUnanswered } = tidied(all);
  const notes = context.writes.flatMap(({ events: announce }) => announce);
  assert.deepEqual(
    [requestUnanswered, context.writes.length, notes.map(({ reason }) => reason)],
    [true, 2, ['EvictionRequestUnanswered']],
  );
  assert.deepEqual(notes[0]?.about, {
    apiVersion: 'v1',
    kind: 'Node',
    name: 'n1',
    uid: 'node-uid',
  });
  const known = tidied({ ...all, known: { areAnswered: false } });
  assert.deepEqual(
    [known.requestUnanswered, known.context.writes.flatMap(({ events: announce }) => announce)],
    [false, []],
  );
  const { node: _node, ...nodeless } = tidied(all).context.snapshot;
  assert.equal(
    cleanUpEvictionRequests({ ...context, writes: [], snapshot: nodeless }).context.writes.length,
    2,
    'a node that is gone is no hindrance',
  );
});

test('where nothing is known of requests nothing is done about them', () => {
  assert.deepEqual(tidied({ own: [] }).context.writes, []);
  const { evictionRequests: _known, ...snapshot } = tidied().context.snapshot;
  assert.deepEqual(cleanUpEvictionRequests({ ...makeContext([]), snapshot }), {
    context: { ...makeContext([]), snapshot },
    requestUnanswered: false,
  });
});

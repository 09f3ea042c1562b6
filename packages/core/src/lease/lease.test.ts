import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, makeNode } from '../testing/make.ts';
import { isBlank, isTaken, type Lease, mayRelease, readLease, requestLease } from './lease.ts';

/**
 * The table of the seed contract, chapters 5 and 9.4. Now is t = 10,000 s; asked for are 3600 s,
 * renewed every 900 s.
 */
const now = at(10_000);
const nowText = '2026-11-21T10:46:40.000000Z';
const name = {
  namespace: 'medik8s-leases',
  name: 'node-n1',
  holder: 'node-maintenance',
  released: 'deleted',
} as const;
const terms = { durationSeconds: 3600, renewEverySeconds: 900 };
const owner = [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'node-uid' }];
function ask(lease: Lease | undefined): ReturnType<typeof requestLease> {
  return requestLease(lease, name, makeNode(), now, terms);
}
function lease(over: Partial<Lease>): Lease {
  return { key: 'medik8s-leases/node-n1', uid: 'l', resourceVersion: '7', ...over };
}
function ours(over: Partial<Lease>): Lease {
  return lease({ holder: 'node-maintenance', ...over });
}
function written(spec: object): object {
  return {
    metadata: { resourceVersion: '7', ownerReferences: owner },
    spec: { leaseDurationSeconds: 3600, ...spec },
  };
}
function body(answer: ReturnType<typeof requestLease>): unknown {
  return 'body' in answer ? answer.body : answer;
}
function taken(transitions: number): object {
  return {
    holderIdentity: 'node-maintenance',
    acquireTime: nowText,
    renewTime: nowText,
    leaseTransitions: transitions,
  };
}

test('none: created, owned by the node, without transitions', () => {
  const answer = ask(undefined);
  assert.equal(answer.state, 'create');
  assert.deepEqual(body(answer), {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'node-n1', namespace: 'medik8s-leases', ownerReferences: owner },
    spec: { ...taken(0), leaseDurationSeconds: 3600 },
  });
});

const updates: readonly (readonly [what: string, lease: Lease, spec: object])[] = [
  ['ours without duration and renewal: taken anew', ours({ transitions: 3 }), taken(4)],
  ['ours without transitions: one', ours({ durationSeconds: 3600 }), taken(1)],
  [
    'ours, expired, never acquired: taken anew',
    ours({ durationSeconds: 60, renewTime: at(0) }),
    taken(1),
  ],
  [
    'ours, expired: renewed only',
    ours({ durationSeconds: 60, renewTime: at(0), acquireTime: at(0), transitions: 2 }),
    { renewTime: nowText },
  ],
  [
    'ours, about to expire: renewed only',
    ours({ durationSeconds: 3600, renewTime: at(6500) }),
    { renewTime: nowText },
  ],
  [
    'foreign, expired, without transitions: taken over',
    lease({ holder: 'miau', durationSeconds: 60, renewTime: at(0) }),
    taken(1),
  ],
  [
    'foreign, expired, three transitions: taken over',
    lease({ holder: 'miau', durationSeconds: 60, renewTime: at(0), transitions: 3 }),
    taken(4),
  ],
  [
    'foreign, renewed in the future: not believed',
    lease({ holder: 'miau', durationSeconds: 60, renewTime: at(20_000) }),
    taken(1),
  ],
  ['foreign, without times: taken over', lease({ holder: 'miau' }), taken(1)],
];

for (const [what, lease, spec] of updates) {
  test(what, () => {
    const answer = ask(lease);
    assert.equal(answer.state, 'update');
    assert.deepEqual(body(answer), written(spec));
  });
}

test('foreign and valid: refused with the name of the holder, until it ends', () => {
  const answer = ask(lease({ holder: 'miau', durationSeconds: 32_000, renewTime: at(9999) }));
  assert.deepEqual(answer, {
    state: 'foreign',
    message: "can't update or invalidate the lease because it is held by different owner: miau",
    until: at(9999 + 32_000),
  });
});

test('foreign without a holder: named unknown', () => {
  const answer = ask(lease({ durationSeconds: 32_000, renewTime: at(9999) }));
  assert.match('message' in answer ? answer.message : '', /owner: unknown$/);
});

test('ours, not yet due: unchanged, and due after a quarter of its time', () => {
  assert.deepEqual(ask(ours({ durationSeconds: 3600, renewTime: at(9500) })), {
    state: 'held',
    renewAt: at(9500 + 900),
  });
});

test('ours, longer than asked for: untouched', () => {
  assert.equal(ask(ours({ durationSeconds: 32_000, renewTime: at(9999) })).state, 'held');
});

test('a Lease is read as it is stored, and what it does not say is left out', () => {
  const metadata = { namespace: 'leases', name: 'node-n1', uid: 'u', resourceVersion: '7' };
  const spec = {
    holderIdentity: 'us',
    leaseDurationSeconds: 60,
    acquireTime: '2026-11-21T08:00:00.000000Z',
    renewTime: '2026-11-21T08:00:30.000000Z',
    leaseTransitions: 2,
  };
  const whole = {
    holder: 'us',
    durationSeconds: 60,
    acquireTime: at(0),
    renewTime: at(30),
    transitions: 2,
  };
  const common = { key: 'leases/node-n1', uid: 'u', resourceVersion: '7' };
  assert.deepEqual(readLease({ metadata, spec }), { ...common, ...whole });
  assert.deepEqual(readLease({ metadata, spec: {} }), common);
  assert.deepEqual(readLease({ metadata }), common);
});

test('one that is blank says nothing of time; with any word of it, its holder has the node', () => {
  const said = { durationSeconds: 60, acquireTime: at(0), renewTime: at(0), transitions: 0 };
  const common = { key: 'leases/node-n1', uid: 'u', resourceVersion: '7', holder: 'us' };
  assert.deepEqual([isBlank(common), isTaken(common, 'us')], [true, false]);
  for (const [word, value] of Object.entries(said)) {
    const lease = { ...common, [word]: value };
    assert.deepEqual(
      [word, isBlank(lease), isTaken(lease, 'us'), isTaken(lease, 'another')],
      [word, false, true, false],
    );
  }
});

test('a lease without a holder may be released by anybody, another one by its holder', () => {
  const lease = (holder?: string) => ({
    key: 'k',
    uid: 'u',
    resourceVersion: '1',
    ...(holder !== undefined && { holder }),
  });
  assert.deepEqual(
    [undefined, '', 'us', 'miau'].map(holder => mayRelease(lease(holder), 'us')),
    [true, true, true, false],
  );
});

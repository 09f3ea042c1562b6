import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { at, heldNode, makeBudget, makeNode, makePod, makeRequest } from '../../testing/make.ts';
import { makeContext, makeProgress } from '../../testing/make-context.ts';
import type { RequestProgress } from '../reconcile-context.ts';
import type { NodeSnapshot, Quorum } from '../snapshot.ts';
import { quorum } from './quorum.ts';

/** Of three one is out: another one cannot be spared. */
const spent: Quorum = {
  members: ['n1', 'n2', 'n3'].map(name => ({ name, ready: true, held: name === 'n2' })),
  seats: new Set(),
};
const alone: Quorum = { members: [{ name: 'n1', ready: true, held: false }], seats: new Set() };

function looked(
  progress: Partial<RequestProgress>,
  known: Quorum,
  over: Partial<NodeSnapshot> = {},
) {
  return quorum(makeContext([makeProgress(progress)], { node: makeNode(), quorum: known, ...over }))
    .context;
}
function answer(...args: Parameters<typeof looked>): string {
  const [progress] = looked(...args).progresses;
  if (progress?.barred) return progress.problem?.reason ?? 'not known';
  return progress?.atStake === undefined ? 'goes' : 'goes at a stake';
}
const { adapter } = makeRequest('one');
const { holdRecord: _, ...unrecorded } = heldNode;

describe('a node that the quorum needs', () => {
  test('stays for who asks for it, and is looked at again soon', () => {
    assert.equal(answer({}, spent), 'QuorumAtRisk');
    assert.deepEqual(looked({}, spent).moments.map(String), [at(130)].map(String));
  });
  test('goes for who takes the loss upon himself, for an announcement, and where it is out already', () => {
    assert.equal(answer({ request: makeRequest('one', { mayLoseQuorum: true }) }, spent), 'goes');
    assert.equal(answer({ request: makeRequest('one', { level: 'Announce' }) }, spent), 'goes');
    assert.equal(
      answer({ request: makeRequest('one', { claim: 'takenOver' }) }, spent, { node: unrecorded }),
      'goes',
    );
    assert.equal(
      answer({ request: makeRequest('one', { level: 'Cordon' }) }, spent),
      'QuorumAtRisk',
    );
  });
});

describe('what goes with a warning says what is at stake', () => {
  test('the only member of a plain cluster, and any of one whose kind asks on OpenShift only', () => {
    assert.match(
      looked({}, alone).progresses[0]?.atStake ?? '',
      /n1 is the only control-plane node/,
    );
    const lenient = {
      request: makeRequest('one', { adapter: { ...adapter, quorum: 'on OpenShift' } }),
    };
    assert.match(
      looked(lenient, spent).progresses[0]?.atStake ?? '',
      /n1 is one of 3 control-plane nodes/,
    );
  });
  test('on OpenShift none goes', () => {
    const free = [makeBudget('guard', { namespace: 'openshift-etcd', disruptionsAllowed: 1 })];
    assert.equal(answer({}, { ...alone, etcdBudgets: free }), 'QuorumAtRisk');
  });
});

test('only guards of etcd itself guard it, whatever labels other pods have', () => {
  const labels = { app: 'guard' };
  const etcdBudgets = [
    makeBudget('guard', {
      namespace: 'openshift-etcd',
      disruptionsAllowed: 0,
      selector: { matchLabels: labels },
    }),
  ];
  const free: Quorum = {
    ...spent,
    members: spent.members.map(one => ({ ...one, held: false })),
    etcdBudgets,
  };
  assert.equal(
    answer({}, free, { pods: [makePod('guard', { namespace: 'openshift-etcd', labels })] }),
    'QuorumAtRisk',
  );
  assert.equal(
    answer({}, free, { pods: [makePod('guard', { namespace: 'shop', labels })] }),
    'goes',
  );
});

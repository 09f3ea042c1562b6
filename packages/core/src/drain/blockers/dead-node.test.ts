import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timeText } from '@drydock/apimachinery';
import { at, makeBudget, makeNode, makePod } from '../../testing/make.ts';
import { terminatingBlockerInfo } from './blocker.ts';
import { budgetBlockerInfo } from './budget-blocker.ts';
import { attributeToNode, deadNodeOf } from './dead-node.ts';

function ready(status: string, over = {}) {
  return {
    type: 'Ready',
    status,
    reason: 'NodeStatusUnknown',
    message: 'Kubelet stopped posting node status.',
    ...over,
  };
}
const silent = makeNode({
  name: 'n1',
  conditions: [ready('Unknown', { lastTransitionTime: timeText(at(-60)) })],
});
const unready = makeNode({
  name: 'n1',
  conditions: [ready('False', { reason: 'KubeletNotReady', message: 'container runtime is down' })],
});
const why =
  'node n1 is not Ready since 2026-11-21T07:59:00Z (NodeStatusUnknown: Kubelet stopped posting node status.)';
const remedy =
  'bring the node back; or, once its machine is known to be off, have Kubernetes remove its pods: kubectl taint nodes n1 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute, or replace the machine';

test('a node is dead when it is not Ready; nothing is said of one whose condition nobody has set', () => {
  assert.equal(deadNodeOf(makeNode({ conditions: [ready('True')] })), undefined);
  assert.equal(deadNodeOf(makeNode({ conditions: [] })), undefined);
  assert.deepEqual(deadNodeOf(silent), { name: 'n1', silent: true, why, outOfService: false });
  assert.equal(deadNodeOf(unready)?.silent, false);
});

test('pods that terminate on a silent node are the fault of the node, at once, with what frees them', () => {
  const pod = makePod('a', { deletionTimestamp: at(30) });
  assert.deepEqual(attributeToNode(terminatingBlockerInfo(pod, false), pod, deadNodeOf(silent)), {
    reason: 'NodeNotReady',
    pod: { namespace: 'shop', name: 'a' },
    message: `${why}: nobody ends its pods`,
    remedy,
  });
});

test('a kubelet that says itself that it is not Ready may still end pods: it is blamed when their grace period is over', () => {
  const pod = makePod('a', { deletionTimestamp: at(-40) });
  const causes = [false, true].map(
    overdue =>
      attributeToNode(terminatingBlockerInfo(pod, overdue), pod, deadNodeOf(unready)).reason,
  );
  assert.deepEqual(causes, ['Terminating', 'NodeNotReady']);
});

test('a finalizer is nothing that the node could end', () => {
  const pod = makePod('a', { deletionTimestamp: at(-40), finalizers: ['x/y'] });
  const info = terminatingBlockerInfo(pod, true);
  assert.equal(attributeToNode(info, pod, deadNodeOf(silent)), info);
});

test('a budget that is short of the pods of the node names the node; one that others keep back does not', () => {
  const budget = makeBudget('web', { desiredHealthy: 2, currentHealthy: 1, disruptionsAllowed: 0 });
  const [lost, well] = [makePod('a', { ready: false }), makePod('b', { ready: true })];
  const blamed = attributeToNode(budgetBlockerInfo(lost, budget), lost, deadNodeOf(silent));
  assert.deepEqual(
    [blamed.reason, blamed.budgets, blamed.remedy, blamed.message],
    [
      'NodeNotReady',
      ['shop/web'],
      remedy,
      `${why}, and so is the pod; budget web needs 2 healthy pods and has 1; 1 too few are healthy`,
    ],
  );
  assert.equal(blamed.lasting, undefined, 'and stays so, however long it lasts');
  const info = budgetBlockerInfo(well, budget);
  assert.equal(attributeToNode(info, well, deadNodeOf(silent)), info);
});

test('once the node is marked as out of service Kubernetes removes its pods: there is nothing left to do', () => {
  const taints = [
    { key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute', value: 'nodeshutdown' },
  ];
  const pod = makePod('a', { deletionTimestamp: at(30) });
  const { message, remedy: none } = attributeToNode(
    terminatingBlockerInfo(pod, true),
    pod,
    deadNodeOf({ ...silent, taints }),
  );
  assert.deepEqual(
    [message, none],
    [`${why}: Kubernetes removes its pods, because it is marked as out of service`, undefined],
  );
});

test('what the kubelet says of itself is bounded', () => {
  const loud = makeNode({ conditions: [ready('False', { message: 'x'.repeat(50_000) })] });
  assert.ok((deadNodeOf(loud)?.why.length ?? 0) <= 1000);
});

test('on a node that is Ready nothing is blamed on it', () => {
  const pod = makePod('a', { deletionTimestamp: at(-40) });
  const info = terminatingBlockerInfo(pod, true);
  assert.equal(attributeToNode(info, pod, undefined), info);
});

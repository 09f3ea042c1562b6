import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at } from '../testing/make.ts';
import { makePlan, makePlanNode, makePlanSnapshot, makeReadyNode } from '../testing/make-plan.ts';
import { decidePlan } from './decide.ts';
import { outagesOf } from './unavailability.ts';

test('a node whose machine is being deleted is out of service, by whoever rolls machines out, while it is still Ready', () => {
  const nodes = ['n1', 'n2', 'n3'].map(name => makeReadyNode(name));
  const machines = [{ name: 'm1', nodeName: 'n1' }];
  assert.deepEqual(
    [...outagesOf({ nodes, requests: [], plans: [], machines })],
    [['n1', [{ reason: 'Deleting', by: 'Machine m1, which is being deleted' }]]],
  );
});

/**
 * Taints that somebody sets on a node that is Ready and not cordoned, and what they mean for plans.
 */
const taints: readonly (readonly [string, string, 'NotReady' | 'Deleting' | 'in service'])[] = [
  ['node.cilium.io/agent-not-ready', 'NoSchedule', 'NotReady'],
  ['node.kubernetes.io/network-unavailable', 'NoSchedule', 'NotReady'],
  ['node.kubernetes.io/disk-pressure', 'NoSchedule', 'NotReady'],
  ['node.cloudprovider.kubernetes.io/uninitialized', 'NoSchedule', 'NotReady'],
  ['ebs.csi.aws.com/agent-not-ready', 'NoExecute', 'NotReady'],
  ['startup-taint.cluster-autoscaler.kubernetes.io/cni', 'NoSchedule', 'NotReady'],
  ['karpenter.sh/unregistered', 'NoExecute', 'NotReady'],
  ['readiness.k8s.io/network', 'NoSchedule', 'NotReady'],
  ['karpenter.sh/disrupted', 'NoSchedule', 'Deleting'],
  ['karpenter.sh/disruption', 'NoSchedule', 'Deleting'],
  ['ToBeDeletedByClusterAutoscaler', 'NoSchedule', 'Deleting'],
  ['node.kubernetes.io/out-of-service', 'NoExecute', 'Deleting'],
  ['medik8s.io/remediation', 'NoExecute', 'Deleting'],
  ['aws-node-termination-handler/spot-itn', 'NoSchedule', 'Deleting'],
  ['DeletionCandidateOfClusterAutoscaler', 'PreferNoSchedule', 'in service'],
  ['node-role.kubernetes.io/control-plane', 'NoSchedule', 'in service'],
  ['dedicated', 'NoSchedule', 'in service'],
  ['node.cilium.io/agent-not-ready', 'PreferNoSchedule', 'in service'],
];

test('a node is in service when pods can run on it: whoever keeps them from it by a taint counts in limits, and no plan begins with it', () => {
  for (const [key, effect, wanted] of taints) {
    const tainted = makeReadyNode('n1', { taints: [{ key, effect }] });
    const nodes = [tainted, makeReadyNode('n2'), makeReadyNode('n3')];
    const outages = outagesOf({ nodes, requests: [], plans: [], machines: [] });
    assert.deepEqual(
      [...outages].map(([name, [first]]) => [name, first?.reason]),
      wanted === 'in service' ? [] : [['n1', wanted]],
      key,
    );
    const concurrency = {
      maxInFlight: 3,
      maxUnavailable: 1,
      perTopology: [],
      foreignCordon: 'TakeFirst',
    } as const;
    const snapshot = makePlanSnapshot({
      plan: makePlan({ concurrency }),
      nodes: nodes.map(node => makePlanNode(node)),
      outages,
    });
    const { inFlight, counts } = decidePlan(snapshot, at(0));
    const isOut = wanted !== 'in service';
    assert.deepEqual(
      [inFlight.map(({ node }) => node), counts.unavailable],
      isOut ? [[], 1] : [['n1'], 0],
      key,
    );
  }
});

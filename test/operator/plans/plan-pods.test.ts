import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { MaintenancePlanStatus } from '@drydock/apis/schema';
import { create, getNode, nodePath, podPath } from '../../control-plane/objects/cluster.ts';
import type { Manifest } from '../../control-plane/objects/manifests.ts';
import type { List, Metadata } from '../../control-plane/objects/objects.ts';
import { waitFor } from '../../control-plane/wait.ts';
import { type OperatorHarness, skipOf, startHarness } from '../harness/harness.ts';
import { isHeld, ourTaints } from '../harness/look.ts';
import { dueNode, plan, planPath, untilPlan } from './plan-work.ts';

/**
 * The pods of the work on a real control plane; the test plays the kubelets, so that a pod pulls,
 * hangs, and ends when it says so.
 */

const started = await startHarness({ roles: ['plans'] });
const skip = skipOf(started);
const harness = started as OperatorHarness;

const space = 'drydock-plans';

type Pod = {
  readonly metadata: Metadata & {
    readonly deletionTimestamp?: string;
    readonly ownerReferences?: readonly { readonly kind: string }[];
  };
  readonly spec: { readonly nodeName?: string; readonly activeDeadlineSeconds?: number };
};

describe('the pod of the work of a MaintenancePlan', {
  skip,
  concurrency: 8,
  timeout: 240_000,
}, () => {
  const { api } = harness;
  const leases: ReturnType<typeof setInterval>[] = [];
  before(() => harness.startOperator());
  after(async () => {
    for (const lease of leases) clearInterval(lease);
    await harness.stop();
  });

  const ready = (status: string): object => ({
    type: 'Ready',
    status,
    reason: 'Test',
    message: '',
    lastHeartbeatTime: new Date().toISOString(),
    lastTransitionTime: new Date().toISOString(),
  });

  /** A node whose kubelet is played here: it is Ready, and its pods do nothing by themselves. */
  const playedNode = async (name: string): Promise<void> => {
    await create(
      api,
      dueNode(name, { labels: { group: name.slice(0, name.lastIndexOf('-')) }, kubelet: false }),
    );
    const beat = (): Promise<unknown> =>
      api
        .patch(`${nodePath(name)}/status`, { status: { conditions: [ready('True')] } })
        .catch(() => undefined);
    await beat();
    leases.push(setInterval(() => void beat(), 10_000));
    await waitFor(`${name} to have no taint`, async () => {
      const { spec } = await getNode(api, name);
      return (spec.taints ?? []).length === 0
        ? { done: true }
        : { yet: JSON.stringify(spec.taints) };
    });
  };

  const boot = (name: string, bootID: string, kernelVersion: string): Promise<unknown> =>
    api.patch(`${nodePath(name)}/status`, { status: { nodeInfo: { bootID, kernelVersion } } });

  const podsOf = async (name: string): Promise<readonly Pod[]> => {
    const { items } = await api.get<List<Pod>>(`/api/v1/namespaces/${space}/pods`);
    return items.filter(({ spec }) => spec.nodeName === name);
  };

  const podOf = (name: string, isWanted: (pod: Pod) => boolean = () => true): Promise<Pod> =>
    waitFor(`a pod on ${name}`, async () => {
      const [pod, ...others] = await podsOf(name);
      assert.deepEqual(others, [], 'one pod at most');
      return pod !== undefined && isWanted(pod) ? { done: pod } : { yet: JSON.stringify(pod) };
    });

  const says = ({ metadata: { name } }: Pod, status: object): Promise<unknown> =>
    api.patch(`${podPath(space, name)}/status`, { status });
  const pulls = (pod: Pod): Promise<unknown> => {
    const waiting = { reason: 'ImagePullBackOff', message: 'registry is down' };
    const up = {
      name: 'up',
      image: 'x',
      imageID: '',
      ready: false,
      restartCount: 0,
      state: { waiting },
    };
    return says(pod, { phase: 'Pending', containerStatuses: [up] });
  };
  const ends = (pod: Pod): Promise<unknown> => {
    const terminated = { exitCode: 0, reason: 'Completed' };
    const up = {
      name: 'up',
      image: 'x',
      imageID: '',
      ready: false,
      restartCount: 0,
      state: { terminated },
    };
    return says(pod, { phase: 'Succeeded', containerStatuses: [up] });
  };
  const runs = (pod: Pod): Promise<unknown> => says(pod, { phase: 'Running' });
  /** Its kubelet has ended what is being deleted. */
  const isGone = (pod: Pod): Promise<void> =>
    api.delete(podPath(space, pod.metadata.name), { gracePeriodSeconds: 0 });
  const isDeleted = ({ metadata }: Pod): boolean => metadata.deletionTimestamp !== undefined;
  const held = async (name: string): Promise<boolean> =>
    isHeld(await getNode(api, name), ourTaints);

  const job = (over: object = {}) => ({
    job: {
      podSpec: { containers: [{ name: 'up', image: 'example.test/kernel:1' }] },
      timeoutSeconds: 30,
      rebootsNode: true,
      ...over,
    },
  });

  const untilFree = (name: string): Promise<MaintenancePlanStatus> =>
    untilPlan(
      api,
      name,
      'without a slot',
      ({ inFlight, phase }) => inFlight?.length === 0 && phase !== undefined && phase !== 'Pending',
    );

  test('that cannot pull its image has its limit: it is gone before its node is given back, and the verdict says why', async () => {
    await playedNode('pull-1');
    await create(api, plan('pull', 'pull', { work: job({ timeoutSeconds: 4 }) }));
    const pod = await podOf('pull-1');
    assert.deepEqual(
      [pod.spec.activeDeadlineSeconds, pod.metadata.ownerReferences?.[0]?.kind],
      [4, 'MaintenancePlan'],
    );
    await pulls(pod);
    await podOf('pull-1', isDeleted);
    await new Promise(resolve => setTimeout(resolve, 1500));
    assert.equal(await held('pull-1'), true);
    await isGone(pod);
    const { failures = [] } = await untilFree('pull');
    assert.deepEqual([failures[0]?.held, await held('pull-1')], [false, false]);
    assert.match(
      failures[0]?.message ?? '',
      /could not begin: .*container up: ImagePullBackOff: registry is down/,
    );
  });

  test('goes with a plan that is deleted, and the plan behind it', async () => {
    await playedNode('gone-1');
    await create(api, plan('gone', 'gone', { work: job({ timeoutSeconds: 600 }) }));
    const pod = await podOf('gone-1');
    await pulls(pod);
    await api.delete(planPath('gone'));
    await podOf('gone-1', isDeleted);
    assert.equal(
      (await api.call('GET', planPath('gone'))).status,
      200,
      'as long as the pod is there',
    );
    assert.equal(await held('gone-1'), true);
    await isGone(pod);
    await waitFor('the plan to be gone', async () => {
      const { status } = await api.call('GET', planPath('gone'));
      return status === 404 ? { done: true } : { yet: String(status) };
    });
    assert.deepEqual([await podsOf('gone-1'), await held('gone-1')], [[], false]);
  });

  test('is waited for by whoever releases its node, until it has ended', async () => {
    await playedNode('hung-1');
    await create(api, plan('hung', 'hung', { work: job({ timeoutSeconds: 4 }) }));
    const pod = await podOf('hung-1');
    await runs(pod);
    await podOf('hung-1', isDeleted);
    const { failures = [] } = await untilPlan(
      api,
      'hung',
      'failed',
      status => (status.failures ?? []).length > 0,
    );
    assert.equal(failures[0]?.held, true, 'the verdict counts at once');
    const { items } = await api.get<List<{ metadata: Metadata; spec: { nodeName: string } }>>(
      '/apis/drydock.dev/v1alpha1/maintenances',
    );
    const child = items.find(({ spec }) => spec.nodeName === 'hung-1')?.metadata.name;
    await api.delete(`/apis/drydock.dev/v1alpha1/maintenances/${child}`);
    await new Promise(resolve => setTimeout(resolve, 1500));
    assert.equal(await held('hung-1'), true);
    await isGone(pod);
    await waitFor('the node to be given back', async () =>
      (await held('hung-1')) ? { yet: 'held' } : { done: true },
    );
  });

  test('is not proven by a boot that came before it ran', async () => {
    await playedNode('boot-1');
    await create(
      api,
      plan('boot', 'boot', {
        work: job(),
        due: { expression: 'true' },
        done: { expression: 'true' },
      }),
    );
    const pod = await podOf('boot-1');
    await pulls(pod);
    await boot('boot-1', 'a-crash', '6.1.0');
    await new Promise(resolve => setTimeout(resolve, 2000));
    assert.equal(isDeleted(await podOf('boot-1')), false, 'the attempt goes on');
    await runs(pod);
    await untilPlan(api, 'boot', 'running', ({ inFlight }) => inFlight?.[0]?.ranAttempt === 1);
    await ends(pod);
    await untilPlan(
      api,
      'boot',
      'rebooting',
      ({ inFlight }) => inFlight?.[0]?.state === 'Rebooting',
    );
    await boot('boot-1', 'its-own', '6.1.0');
    const { nodes } = await untilPlan(api, 'boot', 'complete', ({ phase }) => phase === 'Complete');
    assert.equal(nodes?.done, 1);
  });

  test('has its proof when the node is done late, and pods can run there', async () => {
    await playedNode('late-1');
    const done = {
      expression: "node.metadata.?labels['v'].orValue('1') == '2'",
      withinSeconds: 60,
    };
    await create(api, plan('late', 'late', { work: job(), done }));
    const pod = await podOf('late-1');
    await runs(pod);
    await untilPlan(api, 'late', 'running', ({ inFlight }) => inFlight?.[0]?.ranAttempt === 1);
    await ends(pod);
    const { spec } = await getNode(api, 'late-1');
    const agent = { key: 'node.cilium.io/agent-not-ready', effect: 'NoSchedule' };
    await api.patch(nodePath('late-1'), { spec: { taints: [...(spec.taints ?? []), agent] } });
    await boot('late-1', 'second', '6.12.9');
    await untilPlan(api, 'late', 'told of the taint', ({ waiting = [] }) =>
      waiting.some(({ message }) => message.includes('agent-not-ready')),
    );
    const { spec: tainted } = await getNode(api, 'late-1');
    await api.patch(nodePath('late-1'), {
      spec: { taints: (tainted.taints ?? []).filter(({ key }) => key !== agent.key) },
    });
    await untilPlan(api, 'late', 'not done yet', ({ waiting = [] }) =>
      waiting.some(({ message }) => message === 'spec.done.expression is false'),
    );
    await api.patch(nodePath('late-1'), { metadata: { labels: { v: '2' } } });
    const { nodes } = await untilPlan(api, 'late', 'complete', ({ phase }) => phase === 'Complete');
    assert.deepEqual([nodes?.done, nodes?.failed], [1, 0]);
  });

  test('that a policy denies on one node keeps no other, and the verdict names the policy', async () => {
    for (const name of ['deny-1', 'deny-2', 'deny-3']) await playedNode(name);
    const policy: Manifest = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: 'no-work-on-deny-1' },
      spec: {
        matchConstraints: {
          resourceRules: [
            { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] },
          ],
        },
        validations: [
          {
            expression: "!has(object.spec.nodeName) || object.spec.nodeName != 'deny-1'",
            message: 'nothing runs on deny-1',
          },
        ],
      },
    };
    const binding: Manifest = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: 'no-work-on-deny-1' },
      spec: { policyName: 'no-work-on-deny-1', validationActions: ['Deny'] },
    };
    await create(api, policy, binding);
    await new Promise(resolve => setTimeout(resolve, 3000));
    await create(
      api,
      plan('deny', 'deny', {
        work: job({ timeoutSeconds: 20, rebootsNode: false }),
        due: { expression: 'true' },
        done: { expression: 'true' },
        concurrency: { maxInFlight: 2 },
        halt: { maxFailures: 3, consecutive: 0 },
      }),
    );
    for (const name of ['deny-2', 'deny-3']) await ends(await podOf(name));
    const passed = await untilPlan(
      api,
      'deny',
      'done with the others',
      ({ nodes }) => nodes?.done === 2,
    );
    assert.deepEqual(
      passed.inFlight?.map(({ node }) => node),
      ['deny-1'],
      'nobody waits behind the refusal',
    );
    const { failures = [] } = await untilFree('deny');
    assert.deepEqual(
      [failures[0]?.node, failures[0]?.held, await held('deny-1')],
      ['deny-1', false, false],
    );
    assert.match(
      failures[0]?.message ?? '',
      /the API server refuses its pod: .*nothing runs on deny-1/,
    );
  });
});

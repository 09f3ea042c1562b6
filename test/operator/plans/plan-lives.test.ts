import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { MaintenancePlanStatus } from '@drydock/apis/schema';
import type { Reply } from '../../control-plane/objects/api.ts';
import {
  create,
  getNode,
  nodePath,
  nodesReady,
  podPath,
} from '../../control-plane/objects/cluster.ts';
import { budget, pod } from '../../control-plane/objects/manifests.ts';
import { until } from '../../control-plane/wait.ts';
import { type OperatorHarness, skipOf, startHarness } from '../harness/harness.ts';
import { lackingEmbedded } from '../harness/lacking.ts';
import { isHeld, ourTaints, untilGone } from '../harness/look.ts';
import {
  type Deed,
  dueNode,
  type MaintenancePlan,
  plan,
  planPath,
  untilPlan,
  Work,
} from './plan-work.ts';

/**
 * Nodes and edits that come and go while a plan runs, on a real control plane: what a stage, a run
 * and a verdict are then. Every test has nodes of its own.
 */

const started = await startHarness({ users: { author: [] }, roles: ['plans'] });
const skip = skipOf(started);
const harness = started as OperatorHarness;

const job = {
  podSpec: { containers: [{ name: 'up', image: 'example.test/kernel:1' }] },
  rebootsNode: false,
  timeoutSeconds: 60,
};
const canary = { name: 'canary', nodeSelector: { matchLabels: { canary: 'yes' } } };
function isHalted({ phase }: MaintenancePlanStatus): boolean {
  return phase === 'Halted';
}
function isAsked({ phase }: MaintenancePlanStatus): boolean {
  return phase === 'AwaitingApproval';
}
function isComplete({ phase }: MaintenancePlanStatus): boolean {
  return phase === 'Complete';
}
function seconds(many: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, 1000 * many));
}

describe('nodes and edits that come and go', { skip, concurrency: 8, timeout: 240_000 }, () => {
  const { api } = harness;
  const deeds = new Map<string, Deed>();
  /** Nodes that whoever repairs them deletes as soon as they are worked on, and makes anew. */
  const repaired = new Set<string>();
  let work: Work;
  before(async () => {
    const binding = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'author' },
      roleRef: {
        apiGroup: 'rbac.authorization.k8s.io',
        kind: 'ClusterRole',
        name: 'drydock-plan-author',
      },
      subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'author' }],
    };
    await create(api, binding);
    await harness.startOperator();
    work = new Work(api, name => {
      const group = name.replace(/-\d+$/, '');
      if (!repaired.has(group)) return deeds.get(name) ?? deeds.get(group) ?? { kernel: '6.12.9' };
      void replaced(name, { group });
      return { hangs: true };
    });
  });
  after(async () => {
    await work.stop();
    await harness.stop();
  });

  const born = (name: string, labels: Readonly<Record<string, string>>): Promise<void> =>
    create(api, dueNode(name, { labels }));
  const replaced = async (
    name: string,
    labels: Readonly<Record<string, string>>,
  ): Promise<void> => {
    await api.delete(nodePath(name));
    await untilGone(api, nodePath(name));
    await born(name, labels);
  };
  const nodesOf = async (
    group: string,
    many: number,
    first: Readonly<Record<string, string>> = {},
  ): Promise<readonly string[]> => {
    const names = Array.from({ length: many }, (_, index) => `${group}-${index + 1}`);
    for (const [index, name] of names.entries())
      await born(name, { group, ...(index === 0 && first) });
    await nodesReady(api, names);
    return names;
  };
  const statusOf = async (name: string): Promise<MaintenancePlanStatus> =>
    (await api.get<MaintenancePlan>(planPath(name))).status ?? {};
  const approve = async (name: string, stage: string): Promise<void> => {
    const { code, stderr } = await harness.drydock('plan', 'approve', name, stage);
    assert.equal(code, 0, stderr);
  };
  /** Resolves when the operator has seen the edit: an approval before that is refused. */
  const edit = async (name: string, spec: object): Promise<void> => {
    const { metadata } = await api.patch<MaintenancePlan>(planPath(name), { spec });
    await untilPlan(
      api,
      name,
      'seen',
      ({ observedGeneration }) => observedGeneration === metadata.generation,
    );
  };
  const isFree = async (name: string): Promise<boolean> =>
    !isHeld(await getNode(api, name), ourTaints);

  test('work that breaks nodes, which somebody repairs under their names, halts the plan after the first', async () => {
    repaired.add('repaired');
    await nodesOf('repaired', 4);
    await create(
      api,
      plan('repaired', 'repaired', { work: { job }, halt: { maxFailures: 0, consecutive: 1 } }),
    );
    const { message, failures = [] } = await untilPlan(api, 'repaired', 'halted', isHalted);
    assert.match(message ?? '', /1 nodes have failed/);
    assert.match(failures[0]?.message ?? '', /does not exist any more: its work had begun/);
    await seconds(4);
    assert.deepEqual(
      [
        (await statusOf('repaired')).phase,
        [...work.counts].filter(([name]) => name.startsWith('repaired')),
      ],
      ['Halted', [['repaired-1', 1]]],
    );
  });

  test('a canary that has failed halts the plan when its node is deleted, too', async () => {
    const [first = '', second = ''] = await nodesOf('broken', 3, { canary: 'yes' });
    deeds.set(first, { exitCode: 1 });
    await create(api, plan('broken', 'broken', { work: { job }, stages: [canary] }));
    await untilPlan(api, 'broken', 'halted', isHalted);
    await api.delete(nodePath(first));
    await untilGone(api, nodePath(first));
    await seconds(3);
    const { phase, stages, nodes } = await statusOf('broken');
    assert.deepEqual(
      [phase, stages?.[0]?.name, nodes?.failed, await isFree(second)],
      ['Halted', 'canary', 1, true],
    );
  });

  test('a canary that is done and deleted is asked about, and nothing begins before somebody has agreed', async () => {
    const [first = '', second = ''] = await nodesOf('asked', 3, { canary: 'yes' });
    await create(api, plan('asked', 'asked', { stages: [{ ...canary, approveAfter: true }] }));
    await untilPlan(api, 'asked', 'waiting', isAsked);
    await api.delete(nodePath(first));
    const shows = ({ waiting = [] }: MaintenancePlanStatus): boolean =>
      waiting.some(({ message }) => message.includes('1 done, asked-1 does not exist any more'));
    await untilPlan(api, 'asked', 'asking with what the canary shows', shows);
    await seconds(2);
    assert.deepEqual(
      [(await statusOf('asked')).phase, await isFree(second)],
      ['AwaitingApproval', true],
    );
    await approve('asked', 'canary');
    assert.equal((await untilPlan(api, 'asked', 'complete', isComplete)).nodes?.done, 3);
  });

  test('an author who may not approve changes what is due: the approval is void, and nothing begins before it is given again', async () => {
    const [first = ''] = await nodesOf('agreed', 2);
    await create(
      api,
      plan('agreed', 'agreed', {
        state: 'Paused',
        approval: { run: 'Required' },
        work: { none: {} },
      }),
    );
    const agree = async (): Promise<void> => {
      const { code, stderr } = await harness.drydock('plan', 'approve', 'agreed', '--yes');
      assert.equal(code, 0, stderr);
    };
    await untilPlan(api, 'agreed', 'paused', ({ phase }) => phase === 'Paused');
    await agree();
    const edits = { due: { expression: "!('seen' in node.metadata.labels)" }, state: 'Running' };
    const reply = await harness.controlPlane
      .apiOf('author')
      .call('PATCH', planPath('agreed'), { spec: edits }, 'application/merge-patch+json');
    assert.equal(reply.status, 200, JSON.stringify(reply.body));
    await untilPlan(api, 'agreed', 'waiting', isAsked);
    await seconds(2);
    assert.deepEqual(
      [(await statusOf('agreed')).phase, await isFree(first)],
      ['AwaitingApproval', true],
    );
    await agree();
    const isBegun = ({ nodes }: MaintenancePlanStatus): boolean =>
      (nodes?.done ?? 0) + (nodes?.inFlight ?? 0) > 0;
    await untilPlan(api, 'agreed', 'begun', isBegun);
    await edit('agreed', { state: 'Aborted' });
  });

  test('an author skips the canary of a limit: the next node is the canary, and the rest waits for whoever may approve', async () => {
    const [first = '', , third = ''] = await nodesOf('skipped', 3);
    await create(
      api,
      plan('skipped', 'skipped', {
        state: 'Paused',
        stages: [{ name: 'canary', limit: 1, approveAfter: true }],
      }),
    );
    const as = (spec: object): Promise<Reply> =>
      harness.controlPlane
        .apiOf('author')
        .call('PATCH', planPath('skipped'), { spec }, 'application/merge-patch+json');
    assert.equal((await as({ state: 'Running', skipNodes: [{ name: first }] })).status, 200);
    const { nodes } = await untilPlan(api, 'skipped', 'waiting', isAsked);
    assert.deepEqual([nodes?.done, nodes?.skipped], [1, 1]);
    await seconds(2);
    assert.equal(await isFree(third), true);
    assert.equal((await as({ skipNodes: null })).status, 403);
    await approve('skipped', 'canary');
    assert.equal((await untilPlan(api, 'skipped', 'complete', isComplete)).nodes?.done, 2);
  });

  test('an edit that is taken back is another run: what is due is done, and no failure of the first time counts', async () => {
    const names = await nodesOf('edited', 3);
    const to = (version: string): object => {
      deeds.set('edited', { kernel: version });
      return { due: { expression: `node.status.nodeInfo.kernelVersion != '${version}'` } };
    };
    const concurrency = { maxInFlight: 3, maxUnavailable: 3 };
    await create(api, plan('edited', 'edited', { ...to('6.12.9'), concurrency }));
    const first = await untilPlan(api, 'edited', 'complete', isComplete);
    await edit('edited', to('6.12.10'));
    const second = await untilPlan(
      api,
      'edited',
      'complete again',
      status => isComplete(status) && status.run?.number === 2,
    );
    await edit('edited', to('6.12.9'));
    const third = await untilPlan(
      api,
      'edited',
      'complete a third time',
      status => isComplete(status) && status.run?.number === 3,
    );
    assert.deepEqual(
      [first, second, third].map(({ nodes }) => [nodes?.done, nodes?.due]),
      [
        [3, 0],
        [3, 0],
        [3, 0],
      ],
    );
    for (const name of names) assert.equal(work.counts.get(name), 3, name);
    assert.equal(third.run?.revision, `${first.run?.revision}-3`);
  });

  test('a canary that falls back in the soak time of its stage is a failure, and the fleet does not begin', async () => {
    const [first = '', second = ''] = await nodesOf('fallen', 3, { canary: 'yes' });
    await create(
      api,
      plan('fallen', 'fallen', {
        stages: [{ ...canary, soakSeconds: 12 }],
        done: { withinSeconds: 6 },
      }),
    );
    await untilPlan(api, 'fallen', 'soaking', ({ waitingFor }) => waitingFor === 'StageSoak');
    await api.patch(`${nodePath(first)}/status`, {
      status: { nodeInfo: { kernelVersion: '6.1.0' } },
    });
    const { waiting } = await untilPlan(
      api,
      'fallen',
      'broken',
      ({ waitingFor }) => waitingFor === 'SoakBroken',
    );
    assert.match(
      waiting?.[0]?.message ?? '',
      /^node fallen-1 was done and is not any more since .*: the soak time of stage canary starts again/,
    );
    const { failures = [], stages } = await untilPlan(api, 'fallen', 'halted', isHalted);
    assert.match(failures[0]?.message ?? '', /failed in the soak time of stage canary/);
    assert.deepEqual([stages?.[0]?.name, await isFree(second)], ['canary', true]);
  });

  test('a failed node that is right by then is released when it is retried, and by another run', async () => {
    const [first = '', second = ''] = await nodesOf('right', 4);
    for (const name of [first, second]) deeds.set(name, { exitCode: 1 });
    await create(
      api,
      plan('right', 'right', {
        work: { job },
        concurrency: { maxInFlight: 2 },
        halt: { maxFailures: 2, consecutive: 0 },
      }),
    );
    const failed = await untilPlan(api, 'right', 'complete', isComplete);
    const { reason } = failed.conditions?.find(({ type }) => type === 'Complete') ?? {};
    assert.deepEqual(
      [failed.nodes?.failed, await isFree(first), await isFree(second), reason],
      [2, false, false, 'CompleteWithFailures'],
    );
    assert.equal((await harness.drydock('plan', 'status', 'right', '-w')).code, 5);
    for (const name of [first, second])
      await api.patch(`${nodePath(name)}/status`, {
        status: { nodeInfo: { kernelVersion: '6.12.9' } },
      });
    assert.equal((await harness.drydock('plan', 'retry', 'right', first)).code, 0);
    await until('the retried node to be free', () => isFree(first));
    assert.equal(await isFree(second), false);
    assert.equal((await harness.drydock('plan', 'rerun', 'right')).code, 0);
    await until('the other node to be free', () => isFree(second));
  });

  test('a node whose drain hangs is let go when it is skipped, and the plan goes on', async () => {
    const [first = '', second = ''] = await nodesOf('hangs', 2);
    await create(
      api,
      pod('hangs-web', {
        namespace: 'default',
        spec: { nodeName: first, tolerations: [{ operator: 'Exists' }] },
      }),
    );
    await create(api, budget('hangs-web', { namespace: 'default', maxUnavailable: 0 }));
    await until(
      'its pod to run',
      async () =>
        (await api.get<{ status?: { phase?: string } }>(podPath('default', 'hangs-web'))).status
          ?.phase === 'Running',
    );
    await create(api, plan('hangs', 'hangs'));
    await untilPlan(api, 'hangs', 'draining', ({ waiting = [] }) =>
      waiting.some(({ reason, node }) => reason === 'Draining' && node === first),
    );
    const { code, stderr } = await harness.drydock(
      'plan',
      'skip',
      'hangs',
      first,
      '--reason',
      'its budget never lets go',
    );
    assert.equal(code, 0, stderr);
    const { nodes } = await untilPlan(api, 'hangs', 'complete', isComplete);
    assert.deepEqual(
      [nodes?.done, nodes?.skipped, await isFree(first), work.counts.get(second)],
      [1, 1, true, 1],
    );
  });

  test('the hold of a failure outlives its plan, and why says that nobody owns it, until another plan of that name goes on with it', async () => {
    const [first = ''] = await nodesOf('orphan', 1);
    deeds.set(first, { exitCode: 1 });
    await create(api, plan('orphan', 'orphan', { work: { job } }));
    await untilPlan(api, 'orphan', 'failed', ({ nodes }) => nodes?.failed === 1);
    await api.delete(planPath('orphan'));
    await untilGone(api, planPath('orphan'));
    const { stdout } = await harness.drydock('why', first);
    assert.match(
      stdout,
      /MaintenancePlan orphan, which made Maintenance orphan-\w+, does not exist any more.* kubectl delete maintenances\.drydock\.dev orphan-/,
    );
    assert.deepEqual([await isFree(first), work.counts.get(first)], [false, 1]);
    deeds.set(first, { kernel: '6.12.9' });
    await create(api, plan('orphan', 'orphan', { work: { job } }));
    const { nodes } = await untilPlan(api, 'orphan', 'complete', isComplete);
    assert.deepEqual([nodes?.done, await isFree(first), work.counts.get(first)], [1, true, 2]);
  });

  test('one more default of the CRD begins no run and voids no approval', {
    skip: lackingEmbedded('defaults of a CRD for objects that are stored already'),
  }, async () => {
    const names = await nodesOf('more', 2);
    await create(
      api,
      plan('more', 'more', {
        due: {},
        work: { job },
        stages: [{ name: 'canary', limit: 1, approveAfter: true }],
      }),
    );
    const before = await untilPlan(api, 'more', 'waiting', isAsked);
    const crd =
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/maintenanceplans.drydock.dev';
    const field =
      '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/work/properties/job/properties/somethingNew';
    const added = await api.call(
      'PATCH',
      crd,
      [{ op: 'add', path: field, value: { type: 'boolean', default: false } }],
      'application/json-patch+json',
    );
    assert.equal(added.status, 200, JSON.stringify(added.body));
    await until('the default to be served', async () => {
      const { spec } = await api.get<MaintenancePlan>(planPath('more'));
      return (spec.work.job as { readonly somethingNew?: boolean }).somethingNew === false;
    });
    await edit('more', { expectedSeconds: 60 });
    await approve('more', 'canary');
    const { run, nodes } = await untilPlan(api, 'more', 'complete', isComplete);
    assert.deepEqual(
      [run?.revision, run?.number, nodes?.done],
      [before.run?.revision, undefined, 2],
    );
    for (const name of names) assert.equal(work.counts.get(name), 1, name);
  });
});

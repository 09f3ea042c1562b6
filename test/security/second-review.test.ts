import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Reply } from '../control-plane/objects/api.ts';
import {
  create,
  getNode,
  nodePath,
  nodesReady,
  podPath,
} from '../control-plane/objects/cluster.ts';
import { budget, type Manifest, pod } from '../control-plane/objects/manifests.ts';
import type { List, Metadata } from '../control-plane/objects/objects.ts';
import { until } from '../control-plane/wait.ts';
import { type OperatorHarness, skipOf, startHarness } from '../operator/harness/harness.ts';
import {
  isHeld,
  maintenance,
  maintenancePath,
  ourTaints,
  remove,
  untilGone,
  untilMaintenance,
} from '../operator/harness/look.ts';
import {
  type Deed,
  dueNode,
  plan,
  planPath,
  untilPlan,
  Work,
} from '../operator/plans/plan-work.ts';

/**
 * What a second hostile reader tried, as whoever may try it, on a real API server: each probe is
 * named by its label in docs/security.md.
 */

const rbac = 'rbac.authorization.k8s.io';
const users = {
  editor: [],
  author: [],
  approver: [],
  tenant: [],
  kubelet: { name: 'system:node:p5-01', groups: ['system:nodes'], namespace: 'default' },
};
const started = await startHarness({ users, roles: ['plans', 'machine-api'] });
const skip = skipOf(started);
const harness = started as OperatorHarness;

function bound(name: string, user: string): Manifest {
  return {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: `${name}-${user}` },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name },
    subjects: [{ kind: 'User', apiGroup: rbac, name: user }],
  };
}

function capiKind(plural: string, kind: string): Manifest {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.cluster.x-k8s.io`,
      annotations: { 'api-approved.kubernetes.io': 'unapproved, for a test' },
    },
    spec: {
      group: 'cluster.x-k8s.io',
      scope: 'Namespaced',
      names: { plural, singular: kind.toLowerCase(), kind },
      versions: [
        {
          name: 'v1beta1',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: {
            openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          },
        },
      ],
    },
  };
}

const machinesPath = '/apis/cluster.x-k8s.io/v1beta1/namespaces/tenant-a/machines';
const workPods = '/api/v1/namespaces/drydock-plans/pods';
const approvals = '/apis/drydock.dev/v1alpha1/maintenanceapprovals';
const podSpec = { containers: [{ name: 'up', image: 'example.test/kernel:1' }] };
function job(more: object = {}) {
  return { job: { podSpec, rebootsNode: false, timeoutSeconds: 30, ...more } };
}

type Listed = {
  readonly metadata: Metadata & { readonly deletionTimestamp?: string };
  readonly spec: { readonly nodeName?: string };
};

describe('a second hostile reader', { skip, concurrency: 4, timeout: 300_000 }, () => {
  const { api, controlPlane } = harness;
  const deeds = new Map<string, Deed>();
  let work: Work;

  before(async () => {
    await create(
      api,
      bound('drydock-maintenance-editor', 'editor'),
      bound('drydock-plan-author', 'author'),
      bound('drydock-plan-approver', 'approver'),
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'tenant-a' } },
      {
        apiVersion: `${rbac}/v1`,
        kind: 'Role',
        metadata: { name: 'everything', namespace: 'tenant-a' },
        rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
      },
      {
        apiVersion: `${rbac}/v1`,
        kind: 'RoleBinding',
        metadata: { name: 'everything', namespace: 'tenant-a' },
        roleRef: { apiGroup: rbac, kind: 'Role', name: 'everything' },
        subjects: [{ kind: 'User', apiGroup: rbac, name: 'tenant' }],
      },
      capiKind('machines', 'Machine'),
      capiKind('machinesets', 'MachineSet'),
    );
    await until(
      'Machines to be served',
      async () => (await api.call('GET', machinesPath)).status === 200,
    );
    await harness.startOperator();
    work = new Work(
      api,
      (name, { hook }) => deeds.get(`${name} ${hook}`) ?? deeds.get(name) ?? deeds.get(hook) ?? {},
    );
  });
  after(async () => {
    await work.stop();
    await harness.stop();
  });

  const as = (
    user: keyof typeof users,
    method: 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body?: unknown,
  ): Promise<Reply> =>
    controlPlane
      .apiOf(user)
      .call(method, path, body, method === 'PATCH' ? 'application/merge-patch+json' : undefined);

  const nodesOf = async (
    group: string,
    many: number,
    spec: (index: number) => object = () => ({}),
  ): Promise<readonly string[]> => {
    const names = Array.from(
      { length: many },
      (_, index) => `${group}-${String(index + 1).padStart(2, '0')}`,
    );
    for (const [index, name] of names.entries()) {
      const made = dueNode(name, { labels: { group } });
      await create(api, { ...made, spec: { ...(made['spec'] as object), ...spec(index) } });
    }
    await nodesReady(api, names);
    return names;
  };

  const guarded = async (name: string, nodeName: string): Promise<void> => {
    await create(
      api,
      pod(name, {
        namespace: 'default',
        spec: { nodeName, tolerations: [{ operator: 'Exists' }] },
      }),
    );
    await create(api, budget(name, { namespace: 'default', maxUnavailable: 0 }));
    await until(`${name} to run`, async () => {
      const { status } = await api.get<{ readonly status?: { readonly phase?: string } }>(
        podPath('default', name),
      );
      return status?.phase === 'Running';
    });
  };

  const podsOn = async (nodeName: string): Promise<readonly string[]> => {
    const { items } = await api.get<List<Listed>>(workPods);
    return items
      .filter(({ spec }) => spec.nodeName === nodeName)
      .map(({ metadata }) => metadata.name);
  };

  const childOf = async (nodeName: string): Promise<string> => {
    const { items } = await api.get<{
      items: { metadata: Metadata; spec: { nodeName: string } }[];
    }>('/apis/drydock.dev/v1alpha1/maintenances');
    return (
      items.find(({ spec }) => spec.nodeName === nodeName)?.metadata.name ??
      assert.fail(`no Maintenance of ${nodeName}`)
    );
  };

  const seconds = (many: number): Promise<void> =>
    new Promise(resolve => setTimeout(resolve, 1000 * many));

  test('P1: an editor changes the drain of a plan’s Maintenance: nothing is worked on before the node is drained as the plan says', async () => {
    const [name = ''] = await nodesOf('p1', 1);
    await guarded('p1-web', name);
    await create(api, plan('p1', 'p1', { due: {}, work: job() }));
    await untilPlan(api, 'p1', 'draining', ({ waiting }) => waiting?.[0]?.reason === 'Draining');
    const child = await childOf(name);
    const edited = await as('editor', 'PATCH', maintenancePath(child), {
      spec: { drain: { ignorePods: [{}] } },
    });
    assert.equal(edited.status, 200, 'an editor may');
    await until('it to be put back', async () => {
      const { spec } = await api.get<{
        readonly spec: { readonly drain: { readonly ignorePods?: readonly object[] } };
      }>(maintenancePath(child));
      return (
        spec.drain.ignorePods?.length === 1 &&
        Object.keys(spec.drain.ignorePods[0] ?? {}).length > 0
      );
    });
    await seconds(5);
    assert.deepEqual(await podsOn(name), [], 'p1-web runs there still');
    const staged = await as('editor', 'PATCH', maintenancePath(child), {
      spec: { level: 'Cordon' },
    });
    assert.equal(staged.status, 200);
    await until('its level to be put back', async () => {
      const { spec } = await api.get<{ readonly spec: { readonly level?: string } }>(
        maintenancePath(child),
      );
      return spec.level === 'Drain';
    });
    await api.delete(podPath('default', 'p1-web'));
    await untilPlan(api, 'p1', 'complete', ({ phase }) => phase === 'Complete');
  });

  test('P2: an author skips the canary: the rest waits for whoever may approve', async () => {
    const [canary = '', rest = ''] = await nodesOf('p2', 2);
    await api.patch(nodePath(canary), { metadata: { labels: { canary: 'yes' } } });
    const stages = [
      { name: 'canary', nodeSelector: { matchLabels: { canary: 'yes' } }, approveAfter: true },
    ];
    const made = plan('p2', 'p2', { state: 'Paused', work: { none: {} }, due: {}, stages });
    assert.equal(
      (await as('author', 'POST', '/apis/drydock.dev/v1alpha1/maintenanceplans', made)).status,
      201,
    );
    const skip = await as('author', 'PATCH', planPath('p2'), {
      spec: { state: 'Running', skipNodes: [{ name: canary }] },
    });
    assert.equal(skip.status, 200, JSON.stringify(skip.body));
    const { message } = await untilPlan(
      api,
      'p2',
      'waiting',
      ({ phase }) => phase === 'AwaitingApproval',
    );
    assert.match(message ?? '', /stage canary has done nothing: .*drydock plan approve p2 canary/);
    await seconds(3);
    assert.equal(isHeld(await getNode(api, rest), ourTaints), false);
    const back = await as('author', 'PATCH', planPath('p2'), { spec: { skipNodes: null } });
    assert.equal(back.status, 403, 'nor does an author take a node off the list');
    await remove(api, planPath('p2'));
  });

  test('P4: a plan is edited after its approval: the approval is void', async () => {
    const [name = ''] = await nodesOf('p4', 1);
    const made = plan('p4', 'p4', {
      work: { none: {} },
      due: {},
      approval: { run: 'Required' },
      windows: 'Respect',
    });
    const window = {
      apiVersion: 'drydock.dev/v1alpha1',
      kind: 'MaintenanceWindow',
      metadata: { name: 'p4-never' },
      spec: {
        nodeSelector: { matchLabels: { group: 'p4' } },
        openings: [{ from: '2020-01-01T00:00:00Z', to: '2020-01-01T01:00:00Z' }],
      },
    };
    await create(api, window, made);
    const { run } = await untilPlan(
      api,
      'p4',
      'waiting',
      ({ phase }) => phase === 'AwaitingApproval',
    );
    const approval = {
      apiVersion: 'drydock.dev/v1alpha1',
      kind: 'MaintenanceApproval',
      metadata: { name: 'p4' },
      spec: { planName: 'p4', runID: run?.id, revision: run?.revision },
    };
    assert.equal((await as('approver', 'POST', approvals, approval)).status, 201);
    await untilPlan(
      api,
      'p4',
      'approved',
      ({ phase, run: now }) => phase === 'Running' && now?.agreed !== undefined,
    );
    const hooks = [
      { name: 'evil', at: 'BeforeNode', job: { podSpec: { ...podSpec, hostPID: true } } },
    ];
    assert.equal(
      (await as('author', 'PATCH', planPath('p4'), { spec: { windows: 'Ignore', hooks } })).status,
      200,
    );
    await untilPlan(
      api,
      'p4',
      'waiting again',
      ({ phase, observedGeneration }) => phase === 'AwaitingApproval' && observedGeneration === 2,
    );
    await seconds(2);
    assert.equal(isHeld(await getNode(api, name), ourTaints), false);
    const { items } = await api.get<List<Listed>>(workPods);
    assert.deepEqual(items.filter(({ metadata }) => metadata.name.startsWith('p4-')).length, 0);
    await remove(api, planPath('p4'));
  });

  /** The name that a hook's pod had on 9d156895, which anybody could compute. */
  const guessed = (planName: string, uid: string, startTime: string): string => {
    let hash = 0xcbf29ce484222325n;
    for (const letter of `${uid}/${startTime}/etcd-backup/run`)
      hash = BigInt.asUintN(64, (hash ^ BigInt(letter.charCodeAt(0))) * 0x100000001b3n);
    return `${planName}-${hash.toString(16).padStart(16, '0')}-hook-1`;
  };

  test('P5: a kubelet’s mirror pod does not pass for a hook that runs elsewhere, even under its name', async () => {
    const [name = ''] = await nodesOf('p5', 1);
    deeds.set('BeforeRun', { hangs: true });
    const hooks = ['first', 'etcd-backup'].map(hook => ({
      name: hook,
      at: 'BeforeRun' as const,
      job: { podSpec, timeoutSeconds: 600 },
    }));
    await create(api, plan('p5', 'p5', { work: { none: {} }, due: {}, hooks }));
    const { run, hooks: runs } = await untilPlan(
      api,
      'p5',
      'at its first hook',
      one => one.hooks?.[0]?.podUID !== undefined,
    );
    const { metadata } = await api.get<{ readonly metadata: Metadata }>(planPath('p5'));
    const forge = async (podName: string): Promise<void> => {
      const forged = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {
          name: podName,
          namespace: 'drydock-plans',
          labels: { 'drydock.dev/maintenance-plan': 'p5' },
          annotations: { 'drydock.dev/maintenance-plan': 'p5', 'kubernetes.io/config.mirror': 'x' },
        },
        spec: { nodeName: name, ...podSpec },
      };
      assert.equal((await api.call('POST', workPods, forged)).status, 201);
      const status = { phase: 'Succeeded' };
      await api.call(
        'PATCH',
        `${workPods}/${podName}/status`,
        { status },
        'application/merge-patch+json',
      );
    };
    await forge(guessed('p5', metadata.uid, run?.startTime ?? ''));
    const first = runs?.[0];
    assert.equal(await work.finish(first?.pod ?? '', {}), undefined);
    const second = await untilPlan(
      api,
      'p5',
      'at its second hook',
      one =>
        one.hooks?.some(hook => hook.name === 'etcd-backup' && hook.podUID !== undefined) === true,
    );
    const own = second.hooks?.find(hook => hook.name === 'etcd-backup');
    const real = await api.get<{
      readonly metadata: Metadata & {
        readonly ownerReferences?: readonly { readonly uid: string }[];
      };
    }>(`${workPods}/${own?.pod}`);
    assert.equal(real.metadata.uid, own?.podUID);
    assert.equal(
      real.metadata.ownerReferences?.[0]?.uid,
      metadata.uid,
      'a kubelet names no owner but its Node',
    );
    assert.deepEqual([own?.state, second.phase], ['Running', 'Running']);
    await remove(api, planPath('p5'));
    deeds.delete('BeforeRun');
  });

  test('P7: an editor does not widen what an administrator agreed to: no pod is deleted past its budget', async () => {
    const [name = ''] = await nodesOf('p7', 1);
    await guarded('p7-web', name);
    const drain = { disableEviction: true, podSelector: { matchLabels: { app: 'batch' } } };
    await create(api, maintenance('p7', { nodeName: name, drain }));
    await untilMaintenance(api, 'p7', 'Drained');
    for (const spec of [
      { drain: { podSelector: null } },
      { drain: { podSelector: { matchLabels: { app: 'p7-web' } } } },
      { drain: { ignorePods: [] } },
      { drain: { waves: [{}] } },
      { drain: { gracePeriodSeconds: 5 } },
      { drain: { ladder: [{ afterSeconds: 1, action: 'Fail' }] } },
      { level: 'Cordon' },
      { start: { windows: 'Ignore' } },
    ]) {
      const reply = await as('editor', 'PATCH', `${maintenancePath('p7')}?dryRun=All`, { spec });
      assert.equal(reply.status, 403, JSON.stringify(spec));
      assert.match(
        JSON.stringify(reply.body),
        /needs the right delete-pods on maintenances\.drydock\.dev/,
      );
    }
    for (const body of [
      { spec: { reason: 'another' } },
      { metadata: { labels: { a: 'b' } } },
      { spec: { drain: { disableEviction: null, podSelector: null } } },
    ])
      assert.equal(
        (await as('editor', 'PATCH', `${maintenancePath('p7')}?dryRun=All`, body)).status,
        200,
        JSON.stringify(body),
      );
    await remove(api, maintenancePath('p7'));
  });

  test('H1: after a halt, an abort or a deletion no other attempt begins; a pause keeps it waiting', async () => {
    const stops: Readonly<Record<string, (name: string) => Promise<unknown>>> = {
      abort: name => api.patch(planPath(name), { spec: { state: 'Aborted' } }),
      delete: name => api.delete(planPath(name)),
      pause: name => api.patch(planPath(name), { spec: { state: 'Paused' } }),
    };
    for (const [how, stop] of Object.entries(stops)) {
      const name = `h1-${how}`;
      const [nodeName = ''] = await nodesOf(name, 1);
      deeds.set(nodeName, { hangs: true });
      await create(api, plan(name, name, { work: job({ attempts: 3, timeoutSeconds: 120 }) }));
      await untilPlan(
        api,
        name,
        'at work',
        ({ inFlight }) => inFlight?.[0]?.ranAttempt !== undefined,
      );
      await stop(name);
      await seconds(1);
      await work.end(nodeName, { exitCode: 1 });
      await seconds(4);
      assert.equal(work.counts.get(nodeName), 1, `one attempt: ${how}`);
      if (how !== 'pause') continue;
      const { waiting } = await untilPlan(
        api,
        name,
        'waiting',
        one => one.waiting?.some(({ reason }) => reason === 'Paused') === true,
      );
      assert.match(
        waiting?.find(({ reason }) => reason === 'Paused')?.message ?? '',
        /^another attempt waits: Paused/,
      );
      deeds.set(nodeName, {});
      await api.patch(planPath(name), { spec: { state: 'Running' } });
      await until('the second attempt', async () => work.counts.get(nodeName) === 2);
    }
  });

  test('R1: a node is not opened while the work runs on it; a person with the right may mean it', async () => {
    const [name = ''] = await nodesOf('r1', 1);
    deeds.set(name, { hangs: true });
    await create(api, plan('r1', 'r1', { work: job({ timeoutSeconds: 600 }) }));
    await untilPlan(
      api,
      'r1',
      'at work',
      ({ inFlight }) => inFlight?.[0]?.ranAttempt !== undefined,
    );
    const child = await childOf(name);
    assert.equal((await as('editor', 'DELETE', maintenancePath(child))).status, 200);
    await untilMaintenance(
      api,
      child,
      'Drained',
      ({ blockers }) => blockers?.[0]?.reason === 'WorkOfPlan',
    );
    await seconds(2);
    assert.equal(isHeld(await getNode(api, name), ourTaints), true, 'its work pod runs');
    const annotation = { metadata: { annotations: { 'drydock.dev/release-during-work': 'true' } } };
    assert.equal((await as('editor', 'PATCH', maintenancePath(child), annotation)).status, 403);
    await api.patch(maintenancePath(child), annotation);
    await untilGone(api, maintenancePath(child));
    assert.equal(isHeld(await getNode(api, name), ourTaints), false);
    await work.end(name, {});
    await remove(api, planPath('r1'));
  });

  test('R2: one condition on all nodes takes one of them', async () => {
    const names = await nodesOf('r2', 5);
    await create(api, {
      apiVersion: 'drydock.dev/v1alpha1',
      kind: 'MachineEventSource',
      metadata: { name: 'r2' },
      spec: {
        signals: [{ condition: { type: 'Broken' }, kind: 'maintenance' }],
        strategy: 'Drain',
      },
    });
    const broken = {
      conditions: [
        {
          type: 'Broken',
          status: 'True',
          reason: 'BadRollout',
          message: '',
          lastTransitionTime: new Date().toISOString(),
        },
      ],
    };
    for (const name of names)
      await api.call(
        'PATCH',
        `${nodePath(name)}/status`,
        { status: broken },
        'application/strategic-merge-patch+json',
      );
    const held = async (): Promise<number> => {
      const all = await Promise.all(names.map(name => getNode(api, name)));
      return all.filter(found => found.spec.unschedulable === true).length;
    };
    await until('one to be held', async () => (await held()) === 1);
    await seconds(6);
    assert.equal(await held(), 1);
    const { items } = await api.get<{
      items: { status?: { waitingFor?: string; message?: string } }[];
    }>('/apis/machinemaintenance.managed.openshift.io/v1alpha1/machinemaintenances');
    const waiting = items.filter(({ status }) => status?.waitingFor === 'Turn');
    assert.equal(waiting.length, 4);
    assert.match(
      waiting[0]?.status?.message ?? '',
      /of \d+ nodes are out of service for announcements, which is the limit \(--nodes-unavailable=1\)/,
    );
  });

  test('X1: a Machine of another cluster that names a node of ours is never deleted for it', async () => {
    const [name = ''] = await nodesOf('x1', 1, () => ({
      providerID: 'aws:///eu-central-1a/i-0aaaaaaaaaaaaaaa3',
    }));
    const alien = (machine: string, providerID: string): object => ({
      apiVersion: 'cluster.x-k8s.io/v1beta1',
      kind: 'Machine',
      metadata: { name: machine, namespace: 'tenant-a' },
      spec: { clusterName: 'customer', providerID },
    });
    const make = async (machine: string, providerID: string): Promise<void> => {
      assert.equal(
        (await as('tenant', 'POST', machinesPath, alien(machine, providerID))).status,
        201,
      );
      const status = { status: { nodeRef: { name }, phase: 'Running' } };
      assert.equal(
        (await as('tenant', 'PATCH', `${machinesPath}/${machine}/status`, status)).status,
        200,
      );
    };
    // A node of the second in which the run began may be a successor, and is none of the run.
    await seconds(1.1);
    await make('customer-db-1', 'vsphere://4230-of-another-cluster');
    await create(api, plan('x1', 'x1', { due: {}, work: { replace: { strategy: 'Replace' } } }));
    const { waiting } = await untilPlan(
      api,
      'x1',
      'waiting',
      one => one.waiting?.some(({ reason }) => reason === 'NoMachine') === true,
      {
        deadlineMs: 60_000,
        everyMs: 200,
      },
    );
    assert.match(
      waiting?.find(({ reason }) => reason === 'NoMachine')?.message ?? '',
      /Machine tenant-a\/customer-db-1 has providerID vsphere:\/\/4230-of-another-cluster, and node x1-01 has aws:/,
    );
    await api.patch(planPath('x1'), { spec: { state: 'Paused' } });
    await untilPlan(api, 'x1', 'paused', ({ phase }) => phase === 'Paused');
    await make('twin-1', 'aws:///eu-central-1a/i-0aaaaaaaaaaaaaaa3');
    await make('twin-2', 'aws:///eu-central-1a/i-0aaaaaaaaaaaaaaa3');
    await seconds(1);
    await api.patch(planPath('x1'), { spec: { state: 'Running' } });
    await untilPlan(
      api,
      'x1',
      'waiting for one Machine',
      one =>
        one.waiting?.some(({ message }) =>
          message.includes('several Machines have the providerID'),
        ) === true,
    );
    const { items } = await api.get<List<Listed>>(machinesPath);
    assert.deepEqual(
      items.filter(({ metadata }) => metadata.deletionTimestamp !== undefined),
      [],
    );
    assert.equal(isHeld(await getNode(api, name), ourTaints), false);
    await remove(api, planPath('x1'));
  });
});

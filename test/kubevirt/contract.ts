import assert from 'node:assert/strict';
import { afterEach, before, test } from 'node:test';
import type { Api, Reply } from '../control-plane/objects/api.ts';
import {
  collectionOf,
  cordon,
  create,
  evict,
  failureIn,
  nodePath,
  podPath,
} from '../control-plane/objects/cluster.ts';
import { namespace } from '../control-plane/objects/manifests.ts';
import type { List, Pod } from '../control-plane/objects/objects.ts';
import type { waitFor } from '../control-plane/wait.ts';
import {
  type EvictionStrategy,
  migration,
  pathOf,
  steering,
  type Vmi,
  type Vmim,
  type VmOptions,
} from './objects.ts';
import type { Vms } from './vms.ts';

/** What a drain gets from KubeVirt, real or simulated: the same cases on both. */

/** Users whom roles in the cases are about, without groups. */
export const callers = { exact: [], plain: [], nobody: [] } as const;

/** A cluster with KubeVirt and the nodes n1, n2 and n3. */
export type Site = {
  readonly api: Api;
  readonly vms: Vms;
  /** Lets the cluster's time pass until it is so. */
  readonly wait: typeof waitFor;
  readonly pass: (milliseconds: number) => Promise<void>;
  /** A client of somebody who may do nothing until a role says otherwise. */
  readonly as: (user: keyof typeof callers) => Api;
  /** Takes a part away, and brings it back. */
  readonly part: (name: 'virt-api' | 'virt-controller', isThere: boolean) => Promise<void>;
};

const nodes = ['n1', 'n2', 'n3'] as const;
const drainTaint = { key: 'kubevirt.io/drain', effect: 'NoSchedule' } as const;
const interceptor =
  'admission webhook "virt-launcher-eviction-interceptor.kubevirt.io" denied the request: ';
const creator = 'admission webhook "migration-create-validator.kubevirt.io" denied the request: ';

function phaseOf({ status }: Vmim): string {
  return status?.phase ?? '';
}
function isOver(one: Vmim): boolean {
  return ['Succeeded', 'Failed'].includes(phaseOf(one));
}
/** Past Pending: it counts for the limits. */
function isActive(one: Vmim): boolean {
  return !isOver(one) && !['', 'Pending'].includes(phaseOf(one));
}
function nameOf({ metadata }: { readonly metadata: { readonly name: string } }): string {
  return metadata.name;
}
function conditionOf({ status }: Vmi, type: string): string | undefined {
  return status?.conditions?.find(one => one.type === type)?.status;
}

/** Code and message of an answer that is a Status. */
function said(reply: Reply): { readonly code: number; readonly message: string } {
  return {
    code: reply.status,
    message: reply.status > 299 ? failureIn(reply).message : '',
  };
}

function refusal(why: string): { readonly code: number; readonly message: string } {
  return { code: 429, message: `${interceptor}${why}` };
}

/** What one case works with: VMs in a namespace of its own, on n1. */
class KubeVirtHarness {
  readonly site: Site;
  readonly namespace: string;

  constructor(site: Site, name: string) {
    this.site = site;
    this.namespace = name;
  }

  async make(
    names: readonly string[],
    options: Omit<VmOptions, 'name'> = {},
  ): Promise<readonly Vmi[]> {
    const { api, vms } = this.site;
    await create(api, namespace(this.namespace));
    return vms.makeInstances(
      ...names.map(name => ({ namespace: this.namespace, on: 'n1', ...options, name })),
    );
  }

  vmi(name: string): Promise<Vmi> {
    return this.site.vms.instance(this.namespace, name);
  }

  async mark(name: string): Promise<string | undefined> {
    return (await this.vmi(name)).status?.evacuationNodeName;
  }

  async node(name: string): Promise<string | undefined> {
    return (await this.vmi(name)).status?.nodeName;
  }

  migrations(name?: string): Promise<readonly Vmim[]> {
    return this.site.vms.migrations(this.namespace, name);
  }

  /** The pod in which the VM runs. */
  async source(name: string): Promise<string> {
    return nameOf(await this.site.vms.launcher(this.namespace, name));
  }

  async evict(
    pod: string,
    options: Readonly<Record<string, unknown>> = {},
  ): Promise<ReturnType<typeof said>> {
    return said(await evict(this.site.api, this.namespace, pod, options));
  }

  async evictVm(name: string): Promise<ReturnType<typeof said>> {
    return this.evict(await this.source(name));
  }

  cancel(name: string, body?: unknown): Promise<Reply> {
    return this.site.vms.cancel(this.namespace, name, body);
  }

  migrate(name: string, vmi: string): Promise<Reply> {
    const path = pathOf('virtualmachineinstancemigrations', this.namespace);
    return this.site.api.call('POST', path, migration(this.namespace, name, vmi));
  }

  deleteMigration(one: Vmim): Promise<void> {
    return this.site.api.delete(
      pathOf('virtualmachineinstancemigrations', this.namespace, nameOf(one)),
    );
  }

  until<T>(what: string, check: () => Promise<T | undefined | false>, seconds = 60): Promise<T> {
    return this.site.wait(
      what,
      async () => {
        const found = await check();
        return found === undefined || found === false ? { yet: 'not yet' } : { done: found };
      },
      { deadlineMs: seconds * 1000, everyMs: 200 },
    );
  }

  moved(name: string, seconds = 60): Promise<true> {
    return this.until(
      `${name} to move`,
      async () => (await this.node(name)) !== 'n1' && true,
      seconds,
    );
  }

  first(name: string, seconds = 60): Promise<Vmim> {
    return this.until(
      `a migration of ${name}`,
      async () => (await this.migrations(name))[0],
      seconds,
    );
  }
}

function taint(api: Api, taints: readonly object[] | null): Promise<unknown> {
  return api.patch(nodePath('n1'), { spec: { taints } });
}

async function evictionsAndEvacuation(stage: KubeVirtHarness): Promise<void> {
  const [vmi] = await stage.make(['a'], { migration: '6s', memory: '128Mi' });
  const { api, vms } = stage.site;
  const [launcher] = await vms.launchers(stage.namespace, 'a');
  assert.ok(vmi !== undefined && launcher !== undefined);
  const source = nameOf(launcher);
  assert.match(source, /^virt-launcher-a-[a-z0-9]{5}$/);
  assert.equal(launcher.spec.nodeName, 'n1');
  assert.equal(launcher.metadata.labels?.['kubevirt.io'], 'virt-launcher');
  assert.equal(launcher.metadata.labels['kubevirt.io/created-by'], vmi.metadata.uid);
  assert.equal(launcher.metadata.labels['vm.kubevirt.io/name'], 'a');
  assert.equal(launcher.metadata.annotations?.['kubevirt.io/domain'], 'a');
  assert.deepEqual(
    launcher.metadata.ownerReferences?.map(({ kind, name, controller }) => [
      kind,
      name,
      controller,
    ]),
    [['VirtualMachineInstance', 'a', true]],
  );
  const { volumes } = launcher.spec as {
    readonly volumes?: readonly { readonly emptyDir?: object }[];
  };
  assert.ok(volumes?.some(({ emptyDir }) => emptyDir !== undefined));
  assert.equal(vmi.spec.evictionStrategy, 'LiveMigrate');
  assert.equal(vmi.metadata.labels?.['kubevirt.io/nodeName'], 'n1');
  assert.equal(conditionOf(vmi, 'LiveMigratable'), 'True');
  assert.equal(conditionOf(vmi, 'Ready'), 'True');
  assert.deepEqual(vmi.status?.activePods, { [launcher.metadata.uid]: 'n1' });
  assert.deepEqual((vmi.status as { readonly memory?: object }).memory, {
    guestAtBoot: '128Mi',
    guestCurrent: '128Mi',
    guestRequested: '128Mi',
  });
  assert.deepEqual(
    (await api.get<List<object>>(collectionOf('policy/v1', 'PodDisruptionBudget', stage.namespace)))
      .items,
    [],
  );

  const triggered = `Eviction triggered evacuation of VMI "${stage.namespace}/a"`;
  assert.deepEqual(
    await stage.evict(source, { deleteOptions: { dryRun: ['All'] } }),
    refusal(triggered),
  );
  assert.equal(await stage.mark('a'), undefined);
  const nameless = await api.call('POST', `${podPath(stage.namespace, source)}/eviction`, {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: {},
  });
  assert.deepEqual(said(nameless), {
    code: 400,
    message: 'name in URL does not match name in Eviction object',
  });
  const answer = await evict(api, stage.namespace, source);
  assert.deepEqual(answer.body, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: `${interceptor}${triggered}`,
    code: 429,
  });
  assert.equal(await stage.mark('a'), 'n1');
  assert.deepEqual(await stage.evict(source), refusal(`Evacuation in progress: ${triggered}`));

  const evacuation = await stage.first('a', 5);
  assert.match(nameOf(evacuation), /^kubevirt-evacuation-[a-z0-9]{5}$/);
  assert.equal(evacuation.metadata.annotations?.['kubevirt.io/evacuationMigration'], 'n1');
  assert.equal(evacuation.metadata.labels?.['kubevirt.io/vmi-name'], 'a');
  const target = await stage.until('a target pod', async () =>
    (await vms.launchers(stage.namespace, 'a')).find(
      pod => nameOf(pod) !== source && pod.spec.nodeName !== undefined,
    ),
  );
  assert.notEqual(target.spec.nodeName, 'n1');
  assert.equal(target.metadata.labels?.['kubevirt.io/migrationJobUID'], evacuation.metadata.uid);
  assert.deepEqual(
    await stage.evict(nameOf(target)),
    refusal(`Evacuation in progress: ${triggered}`),
  );
  await stage.until(
    'the condition',
    async () => conditionOf(await stage.vmi('a'), 'EvictionRequested') === 'True' && true,
    5,
  );
  const marked = await api.get<Pod>(podPath(stage.namespace, source));
  assert.equal(
    marked.metadata.annotations?.['descheduler.alpha.kubernetes.io/eviction-in-progress'],
    'true',
  );
  await stage.until(
    'the migration to run',
    async () => (await stage.migrations('a')).some(one => phaseOf(one) === 'Running') && true,
  );
  const during = (await stage.vmi('a')).status;
  assert.equal(during?.migrationState?.sourceNode, 'n1');
  assert.equal(during.migrationState.sourcePod, source);
  assert.equal(during.migrationState.targetNode, target.spec.nodeName);
  assert.equal(during.migrationState.targetPod, nameOf(target));
  assert.equal(during.migrationState.migrationUid, evacuation.metadata.uid);
  assert.deepEqual(Object.values(during.activePods ?? {}).sort(), ['n1', target.spec.nodeName]);

  await stage.until(
    'success',
    async () => (await stage.migrations('a')).every(one => phaseOf(one) === 'Succeeded') && true,
  );
  const [done] = await stage.migrations('a');
  assert.deepEqual(
    done?.status?.phaseTransitionTimestamps?.map(({ phase }) => phase),
    [
      'Pending',
      'Scheduling',
      'Scheduled',
      'PreparingTarget',
      'TargetReady',
      'Running',
      'Succeeded',
    ],
  );
  const after = await stage.vmi('a');
  assert.equal(after.status?.nodeName, target.spec.nodeName);
  assert.equal(after.status?.evacuationNodeName, undefined);
  assert.equal(after.metadata.labels?.['kubevirt.io/nodeName'], target.spec.nodeName);
  assert.equal(after.status?.migrationState?.completed, true);
  assert.equal(after.status.migrationState.failed ?? false, false);
  await stage.until(
    'the condition to go',
    async () => conditionOf(await stage.vmi('a'), 'EvictionRequested') === undefined && true,
    5,
  );

  await stage.site.pass(5000);
  const ended = await api.get<Pod>(podPath(stage.namespace, source));
  assert.equal(ended.status.phase, 'Succeeded');
  assert.ok(launcher.metadata.uid in ((await stage.vmi('a')).status?.activePods ?? {}));
  assert.equal((await stage.evict(source)).code, 201);
  await stage.until(
    'the source pod to go',
    async () => (await api.call('GET', podPath(stage.namespace, source))).status === 404 && true,
  );
}

async function strategy(
  stage: KubeVirtHarness,
  options: { readonly evictionStrategy: EvictionStrategy; readonly migratable: boolean },
  wanted: { readonly answer: ReturnType<typeof said>; readonly mark?: string },
): Promise<void> {
  await stage.make(['s'], options);
  const answer = await stage.evictVm('s');
  assert.deepEqual(answer, wanted.answer);
  if (answer.code === 201) {
    await stage.until(
      'the VM to end',
      async () =>
        ['Succeeded', 'Failed'].includes((await stage.vmi('s')).status?.phase ?? '') && true,
    );
    return;
  }
  assert.equal(await stage.mark('s'), wanted.mark);
  await stage.site.pass(3000);
  assert.deepEqual(await stage.migrations(), []);
}

/**
 * The numbers of unfinished and of active migrations, whenever they change, until all VMs have
 * moved.
 */
async function followed(
  stage: KubeVirtHarness,
  names: readonly string[],
): Promise<readonly (readonly [unfinished: number, active: number])[]> {
  const seen: (readonly [number, number])[] = [];
  await stage.until(
    'all to move',
    async () => {
      const all = await stage.migrations();
      seen.push([all.filter(one => !isOver(one)).length, all.filter(isActive).length]);
      const where = await Promise.all(names.map(name => stage.node(name)));
      return where.every(node => node !== 'n1') && all.every(isOver);
    },
    150,
  );
  return seen;
}

async function limits(
  stage: KubeVirtHarness,
  count: number,
  cluster: number,
  outbound: number,
): Promise<void> {
  await stage.site.vms.configure({
    migrations: {
      parallelMigrationsPerCluster: cluster,
      parallelOutboundMigrationsPerNode: outbound,
    },
  });
  // The parts hear of it a moment later.
  await stage.site.pass(2000);
  const names = Array.from({ length: count }, (_, index) => `v${index}`);
  await stage.make(names, { migration: '6s' });
  for (const name of names) assert.equal((await stage.evictVm(name)).code, 429);
  await stage.site.pass(2000);
  // Marked is not migrating: what is beyond the limits has no migration yet.
  for (const name of names) assert.equal(await stage.mark(name), 'n1');
  assert.ok((await stage.migrations()).length < count);
  const seen = await followed(stage, names);
  assert.equal(Math.max(...seen.map(([, active]) => active)), Math.min(cluster, outbound));
}

/**
 * How KubeVirt always works from version 1.9 on: what is marked has its migration at once, and the
 * migrations wait for each other.
 */
async function queued(stage: KubeVirtHarness): Promise<void> {
  const { vms, pass } = stage.site;
  await vms.configure({ developerConfiguration: { featureGates: ['MigrationPriorityQueue'] } });
  await pass(2000);
  try {
    const names = ['v0', 'v1', 'v2', 'v3'];
    await stage.make(names, { migration: '6s' });
    for (const name of names) assert.equal((await stage.evictVm(name)).code, 429);
    await stage.until(
      'a migration for each',
      async () => (await stage.migrations()).length === names.length,
      3,
    );
    const seen = await followed(stage, names);
    assert.equal(Math.max(...seen.map(([, active]) => active)), 2);
    assert.equal((await stage.migrations()).length, names.length);
  } finally {
    await vms.configure({ developerConfiguration: { featureGates: [] } });
  }
}

async function cancelled(stage: KubeVirtHarness): Promise<void> {
  const { api, vms, pass } = stage.site;
  await vms.configure({
    migrations: { parallelMigrationsPerCluster: 1, parallelOutboundMigrationsPerNode: 1 },
  });
  await pass(2000);
  await stage.make(['c0', 'c1'], { migration: 'hang' });
  const nothing = { status: 200, body: '' };
  assert.deepEqual(await stage.cancel('c0', { evacuationNodeName: 'n1' }), nothing);
  assert.deepEqual(await stage.cancel('c0'), nothing);
  assert.equal((await stage.cancel('nobody', { evacuationNodeName: 'n1' })).status, 404);
  await stage.evictVm('c0');
  await stage.until(
    'c0 to migrate',
    async () => (await stage.migrations('c0')).some(one => phaseOf(one) === 'Running') && true,
  );
  await stage.evictVm('c1');
  await pass(6000);
  assert.equal(await stage.mark('c1'), 'n1');
  assert.deepEqual(await stage.migrations('c1'), []);

  const rejected = {
    code: 500,
    message:
      'Internal error occurred: the server rejected our request due to an error in our request',
  };
  assert.deepEqual(said(await stage.cancel('c1', { evacuationNodeName: 'wrong' })), rejected);
  assert.deepEqual(said(await stage.cancel('c1')), rejected);
  assert.deepEqual(
    await stage.cancel('c1', { evacuationNodeName: 'n1', dryRun: ['All'] }),
    nothing,
  );
  assert.equal(await stage.mark('c1'), 'n1');
  await taint(api, [drainTaint]);
  assert.deepEqual(said(await stage.cancel('c1', { evacuationNodeName: 'n1' })), {
    code: 400,
    message:
      'Node "n1" has NodeDrainTaintKey "&Taint{Key:kubevirt.io/drain,Value:,Effect:NoSchedule,TimeAdded:<nil>,}"',
  });
  await taint(api, null);
  assert.deepEqual(await stage.cancel('c1', { evacuationNodeName: 'n1' }), nothing);
  assert.equal(await stage.mark('c1'), undefined);
  await stage.until(
    'the condition to go',
    async () => conditionOf(await stage.vmi('c1'), 'EvictionRequested') === undefined && true,
    20,
  );

  // While the mark stands, another migration follows the one that was deleted.
  const [first] = await stage.migrations('c0');
  assert.ok(first);
  await stage.deleteMigration(first);
  const second = await stage.until('another migration to run', async () =>
    (await stage.migrations('c0')).find(
      one => nameOf(one) !== nameOf(first) && phaseOf(one) === 'Running',
    ),
  );
  // Calling off takes the mark and leaves the migration alone.
  assert.deepEqual(await stage.cancel('c0', { evacuationNodeName: 'n1' }), nothing);
  await pass(3000);
  assert.equal(await stage.mark('c0'), undefined);
  assert.deepEqual((await stage.migrations('c0')).map(phaseOf), ['Running']);
  await stage.deleteMigration(second);
  await stage.until(
    'the migration to go',
    async () => (await stage.migrations('c0')).length === 0 && true,
  );
  const { migrationState } = (await stage.vmi('c0')).status ?? {};
  assert.equal(migrationState?.abortRequested, true);
  assert.equal(migrationState.abortStatus, 'Succeeded');
  assert.equal(migrationState.failed, true);
  await pass(6000);
  assert.deepEqual(await stage.migrations(), []);
  assert.equal(await stage.node('c0'), 'n1');
  const phases = (await vms.launchers(stage.namespace, 'c0')).map(({ status }) => status.phase);
  assert.deepEqual([...new Set(phases)].sort(), ['Failed', 'Running']);
}

async function acceptance(stage: KubeVirtHarness): Promise<void> {
  await stage.make(['a']);
  const path = `/apis/subresources.kubevirt.io/v1/namespaces/${stage.namespace}/virtualmachineinstances/a/evacuate/cancel`;
  const { api } = stage.site;
  // What answers nothing accepts nobody who wants JSON.
  const picky = await api.call(
    'PUT',
    path,
    { evacuationNodeName: 'n1' },
    'application/json',
    'application/json',
  );
  assert.deepEqual(picky, {
    status: 406,
    body: '406: Not Acceptable\n\nAvailable representations: ',
  });
  assert.equal((await api.call('GET', path)).status, 405);
}

function secondsBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / 1000;
}

function timeOf({ status }: Vmim, phase: string): string {
  return (
    status?.phaseTransitionTimestamps?.find(one => one.phase === phase)?.phaseTransitionTimestamp ??
    ''
  );
}

/** Who may call an evacuation off: the API server asks for another word than the path has. */
async function roles(stage: KubeVirtHarness): Promise<void> {
  const { api, as, vms } = stage.site;
  await stage.make(['a']);
  const allow = async (user: keyof typeof callers, resource: string): Promise<void> => {
    const apiGroup = 'rbac.authorization.k8s.io';
    const common = {
      apiVersion: `${apiGroup}/v1`,
      metadata: { name: user, namespace: stage.namespace },
    };
    const rules = [
      { apiGroups: ['subresources.kubevirt.io'], resources: [resource], verbs: ['update'] },
    ];
    await api.post(collectionOf(common.apiVersion, 'Role', stage.namespace), {
      ...common,
      kind: 'Role',
      rules,
    });
    await api.post(collectionOf(common.apiVersion, 'RoleBinding', stage.namespace), {
      ...common,
      kind: 'RoleBinding',
      roleRef: { apiGroup, kind: 'Role', name: user },
      subjects: [{ apiGroup, kind: 'User', name: user }],
    });
  };
  await allow('exact', 'virtualmachineinstances/evacuate/cancel');
  await allow('plain', 'virtualmachineinstances/evacuate');
  const cancelAs = (user: keyof typeof callers): Promise<Reply> =>
    vms.cancel(stage.namespace, 'a', { evacuationNodeName: 'n1' }, as(user));
  // Roles are seen a moment after they are made.
  await stage.until(
    'the role to be seen',
    async () => (await cancelAs('plain')).status === 200 && true,
    10,
  );
  for (const user of ['exact', 'nobody'] as const) {
    assert.deepEqual(said(await cancelAs(user)), {
      code: 403,
      message:
        `virtualmachineinstances.subresources.kubevirt.io "a" is forbidden: User "${user}" cannot update resource ` +
        `"virtualmachineinstances/evacuate" in API group "subresources.kubevirt.io" in the namespace "${stage.namespace}"`,
    });
  }
}

/** The pause after a failure, by the times of the migrations themselves. */
async function backoff(stage: KubeVirtHarness): Promise<void> {
  await stage.make(['f'], { migration: 'fail' });
  await stage.evictVm('f');
  await stage.until(
    'the first to fail',
    async () => (await stage.migrations('f')).some(one => phaseOf(one) === 'Failed') && true,
  );
  assert.equal(await stage.mark('f'), 'n1');
  assert.equal((await stage.vmi('f')).status?.migrationState?.failed, true);
  await stage.until(
    'a second migration',
    async () => (await stage.migrations('f')).some(one => !isOver(one)) && true,
  );
  await stage.site.api.patch(pathOf('virtualmachineinstances', stage.namespace, 'f'), {
    metadata: { annotations: { [steering.migration]: '1s' } },
  });
  await stage.moved('f', 120);
  const [first, second] = await stage.until('both to be over', async () => {
    const all = await stage.migrations('f');
    return all.length === 2 && all.every(isOver) && all;
  });
  assert.ok(first !== undefined && second !== undefined);
  assert.deepEqual([phaseOf(first), phaseOf(second)], ['Failed', 'Succeeded']);
  const pause = secondsBetween(timeOf(first, 'Failed'), timeOf(second, 'Scheduling'));
  // Twenty, if the second was there by then: real ones have been made 32 s later.
  assert.ok(pause >= 19 && pause <= 60, `${pause} s`);
}

async function stuck(stage: KubeVirtHarness): Promise<void> {
  const { api, pass } = stage.site;
  await stage.make(['k'], { migration: '1s' });
  for (const node of nodes) await cordon(api, node);
  await stage.evictVm('k');
  const target = await stage.until('a target pod', async () =>
    (await stage.site.vms.launchers(stage.namespace, 'k')).find(
      ({ spec }) => spec.nodeName === undefined,
    ),
  );
  await pass(3000);
  assert.deepEqual((await stage.migrations('k')).map(phaseOf), ['Scheduling']);
  const pending = await api.get<Pod>(podPath(stage.namespace, nameOf(target)));
  assert.equal(pending.status.phase, 'Pending');
  assert.ok(
    pending.status.conditions?.some(
      ({ type, reason }) => type === 'PodScheduled' && reason === 'Unschedulable',
    ),
  );
  assert.equal(await stage.mark('k'), 'n1');
  assert.equal((await stage.evict(nameOf(target))).code, 429);
  await cordon(api, 'n2', false);
  await stage.until('k to be on n2', async () => (await stage.node('k')) === 'n2' && true, 90);
}

async function manual(stage: KubeVirtHarness): Promise<void> {
  await stage.make(['m'], { migration: '8s' });
  const source = await stage.source('m');
  assert.equal((await stage.migrate('mine', 'm')).status, 201);
  await stage.until(
    'it to run',
    async () => (await stage.migrations('m')).some(one => phaseOf(one) === 'Running') && true,
  );
  const target =
    (await stage.site.vms.launchers(stage.namespace, 'm'))
      .map(nameOf)
      .find(name => name !== source) ?? '';
  assert.deepEqual(await stage.evict(target), refusal('Eviction request for target Pod'));
  assert.equal(await stage.mark('m'), undefined);
  assert.deepEqual(
    await stage.evict(source),
    refusal(`Eviction triggered evacuation of VMI "${stage.namespace}/m"`),
  );
  assert.equal(await stage.mark('m'), 'n1');
  const [mine] = await stage.migrations('m');
  assert.deepEqual(said(await stage.migrate('second', 'm')), {
    code: 400,
    message: `${creator}in-flight migration detected. Active migration job (${mine?.metadata.uid}) is currently already in progress for VMI m.`,
  });
  assert.deepEqual(said(await stage.migrate('other', 'nobody')), {
    code: 400,
    message: `${creator}the VMI "${stage.namespace}/nobody" does not exist`,
  });
  await stage.until(
    'm to move',
    async () => (await stage.node('m')) !== 'n1' && (await stage.migrations('m')).every(isOver),
  );
  await stage.site.pass(3000);
  assert.deepEqual((await stage.migrations('m')).map(nameOf), ['mine']);
  assert.equal(await stage.mark('m'), undefined);
}

async function tainted(stage: KubeVirtHarness): Promise<void> {
  await stage.make(['t'], { migration: '2s' });
  await taint(stage.site.api, [drainTaint]);
  await stage.first('t', 10);
  assert.equal(await stage.mark('t'), undefined);
  await stage.moved('t');
}

async function machines(stage: KubeVirtHarness): Promise<void> {
  const { api, vms } = stage.site;
  await create(api, namespace(stage.namespace));
  const common = { namespace: stage.namespace, on: 'n1', migration: '2s' } as const;
  const [moving, stopping] = await vms.makeMachines(
    { ...common, name: 'moving', evictionStrategy: 'LiveMigrate' },
    { ...common, name: 'stopping', evictionStrategy: 'None' },
  );
  await cordon(api, 'n1');
  assert.equal((await stage.evictVm('moving')).code, 429);
  assert.equal((await stage.evictVm('stopping')).code, 201);
  const back = async (name: string): Promise<Vmi | false> => {
    const { status, body } = await api.call(
      'GET',
      pathOf('virtualmachineinstances', stage.namespace, name),
    );
    const vmi = body as Vmi;
    return (
      status === 200 &&
      vmi.status?.phase === 'Running' &&
      ![undefined, 'n1'].includes(vmi.status.nodeName) &&
      vmi
    );
  };
  assert.equal(
    (await stage.until('moving to be back', () => back('moving'))).metadata.uid,
    moving?.metadata.uid,
  );
  assert.notEqual(
    (await stage.until('stopping to be back', () => back('stopping'))).metadata.uid,
    stopping?.metadata.uid,
  );
}

async function partsAway(stage: KubeVirtHarness): Promise<void> {
  const { part, pass } = stage.site;
  await stage.make(['x'], { migration: '2s' });
  const source = await stage.source('x');
  await part('virt-api', false);
  const away = await stage.evict(source);
  assert.equal(away.code, 500);
  assert.match(
    away.message,
    /^Internal error occurred: failed calling webhook "virt-launcher-eviction-interceptor.kubevirt.io": failed to call webhook: /,
  );
  assert.equal(await stage.mark('x'), undefined);
  assert.equal((await stage.cancel('x', { evacuationNodeName: 'n1' })).status, 503);
  await part('virt-api', true);
  await part('virt-controller', false);
  assert.equal((await stage.evict(source)).code, 429);
  assert.equal(await stage.mark('x'), 'n1');
  await pass(4000);
  assert.deepEqual(await stage.migrations(), []);
  await part('virt-controller', true);
  await stage.first('x', 90);
  await stage.moved('x');
}

const isNoMigration = 'VMI s is configured with an eviction strategy but is not live-migratable';

const cases: Readonly<Record<string, (stage: KubeVirtHarness) => Promise<void>>> = {
  'an eviction marks the VM, a migration moves it, the source pod stays until it is evicted':
    evictionsAndEvacuation,
  'LiveMigrate, not migratable: refused, not marked': stage =>
    strategy(
      stage,
      { evictionStrategy: 'LiveMigrate', migratable: false },
      { answer: refusal(isNoMigration) },
    ),
  'LiveMigrateIfPossible, not migratable: the pod goes': stage =>
    strategy(
      stage,
      { evictionStrategy: 'LiveMigrateIfPossible', migratable: false },
      { answer: { code: 201, message: '' } },
    ),
  'None: the pod goes': stage =>
    strategy(
      stage,
      { evictionStrategy: 'None', migratable: true },
      { answer: { code: 201, message: '' } },
    ),
  'External: marked, and nothing follows': stage =>
    strategy(
      stage,
      { evictionStrategy: 'External', migratable: true },
      {
        answer: refusal(`Eviction triggered evacuation of VMI "${stage.namespace}/s"`),
        mark: 'n1',
      },
    ),
  'never more active than a node may send': stage => limits(stage, 5, 5, 2),
  'never more active than the cluster bears': stage => limits(stage, 4, 1, 2),
  'with the priority queue all have a migration at once': queued,
  'what cancel answers, and what it leaves alone': cancelled,
  'cancel answers nobody who accepts JSON only': acceptance,
  'who may cancel': roles,
  'a failed migration is tried again after a pause': backoff,
  'no node for the target: it waits until there is one': stuck,
  "a user's migration": manual,
  'the taint of old': tainted,
  'VMs that are started again': machines,
  'without virt-api nothing is evicted, without virt-controller nothing moves': partsAway,
};

/** The cases, one test each. */
export function contract(site: () => Site): void {
  before(() => site().vms.configure({ evictionStrategy: 'LiveMigrate' }));
  afterEach(async () => {
    const { api, vms } = site();
    await vms.configure({
      migrations: { parallelMigrationsPerCluster: 5, parallelOutboundMigrationsPerNode: 2 },
    });
    await taint(api, null);
    await vms.clear();
    for (const node of nodes) await cordon(api, node, false);
  });
  for (const [index, [name, run]] of Object.entries(cases).entries())
    test(name, () => run(new KubeVirtHarness(site(), `case-${index}`)));
}

import assert from 'node:assert/strict';
import type {
  MaintenanceSpec,
  MaintenanceStatus,
  NodeMaintenanceStatus,
} from '@drydock/apis/schema';
import type { Audited } from '../../control-plane/audit.ts';
import type { Api } from '../../control-plane/objects/api.ts';
import { create, getNode, nodePath, podPath, podsOn } from '../../control-plane/objects/cluster.ts';
import {
  type Manifest,
  type NodeOptions,
  node,
  type PodOptions,
  pod,
} from '../../control-plane/objects/manifests.ts';
import {
  isReady,
  type List,
  type Metadata,
  type Node,
} from '../../control-plane/objects/objects.ts';
import { type Patience, until, waitFor } from '../../control-plane/wait.ts';
import type { OperatorHarness } from './harness.ts';

/** Helpers to set things up for the operator and to look at what it has made of them. */

type Served<Status> = {
  readonly metadata: Metadata;
  readonly spec: { readonly nodeName: string };
  readonly status?: Status;
};
export type NodeMaintenance = Served<NodeMaintenanceStatus>;
export type Maintenance = Served<MaintenanceStatus>;

const seeds = '/apis/nodemaintenance.medik8s.io/v1beta1/nodemaintenances';
const maintenances = '/apis/drydock.dev/v1alpha1/maintenances';
export function seedPath(name: string): string {
  return `${seeds}/${name}`;
}
export function maintenancePath(name: string): string {
  return `${maintenances}/${name}`;
}

export function seed(name: string, nodeName = name): Manifest {
  return {
    apiVersion: 'nodemaintenance.medik8s.io/v1beta1',
    kind: 'NodeMaintenance',
    metadata: { name },
    spec: { nodeName, reason: 'a test' },
  };
}

/** Every pod may go, unless told otherwise. */
export function maintenance(name: string, spec: Partial<MaintenanceSpec> = {}): Manifest {
  return {
    apiVersion: 'drydock.dev/v1alpha1',
    kind: 'Maintenance',
    metadata: { name },
    spec: {
      nodeName: name,
      ...spec,
      drain: { force: true, deleteEmptyDirData: true, ...spec.drain },
    },
  };
}

const patience: Patience = { deadlineMs: 60_000, everyMs: 100 };

/** The object's status once it is as wanted. */
function untilStatus<Status>(
  api: Api,
  path: string,
  what: string,
  isWanted: (status: Status) => boolean,
): Promise<Status> {
  return waitFor(
    `${path} to be ${what}`,
    async () => {
      const { status } = await api.get<Served<Status>>(path);
      return status !== undefined && isWanted(status)
        ? { done: status }
        : { yet: JSON.stringify(status) };
    },
    patience,
  );
}

export function untilSeed(
  api: Api,
  name: string,
  phase: string,
  isWanted: (status: NodeMaintenanceStatus) => boolean = () => true,
): Promise<NodeMaintenanceStatus> {
  return untilStatus<NodeMaintenanceStatus>(
    api,
    seedPath(name),
    phase,
    status => status.phase === phase && isWanted(status),
  );
}

export function untilMaintenance(
  api: Api,
  name: string,
  phase: MaintenanceStatus['phase'],
  isWanted: (status: MaintenanceStatus) => boolean = () => true,
): Promise<MaintenanceStatus> {
  return untilStatus<MaintenanceStatus>(
    api,
    maintenancePath(name),
    String(phase),
    status => status.phase === phase && isWanted(status),
  );
}

/** Waits until there is no such object. */
export function untilGone(api: Api, path: string): Promise<void> {
  return until(
    `${path} to be gone`,
    async () => (await api.call('GET', path)).status === 404,
    patience,
  );
}

/** Deletes it and waits until it is gone. */
export async function remove(api: Api, path: string): Promise<void> {
  await api.delete(path);
  await untilGone(api, path);
}

/** Every status that an object has from now on; call it before the object is made. */
export async function statusesOf<Status>(
  api: Api,
  path: string,
): Promise<{ readonly seen: readonly Status[]; readonly stop: () => Promise<void> }> {
  const cut = path.lastIndexOf('/');
  const collection = path.slice(0, cut);
  const { metadata } = await api.get<List<Served<Status>>>(collection);
  const seen: Status[] = [];
  const done = new AbortController();
  const watching = api.watch<Served<Status>>(
    `${collection}?fieldSelector=metadata.name=${path.slice(cut + 1)}`,
    metadata.resourceVersion,
    ({ object: { status } }) => {
      if (status !== undefined && JSON.stringify(status) !== JSON.stringify(seen.at(-1)))
        seen.push(status);
    },
    done.signal,
  );
  // A test that fails leaves it behind: it ends with the control plane then.
  const ended = watching.catch(() => {});
  return {
    seen,
    stop: () => {
      done.abort();
      return ended;
    },
  };
}

type Event = {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  readonly reportingComponent: string;
};

/** Events about one object, that one and not another of its name. */
export async function eventsOf(
  api: Api,
  uid: string,
  namespace = 'default',
): Promise<readonly Event[]> {
  return (
    await api.get<List<Event>>(
      `/api/v1/namespaces/${namespace}/events?fieldSelector=involvedObject.uid=${uid}`,
    )
  ).items;
}

/** How often each reason was recorded. */
export async function countsOf(api: Api, uid: string): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  for (const { reason, count } of await eventsOf(api, uid))
    counts[reason] = (counts[reason] ?? 0) + count;
  return counts;
}

/** Events are recorded in the background, in order: once this one is there, all before it are. */
export function untilEvent(
  api: Api,
  uid: string,
  reason: string,
  namespace = 'default',
): Promise<Event> {
  return waitFor(
    `the event ${reason}`,
    async () => {
      const events = await eventsOf(api, uid, namespace);
      const found = events.find(event => event.reason === reason);
      return found === undefined
        ? { yet: events.map(event => event.reason).join(', ') }
        : { done: found };
    },
    patience,
  );
}

type RawNode = Node & { readonly spec: Readonly<Record<string, unknown>> };

/** All of a node that a maintenance might touch, in a form that can be compared. */
export function faceOf(raw: Node): object {
  const { metadata, spec, status } = raw as RawNode;
  const { taints = [], unschedulable = false, ...rest } = spec;
  return {
    spec: rest,
    unschedulable,
    taints: taints.map(({ key, value = '', effect }) => `${key}=${value}:${effect}`).sort(),
    labels: metadata.labels ?? {},
    annotations: metadata.annotations ?? {},
    conditions: (status.conditions ?? []).map(({ type }) => type).sort(),
  };
}

function isSettled(found: Node): boolean {
  return (
    isReady(found) &&
    found.metadata.annotations?.['node.alpha.kubernetes.io/ttl'] !== undefined &&
    !(found.spec.taints ?? []).some(({ key }) => key.startsWith('node.kubernetes.io/not-ready')) &&
    (found.spec.unschedulable !== true ||
      (found.spec.taints ?? []).some(({ key }) => key === 'node.kubernetes.io/unschedulable'))
  );
}

/**
 * Makes a node and waits until the controllers of the cluster have put on it what they always do;
 * answers what it looks like then.
 */
export async function makeNode(api: Api, name: string, options: NodeOptions = {}): Promise<object> {
  // The node controller copies the label of the operating system to its old name, sooner or later.
  await create(
    api,
    node(name, { ...options, labels: { 'beta.kubernetes.io/os': 'linux', ...options.labels } }),
  );
  return waitFor(
    `node ${name} to be settled`,
    async () => {
      const found = await getNode(api, name);
      return isSettled(found) ? { done: faceOf(found) } : { yet: JSON.stringify(faceOf(found)) };
    },
    patience,
  );
}

/**
 * Waits until the node looks like this again. The cluster's node controller may have seen a cordon
 * late: it puts its taint on a node that has been given back, and takes it off a moment later.
 */
export async function untilFace(api: Api, name: string, face: object): Promise<void> {
  const same = async (): Promise<boolean> =>
    JSON.stringify(sorted(faceOf(await getNode(api, name)))) === JSON.stringify(sorted(face));
  try {
    await until(`node ${name} to look as before`, async () => (await same()) && (await same()), {
      deadlineMs: 20_000,
    });
  } catch (error) {
    assert.deepEqual(faceOf(await getNode(api, name)), face);
    throw error;
  }
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  );
}

/** What a node of a NodeMaintenance carries. */
export const seedTaints = [
  'medik8s.io/drain:NoSchedule',
  'node.kubernetes.io/unschedulable:NoSchedule',
];
export const ourTaints = [
  'drydock.dev/drain:NoSchedule',
  'node.kubernetes.io/unschedulable:NoSchedule',
];
export const excludeLabel = 'remediation.medik8s.io/exclude-from-remediation';

export function taintsOf(found: Node): readonly string[] {
  return (found.spec.taints ?? []).map(({ key, effect }) => `${key}:${effect}`).sort();
}

export function isHeld(found: Node, taints: readonly string[] = seedTaints): boolean {
  return (
    found.spec.unschedulable === true &&
    taints.every(taint => taintsOf(found).includes(taint)) &&
    found.metadata.labels?.[excludeLabel] === 'true'
  );
}

export function untilHeld(api: Api, name: string, taints?: readonly string[]): Promise<Node> {
  return waitFor(
    `node ${name} to be held`,
    async () => {
      const found = await getNode(api, name);
      return isHeld(found, taints) ? { done: found } : { yet: JSON.stringify(faceOf(found)) };
    },
    patience,
  );
}

export type Lease = {
  readonly metadata: Metadata & { readonly ownerReferences?: readonly unknown[] };
  readonly spec: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
  };
};

const leases = '/apis/coordination.k8s.io/v1/namespaces/medik8s-leases/leases';
export function leasePath(nodeName: string): string {
  return `${leases}/node-${nodeName}`;
}
export function leaseOf(api: Api, nodeName: string): Promise<Lease> {
  return api.get(leasePath(nodeName));
}
export async function hasLease(api: Api, nodeName: string): Promise<boolean> {
  return (await api.call('GET', leasePath(nodeName))).status === 200;
}

/** A time as leases store it. */
function microNow(): string {
  return new Date().toISOString().replace('Z', '000Z');
}

/** Gives the node's lease to somebody else, whoever has it. */
export async function takeLease(
  api: Api,
  nodeName: string,
  holder = 'somebody-else',
): Promise<void> {
  const spec = {
    holderIdentity: holder,
    leaseDurationSeconds: 3600,
    acquireTime: microNow(),
    renewTime: microNow(),
    leaseTransitions: 1,
  };
  if (await hasLease(api, nodeName)) {
    await api.patch(leasePath(nodeName), { spec });
    return;
  }
  await api.post(leases, {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: `node-${nodeName}` },
    spec,
  });
}

/** The manifest with more in its metadata. */
export function withMetadata(manifest: Manifest, more: object): Manifest {
  return { ...manifest, metadata: { ...manifest.metadata, ...more } };
}

/** A pod that is bound to the node without a scheduler, as drains must expect. */
export function podAt(nodeName: string, name: string, options: PodOptions = {}): Manifest {
  return pod(name, { ...options, spec: { nodeName, ...options.spec } });
}

/** Waits until the node has this many pods, all of them running or over. */
export function untilPods(api: Api, nodeName: string, count: number): Promise<void> {
  return waitFor(
    `${count} pods on ${nodeName}`,
    async () => {
      const found = await podsOn(api, nodeName);
      const isHere =
        found.length === count && found.every(({ status }) => status.phase !== 'Pending');
      return isHere
        ? { done: undefined }
        : {
            yet: found.map(({ metadata, status }) => `${metadata.name} ${status.phase}`).join(', '),
          };
    },
    patience,
  );
}

export async function namesOn(api: Api, nodeName: string): Promise<readonly string[]> {
  return (await podsOn(api, nodeName)).map(({ metadata }) => metadata.name).sort();
}

/** Waits until exactly these pods are on the node. */
export function untilNames(api: Api, nodeName: string, names: readonly string[]): Promise<void> {
  return waitFor(
    `exactly ${names.join(', ')} on ${nodeName}`,
    async () => {
      const found = await namesOn(api, nodeName);
      return JSON.stringify(found) === JSON.stringify(names)
        ? { done: undefined }
        : { yet: found.join(', ') };
    },
    patience,
  );
}

export function getPod<T>(api: Api, namespace: string, name: string): Promise<T> {
  return api.get(podPath(namespace, name));
}

/** Ends a pod at once, whatever its kubelet says. */
export function killPod(api: Api, namespace: string, name: string): Promise<void> {
  return api.delete(podPath(namespace, name), {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    gracePeriodSeconds: 0,
  });
}

function isEviction({ subresource, verb }: Audited): boolean {
  return subresource === 'eviction' && verb === 'create';
}

/**
 * What the operator has asked for in these namespaces since the mark: `evict NAME CODE` and `delete
 * NAME CODE`, oldest first.
 */
export async function podCalls(
  { controlPlane }: OperatorHarness,
  mark: number,
  namespaces: readonly string[],
): Promise<readonly string[]> {
  return (await controlPlane.audit.since(mark, 'drydock'))
    .filter(event => namespaces.includes(event.namespace) && event.resource === 'pods')
    .filter(event => isEviction(event) || event.verb === 'delete')
    .map(event => `${isEviction(event) ? 'evict' : 'delete'} ${event.name} ${event.code}`);
}

/** The operator's changes of a node since the mark, oldest first. */
export async function nodePatches(
  { controlPlane }: OperatorHarness,
  mark: number,
  name: string,
  user = 'drydock',
): Promise<readonly Audited[]> {
  return (await controlPlane.audit.since(mark, user)).filter(
    event =>
      event.resource === 'nodes' && event.name === name && ['patch', 'update'].includes(event.verb),
  );
}

/** Changes something of the node by hand. */
export function editNode(api: Api, name: string, patch: object): Promise<unknown> {
  return api.patch(nodePath(name), patch);
}

/**
 * A PersistentVolumeClaim bound to a volume of a driver that nobody serves, and the claim that the
 * volume is attached to a node.
 */
export function storage(namespace: string, name: string): readonly Manifest[] {
  return [
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        storageClassName: '',
        persistentVolumeReclaimPolicy: 'Retain',
        claimRef: { namespace, name },
        csi: { driver: 'nobody.example.test', volumeHandle: name },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name, namespace },
      spec: {
        accessModes: ['ReadWriteOnce'],
        storageClassName: '',
        volumeName: name,
        resources: { requests: { storage: '1Gi' } },
      },
    },
  ];
}

export function attachment(volume: string, nodeName: string): Manifest {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: { name: `attached-${volume}` },
    spec: { attacher: 'nobody.example.test', nodeName, source: { persistentVolumeName: volume } },
  };
}

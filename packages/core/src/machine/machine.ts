import type { Labels } from '@drydock/apimachinery';
import { isObject, type JsonObject, pathSegment, readTime } from '@drydock/apimachinery';

/**
 * Machines of the two machine APIs, and the sets that replace them, as far as a replacement needs
 * them.
 */

/** Machine API. openshift: machine.openshift.io. capi: cluster.x-k8s.io. */
export type MachineApi = 'openshift' | 'capi';

/**
 * Name and owner of the hook with which Drydock keeps a machine until its replacement exists. Both
 * have at least 3 characters.
 */
export const hookName = 'DrydockReplacement';
export const hookOwner = 'drydock.dev/machine-maintenance';

/** Annotations that make a Machine the next to be deleted when its set is scaled down. */
export const deleteMarks: Readonly<Record<MachineApi, string>> = {
  openshift: 'machine.openshift.io/delete-machine',
  capi: 'cluster.x-k8s.io/delete-machine',
};

/** Prefix of the annotations that are Cluster API's hooks. */
export const preDrainPrefix = 'pre-drain.delete.hook.machine.cluster.x-k8s.io/';

/** A controller that owns an object. */
type Owner = { readonly kind: string; readonly name: string; readonly uid: string };

type Common = {
  /** Key `api/namespace/name`, for sets `api/Kind/namespace/name`. */
  readonly key: string;
  readonly api: MachineApi;
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly path: string;
  readonly labels: Labels;
  readonly owner?: Owner;
  /**
   * Name of the field or annotation that makes its controllers leave it alone. Missing: it is not
   * paused.
   */
  readonly pausedBy?: string;
};

export type Machine = Common & {
  readonly createdAt: Temporal.Instant;
  readonly deleting: boolean;
  readonly phase?: string;
  readonly providerId?: string;
  readonly nodeName?: string;
  /** Names and addresses of the machine, after which its node may be named. */
  readonly addresses?: readonly string[];
  readonly controlPlane: boolean;
  readonly zone?: string;
  /** Hooks that keep its drain from beginning, including ours. */
  readonly preDrainHooks: readonly { readonly name: string; readonly owner: string }[];
  /** Value of the mark that makes it the next to be deleted; missing if there is none. */
  readonly deleteMark?: string;
  /** True if the machine API reports it as available: Cluster API does so from v1beta2 on. */
  readonly available: boolean;
  /** Message of the machine API about its deletion. */
  readonly statusMessage?: string;
  /** Name of the Cluster that it is part of, in the same namespace, for Cluster API. */
  readonly clusterName?: string;
};

/** A Cluster of Cluster API, as far as its machines need it. */
export type MachineCluster = Common;

/**
 * A set that creates as many machines as its replicas: a MachineSet, a MachineDeployment, or the
 * controller of a control plane.
 */
export type MachineSet = Common & {
  readonly replicas: number;
  readonly deleting: boolean;
  /** True if it replaces deleted machines of a control plane. */
  readonly controlPlane: boolean;
  /** True if the Cluster's topology sets the replicas: a number that others write does not stay. */
  readonly topologyOwned: boolean;
  /**
   * Machines that were added to replace one: value of the record by the uid of the machine
   * maintenance.
   */
  readonly surges: ReadonlyMap<string, string>;
};

/**
 * Prefix of the record of a surge machine, on its set: written and removed together with the number
 * of replicas.
 */
export const surgePrefix = 'surge.drydock.dev/';

type Raw = {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp?: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Labels;
    readonly annotations?: Labels;
    readonly ownerReferences?: readonly (Owner & { readonly controller?: boolean })[];
  };
  readonly spec?: JsonObject;
  readonly status?: JsonObject;
};

/** A collection of a machine API, as it is served. */
export type MachineKind = {
  readonly api: MachineApi;
  readonly apiVersion: string;
  readonly kind:
    | 'Machine'
    | 'MachineSet'
    | 'MachineDeployment'
    | 'KubeadmControlPlane'
    | 'ControlPlaneMachineSet'
    | 'Cluster';
  readonly plural: string;
};

/** Returns the collection path for the whole cluster. */
export function collectionOf({ apiVersion, plural }: MachineKind): string {
  return `/apis/${apiVersion}/${plural}`;
}

/** Annotation that any object of Cluster API may have, and that counts with any value. */
const pausedAnnotation = 'cluster.x-k8s.io/paused';

/**
 * Annotation on a MachineSet that is to create no more machines. That of a MachineDeployment leaves
 * this to another of its sets.
 */
const makesNoneAnnotation = 'cluster.x-k8s.io/disable-machine-create';

const pausable: readonly MachineKind['kind'][] = ['Cluster', 'MachineDeployment'];

/**
 * Returns the pause of an object in both machine APIs. `cluster.x-k8s.io/skip-remediation` is no
 * pause, nor is `machine.openshift.io/exclude-node-draining`: they are about health checks and
 * about a drain that is not Drydock's.
 */
function pausedByOf(
  { metadata, spec, status }: Raw,
  { api, kind }: MachineKind,
  owner: Owner | undefined,
): string | undefined {
  const { annotations = {} } = metadata;
  if (annotations[pausedAnnotation] !== undefined) return `annotation ${pausedAnnotation}`;
  if (
    kind === 'MachineSet' &&
    owner?.kind !== 'MachineDeployment' &&
    annotations[makesNoneAnnotation] !== undefined
  )
    return `annotation ${makesNoneAnnotation}`;
  if (api === 'capi' && pausable.includes(kind) && spec?.['paused'] === true) return 'spec.paused';
  // A copy, or an object that is being migrated: its controllers leave it to those of the other
  // machine API.
  const authority = status?.['authoritativeAPI'];
  return api === 'openshift' && (authority === 'ClusterAPI' || authority === 'Migrating')
    ? `status.authoritativeAPI ${authority}`
    : undefined;
}

function commonOf(raw: Raw, machineKind: MachineKind, key: string): Common {
  const { api, apiVersion, kind, plural } = machineKind;
  const {
    name,
    namespace = '',
    uid,
    resourceVersion,
    labels = {},
    ownerReferences = [],
  } = raw.metadata;
  const owner = ownerReferences.find(({ controller }) => controller === true);
  const pausedBy = pausedByOf(raw, machineKind, owner);
  return {
    key,
    api,
    apiVersion,
    kind,
    namespace,
    name,
    uid,
    resourceVersion,
    path: `/apis/${apiVersion}/namespaces/${pathSegment(namespace)}/${plural}/${pathSegment(name)}`,
    labels,
    ...(owner && { owner: { kind: owner.kind, name: owner.name, uid: owner.uid } }),
    ...(pausedBy !== undefined && { pausedBy }),
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

function hooksOf({ spec, metadata }: Raw, api: MachineApi): Machine['preDrainHooks'] {
  if (api === 'capi') {
    return Object.entries(metadata.annotations ?? {})
      .filter(([key]) => key.startsWith(preDrainPrefix))
      .map(([key, owner]) => ({ name: key.slice(preDrainPrefix.length), owner }));
  }
  const { preDrain } = objectOf(spec?.['lifecycleHooks']);
  return (Array.isArray(preDrain) ? preDrain : []).flatMap(hook => {
    const { name, owner } = objectOf(hook);
    return typeof name === 'string' ? [{ name, owner: textOf(owner) ?? '' }] : [];
  });
}

function isControlPlane({ metadata: { labels = {} } }: Raw, api: MachineApi): boolean {
  return api === 'capi'
    ? labels['cluster.x-k8s.io/control-plane'] !== undefined
    : labels['machine.openshift.io/cluster-api-machine-role'] === 'master';
}

function conditionsOf({ status }: Raw): readonly JsonObject[] {
  const { conditions } = status ?? {};
  return Array.isArray(conditions) ? conditions.map(objectOf) : [];
}

/**
 * Returns what blocks a deletion: Cluster API has it in a condition, OpenShift in its conditions
 * about hooks and the drain.
 */
function statusMessageOf(raw: Raw): string | undefined {
  const about = conditionsOf(raw).find(({ type, status: value, reason }) => {
    if (type === 'Deleting') return value === 'True' && reason !== 'NotDeleting';
    return (type === 'Drainable' || type === 'Terminable') && value === 'False';
  });
  return textOf(about?.['message']) ?? textOf(raw.status?.['errorMessage']);
}

/** Maximum number of addresses that are read: a machine has a few, and thousands would be abuse. */
const maxAddresses = 32;

function addressesOf({ status }: Raw): readonly string[] {
  const { addresses } = status ?? {};
  const texts = (Array.isArray(addresses) ? addresses.slice(0, maxAddresses) : []).map(one =>
    textOf(objectOf(one)['address']),
  );
  return texts.filter(text => text !== undefined);
}

/** Reads the needed fields of a Machine. */
export function readMachine(raw: unknown, kind: MachineKind): Machine {
  const { metadata, spec, status } = raw as Raw;
  const { api } = kind;
  const found = commonOf(raw as Raw, kind, `${api}/${metadata.namespace ?? ''}/${metadata.name}`);
  const providerId = textOf(spec?.['providerID']);
  const nodeName = textOf(objectOf(status?.['nodeRef'])['name']);
  const phase = textOf(status?.['phase']);
  const zone = textOf(spec?.['failureDomain']) ?? found.labels['machine.openshift.io/zone'];
  const deleteMark = metadata.annotations?.[deleteMarks[api]];
  const statusMessage = statusMessageOf(raw as Raw);
  const addresses = addressesOf(raw as Raw);
  const clusterName =
    api === 'capi'
      ? (textOf(spec?.['clusterName']) ?? textOf(found.labels['cluster.x-k8s.io/cluster-name']))
      : undefined;
  return {
    ...found,
    createdAt: readTime(metadata.creationTimestamp) ?? Temporal.Instant.fromEpochMilliseconds(0),
    deleting: metadata.deletionTimestamp !== undefined,
    controlPlane: isControlPlane(raw as Raw, api),
    preDrainHooks: hooksOf(raw as Raw, api),
    available: conditionsOf(raw as Raw).some(
      ({ type, status: value }) => type === 'Available' && value === 'True',
    ),
    ...(phase !== undefined && { phase }),
    ...(providerId !== undefined && { providerId }),
    ...(nodeName !== undefined && { nodeName }),
    ...(addresses.length > 0 && { addresses }),
    ...(zone !== undefined && zone !== '' && { zone }),
    ...(deleteMark !== undefined && { deleteMark }),
    ...(statusMessage !== undefined && { statusMessage }),
    ...(clusterName !== undefined && { clusterName }),
  };
}

/** Reads the needed fields of a Cluster of Cluster API. */
export function readMachineCluster(raw: unknown, kind: MachineKind): MachineCluster {
  const { namespace = '', name } = (raw as Raw).metadata;
  return commonOf(raw as Raw, kind, `${namespace}/${name}`);
}

/** Reads the needed fields of a set that creates machines. */
export function readMachineSet(raw: unknown, kind: MachineKind): MachineSet {
  const { metadata, spec } = raw as Raw;
  const { api } = kind;
  const replicas = spec?.['replicas'];
  const records = Object.entries(metadata.annotations ?? {}).filter(([key]) =>
    key.startsWith(surgePrefix),
  );
  const controlPlane =
    kind.kind === 'KubeadmControlPlane' || kind.kind === 'ControlPlaneMachineSet';
  const dormant = kind.kind === 'ControlPlaneMachineSet' && spec?.['state'] !== 'Active';
  return {
    ...commonOf(
      raw as Raw,
      kind,
      `${api}/${kind.kind}/${metadata.namespace ?? ''}/${metadata.name}`,
    ),
    replicas: typeof replicas === 'number' ? replicas : 1,
    deleting: metadata.deletionTimestamp !== undefined,
    controlPlane: controlPlane && !dormant,
    topologyOwned: metadata.labels?.['topology.cluster.x-k8s.io/owned'] !== undefined,
    surges: new Map(records.map(([key, value]) => [key.slice(surgePrefix.length), value])),
  };
}

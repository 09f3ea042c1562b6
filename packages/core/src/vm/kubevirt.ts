import type { Json } from '@drydock/apimachinery';
import { amount, readTime } from '@drydock/apimachinery';
import { onNoNode } from '../pod/pod.ts';

/**
 * Kept fields of KubeVirt's objects (kubevirt.io/v1, v1.5 to v1.9): VMIs, their migrations, and the
 * configuration.
 */

const group = '/apis/kubevirt.io/v1';
export const vmisPath = `${group}/virtualmachineinstances`;
export const migrationsPath = `${group}/virtualmachineinstancemigrations`;
export const settingsPath = `${group}/kubevirts`;

/** The VM of a virt-launcher pod while it runs. */
export type Vmi = {
  /** Key `namespace/name`. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly phase: string;
  /** Time at which it entered its phase, as far as known. */
  readonly since?: Temporal.Instant;
  readonly deleting: boolean;
  /** Name of its node; the source while it is migrated. */
  readonly nodeName?: string;
  /** Name of the node from which its move was requested: KubeVirt migrates it, sooner or later. */
  readonly evacuatedFrom?: string;
  /** Time since when that is so (KubeVirt 1.7 and later). */
  readonly askedAt?: Temporal.Instant;
  /** Eviction strategy of its spec; the cluster's default counts if it has none. */
  readonly strategy?: string;
  /**
   * Migratability; missing as long as KubeVirt has not reported it, which is before the VM runs.
   */
  readonly migratable?: boolean;
  /** Reason why not, in KubeVirt's words. */
  readonly notMigratable?: string;
  /** Bytes of the guest's memory. */
  readonly memory?: number;
};

/** A VirtualMachineInstanceMigration. */
export type VmMigration = {
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly deleting: boolean;
  /** VM as `namespace/name`. */
  readonly vmi: string;
  readonly phase: string;
  readonly createdAt: Temporal.Instant;
  /** Time at which it entered its phase, as far as known. */
  readonly since?: Temporal.Instant;
  /** Times at which the copying began and ended. */
  readonly runningAt?: Temporal.Instant;
  readonly endedAt?: Temporal.Instant;
  /** Name of the node that it was created to empty. */
  readonly evacuates?: string;
  readonly source?: string;
  readonly target?: string;
  readonly failure?: string;
};

/** The pod that a VM is to be migrated to, as long as it has no node. */
export type UnplacedTarget = {
  /** Key `namespace/name`. */
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** uid of the migration. */
  readonly migration: string;
  readonly createdAt: Temporal.Instant;
  /** Reason why the scheduler finds no node, in its words. */
  readonly why?: string;
};

const migrationLabel = 'kubevirt.io/migrationJobUID';

/** Query of pods of migrations that have no node: few at any time. */
export const unplacedTargets = { ...onNoNode, labelSelector: migrationLabel } as const;

/** Settings of the cluster's administrator (KubeVirt CR, spec.configuration). */
export type KubeVirtSettings = {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly evictionStrategy?: string;
  readonly parallelPerCluster: number;
  readonly parallelPerNode: number;
  /**
   * Key of the taint that evacuates the VMs of a node without an eviction (deprecated by KubeVirt,
   * used by the older operators).
   */
  readonly drainTaint: string;
};

/** KubeVirt's own defaults (types.go and virt-config, v1.9). */
export const defaultSettings: KubeVirtSettings = {
  key: '',
  uid: '',
  resourceVersion: '0',
  parallelPerCluster: 5,
  parallelPerNode: 2,
  drainTaint: 'kubevirt.io/drain',
};

type Meta = {
  readonly metadata: {
    readonly namespace?: string;
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp?: string;
    readonly deletionTimestamp?: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly labels?: Readonly<Record<string, string>>;
  };
};

type PhaseTimes = readonly { readonly phase: string; readonly phaseTransitionTimestamp: string }[];

type RawTarget = Meta & {
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly message?: string;
    }[];
  };
};

type RawVmi = Meta & {
  readonly spec?: {
    readonly evictionStrategy?: string;
    readonly domain?: {
      readonly memory?: { readonly guest?: Json };
      readonly resources?: { readonly requests?: { readonly memory?: Json } };
    };
  };
  readonly status?: {
    readonly phase?: string;
    readonly nodeName?: string;
    readonly evacuationNodeName?: string;
    readonly phaseTransitionTimestamps?: PhaseTimes;
    readonly memory?: { readonly guestCurrent?: Json };
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
      readonly lastTransitionTime?: string | null;
    }[];
  };
};

type RawMigration = Meta & {
  readonly spec?: { readonly vmiName?: string };
  readonly status?: {
    readonly phase?: string;
    readonly phaseTransitionTimestamps?: PhaseTimes;
    readonly migrationState?: {
      readonly sourceNode?: string;
      readonly targetNode?: string;
      readonly failureReason?: string;
      readonly startTimestamp?: string;
      readonly endTimestamp?: string;
    };
  };
};

type RawSettings = Meta & {
  readonly spec?: {
    readonly configuration?: {
      readonly evictionStrategy?: string;
      readonly migrations?: {
        readonly parallelMigrationsPerCluster?: number;
        readonly parallelOutboundMigrationsPerNode?: number;
        readonly nodeDrainTaintKey?: string;
      };
    };
  };
};

function identity({
  metadata,
}: Meta): Pick<Vmi, 'key' | 'namespace' | 'name' | 'uid' | 'resourceVersion' | 'deleting'> {
  const { namespace = 'default', name, uid, resourceVersion, deletionTimestamp } = metadata;
  return {
    key: `${namespace}/${name}`,
    namespace,
    name,
    uid,
    resourceVersion,
    deleting: deletionTimestamp !== undefined,
  };
}

function given<Name extends string>(
  name: Name,
  text: string | undefined,
): { readonly [N in Name]?: string } {
  return text === undefined || text === ''
    ? {}
    : ({ [name]: text } as { readonly [N in Name]?: string });
}

function cameInto(phase: string, times: PhaseTimes | undefined): Temporal.Instant | undefined {
  return readTime(times?.find(one => one.phase === phase)?.phaseTransitionTimestamp);
}

function memoryOf({ spec, status }: RawVmi): number {
  return amount(
    status?.memory?.guestCurrent ??
      spec?.domain?.memory?.guest ??
      spec?.domain?.resources?.requests?.memory,
  );
}

/** Reads the needed fields of a VirtualMachineInstance. */
export function readVmi(raw: unknown): Vmi {
  const vmi = raw as RawVmi;
  const { spec, status } = vmi;
  const condition = status?.conditions?.find(({ type }) => type === 'LiveMigratable');
  const askedAt = readTime(
    status?.conditions?.find(({ type }) => type === 'EvictionRequested')?.lastTransitionTime,
  );
  const memory = memoryOf(vmi);
  const phase = status?.phase === undefined || status.phase === '' ? 'Pending' : status.phase;
  const since =
    cameInto(phase, status?.phaseTransitionTimestamps) ?? readTime(vmi.metadata.creationTimestamp);
  return {
    ...identity(vmi),
    phase,
    ...(since && { since }),
    ...given('nodeName', status?.nodeName),
    ...given('evacuatedFrom', status?.evacuationNodeName),
    ...(askedAt && { askedAt }),
    ...given('strategy', spec?.evictionStrategy),
    ...(condition && { migratable: condition.status === 'True' }),
    ...(condition?.status === 'False' &&
      given('notMigratable', condition.message ?? condition.reason)),
    ...(memory > 0 && { memory }),
  };
}

/** Reads the needed fields of a VirtualMachineInstanceMigration. */
export function readMigration(raw: unknown): VmMigration {
  const migration = raw as RawMigration;
  const { metadata, spec, status } = migration;
  const { migrationState: state, phaseTransitionTimestamps: times } = status ?? {};
  const phase = status?.phase === undefined || status.phase === '' ? 'Pending' : status.phase;
  const when = (name: string): Temporal.Instant | undefined => cameInto(name, times);
  const identified = identity(migration);
  const createdAt =
    readTime(metadata.creationTimestamp) ?? Temporal.Instant.fromEpochMilliseconds(0);
  const runningAt = readTime(state?.startTimestamp) ?? when('Running');
  const endedAt = readTime(state?.endTimestamp) ?? when('Succeeded') ?? when('Failed');
  return {
    ...identified,
    vmi: `${identified.namespace}/${spec?.vmiName ?? ''}`,
    phase,
    createdAt,
    since: when(phase) ?? createdAt,
    ...(runningAt && { runningAt }),
    ...(endedAt && { endedAt }),
    ...given('evacuates', metadata.annotations?.['kubevirt.io/evacuationMigration']),
    ...given('source', state?.sourceNode),
    ...given('target', state?.targetNode),
    ...given('failure', state?.failureReason),
  };
}

/** Reads the needed fields of a migration's target pod. */
export function readTarget(raw: unknown): UnplacedTarget {
  const target = raw as RawTarget;
  const { key, uid, resourceVersion } = identity(target);
  const { labels, creationTimestamp } = target.metadata;
  const condition = target.status?.conditions?.find(
    ({ type, status }) => type === 'PodScheduled' && status === 'False',
  );
  return {
    key,
    uid,
    resourceVersion,
    migration: labels?.[migrationLabel] ?? '',
    createdAt: readTime(creationTimestamp) ?? Temporal.Instant.fromEpochMilliseconds(0),
    ...given('why', condition?.message),
  };
}

/** Reads the needed fields of the KubeVirt object; KubeVirt's defaults for the rest. */
export function readSettings(raw: unknown): KubeVirtSettings {
  const object = raw as RawSettings;
  const { key, uid, resourceVersion } = identity(object);
  const { evictionStrategy, migrations } = object.spec?.configuration ?? {};
  return {
    key,
    uid,
    resourceVersion,
    ...given('evictionStrategy', evictionStrategy),
    parallelPerCluster:
      migrations?.parallelMigrationsPerCluster ?? defaultSettings.parallelPerCluster,
    parallelPerNode:
      migrations?.parallelOutboundMigrationsPerNode ?? defaultSettings.parallelPerNode,
    drainTaint: migrations?.nodeDrainTaintKey ?? defaultSettings.drainTaint,
  };
}

/** Returns why it cannot be migrated, for people. */
export function whyNotMigratable({ notMigratable }: Vmi): string {
  return notMigratable ?? unsaid;
}

/** Text if KubeVirt gives no reason. */
export const unsaid = 'KubeVirt does not say why';

export function isOver({ phase }: VmMigration): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}

/**
 * Reports whether its guest has not started: nothing of it runs anywhere, and KubeVirt does not
 * report yet whether it can be migrated.
 */
export function isUnstarted({ phase }: Vmi): boolean {
  return (
    phase === 'Pending' ||
    phase === 'Scheduling' ||
    phase === 'Scheduled' ||
    phase === 'WaitingForSync'
  );
}

/** Reports whether it runs nowhere any more. */
export function hasEnded({ phase }: Vmi): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}

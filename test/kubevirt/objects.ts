import type { Condition, Metadata } from '../control-plane/objects/objects.ts';

/** What tests read of KubeVirt's objects, and what they make. */

const group = 'kubevirt.io';
const apiVersion = `${group}/v1`;

/** Where KubeVirt itself is. */
export const home = 'kubevirt';

type Resource = 'virtualmachines' | 'virtualmachineinstances' | 'virtualmachineinstancemigrations';

/** Of a collection, or of one object in it. */
export function pathOf(resource: Resource, namespace: string, name?: string): string {
  return `/apis/${apiVersion}/namespaces/${namespace}/${resource}${name === undefined ? '' : `/${name}`}`;
}

export const kubeVirtPath = `/apis/${apiVersion}/namespaces/${home}/kubevirts/kubevirt`;

/** Where an evacuation is called off. */
export function cancelPath(namespace: string, name: string): string {
  return `/apis/subresources.${group}/v1/namespaces/${namespace}/virtualmachineinstances/${name}/evacuate/cancel`;
}

export type EvictionStrategy = 'LiveMigrate' | 'LiveMigrateIfPossible' | 'External' | 'None';

/**
 * Annotations that tell the node's side what to do: how a migration goes, and whether the VM can be
 * migrated at all.
 */
export const steering = {
  migration: 'drydock.test/migration',
  migratable: 'drydock.test/migratable',
} as const;

/** How a migration goes: for so long, until it fails, or never to an end. */
type MigrationScript = `${number}s` | 'fail' | 'hang';

export type VmOptions = {
  readonly namespace?: string;
  readonly name: string;
  /** The node where it starts; it may be moved elsewhere. */
  readonly on?: string;
  /** For good on this node. */
  readonly pinnedTo?: string;
  /** `64Mi` when left out. */
  readonly memory?: string;
  /** The one of the KubeVirt CR when left out. */
  readonly evictionStrategy?: EvictionStrategy;
  readonly migration?: MigrationScript;
  readonly migratable?: boolean;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
};

/** Rather there than elsewhere: a target of a migration is elsewhere all the same. */
function preferring(node: string): object {
  return {
    nodeAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        {
          weight: 100,
          preference: {
            matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [node] }],
          },
        },
      ],
    },
  };
}

function annotationsOf({
  annotations,
  migration,
  migratable,
}: VmOptions): Readonly<Record<string, string>> {
  return {
    ...(migration !== undefined && { [steering.migration]: migration }),
    ...(migratable !== undefined && { [steering.migratable]: String(migratable) }),
    ...annotations,
  };
}

function specOf({ on, pinnedTo, memory = '64Mi', evictionStrategy }: VmOptions): object {
  return {
    ...(evictionStrategy !== undefined && { evictionStrategy }),
    ...(on !== undefined && { affinity: preferring(on) }),
    ...(pinnedTo !== undefined && { nodeSelector: { 'kubernetes.io/hostname': pinnedTo } }),
    domain: { memory: { guest: memory }, devices: {} },
  };
}

/** A VM that nobody starts again. */
export function instance(options: VmOptions): object {
  return {
    apiVersion,
    kind: 'VirtualMachineInstance',
    metadata: {
      name: options.name,
      namespace: options.namespace ?? 'default',
      labels: options.labels ?? {},
      annotations: annotationsOf(options),
    },
    spec: specOf(options),
  };
}

/** A VM that is started again whenever it ends. */
export function virtualMachine(options: VmOptions): object {
  return {
    apiVersion,
    kind: 'VirtualMachine',
    metadata: { name: options.name, namespace: options.namespace ?? 'default' },
    spec: {
      runStrategy: 'Always',
      template: {
        metadata: { labels: options.labels ?? {}, annotations: annotationsOf(options) },
        spec: specOf(options),
      },
    },
  };
}

/** A migration that somebody asks for. */
export function migration(namespace: string, name: string, vmiName: string): object {
  return {
    apiVersion,
    kind: 'VirtualMachineInstanceMigration',
    metadata: { name, namespace },
    spec: { vmiName },
  };
}

type MigrationState = {
  readonly migrationUid?: string;
  readonly sourceNode?: string;
  readonly sourcePod?: string;
  readonly targetNode?: string;
  readonly targetPod?: string;
  readonly targetNodeAddress?: string;
  readonly startTimestamp?: string;
  readonly endTimestamp?: string;
  readonly completed?: boolean;
  readonly failed?: boolean;
  readonly failureReason?: string;
  readonly abortRequested?: boolean;
  readonly abortStatus?: string;
};

export type Vmi = {
  readonly metadata: Metadata;
  readonly spec: { readonly evictionStrategy?: EvictionStrategy };
  readonly status?: {
    readonly phase?: string;
    readonly nodeName?: string;
    readonly evacuationNodeName?: string;
    readonly conditions?: readonly Condition[];
    readonly activePods?: Readonly<Record<string, string>>;
    readonly migrationState?: MigrationState;
    readonly phaseTransitionTimestamps?: readonly object[];
  };
};

export type Vmim = {
  readonly metadata: Metadata;
  readonly spec: { readonly vmiName: string };
  readonly status?: {
    readonly phase?: string;
    readonly phaseTransitionTimestamps?: readonly {
      readonly phase: string;
      readonly phaseTransitionTimestamp: string;
    }[];
  };
};

/** What of `KubeVirt.spec.configuration` tests change. */
export type Configuration = {
  readonly evictionStrategy?: EvictionStrategy;
  readonly migrations?: {
    readonly parallelMigrationsPerCluster?: number;
    readonly parallelOutboundMigrationsPerNode?: number;
  };
  readonly developerConfiguration?: {
    readonly featureGates?: readonly string[];
    readonly useEmulation?: boolean;
  };
};

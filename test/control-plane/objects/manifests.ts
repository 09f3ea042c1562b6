/** An object on its way to the API server. */
export type Manifest = Readonly<Record<string, unknown>> & {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly object[];
  };
  readonly spec?: unknown;
  readonly status?: unknown;
};

export type NodeOptions = {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly taints?: readonly {
    readonly key: string;
    readonly value?: string;
    readonly effect: string;
  }[];
  readonly unschedulable?: boolean;
  /** How many pods fit; 250 unless told otherwise. */
  readonly pods?: number;
  /** False: nobody plays its kubelet; it never becomes Ready and its pods never start. */
  readonly kubelet?: boolean;
  /** It has booted once, into this kernel; of others nothing is known of boots. */
  readonly kernel?: string;
};

export type PodOptions = {
  readonly namespace?: string;
  /** Labels of the pods beside `app: NAME`. */
  readonly labels?: Readonly<Record<string, string>>;
  /**
   * Annotations of the pods: the `drydock.test/…` ones of stages/pods.yaml change how long they
   * take.
   */
  readonly annotations?: Readonly<Record<string, string>>;
  /** The pods may run on these nodes only; anywhere when left out. */
  readonly onNodes?: readonly string[];
  /** Gives each pod an emptyDir, which makes it one with local data. */
  readonly localData?: boolean;
  readonly priorityClassName?: string;
  /** More of the pod's spec, as it is. */
  readonly spec?: Readonly<Record<string, unknown>>;
};

export type WorkloadOptions = PodOptions & { readonly replicas?: number };

function resources(pods: number): object {
  return { cpu: '1000', memory: '1000Gi', pods: String(pods) };
}

function bootInto(name: string, kernelVersion: string): object {
  return {
    architecture: 'amd64',
    bootID: `${name}-first`,
    containerRuntimeVersion: 'test',
    kernelVersion,
    kubeletVersion: 'test',
    operatingSystem: 'linux',
  };
}

/** A node whose kubelet is played by kwok. */
export function node(name: string, options: NodeOptions = {}): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', ...options.labels },
      annotations: {
        ...(options.kubelet === false ? {} : { 'kwok.x-k8s.io/node': 'fake' }),
        ...options.annotations,
      },
    },
    spec: {
      ...(options.taints === undefined ? {} : { taints: options.taints }),
      ...(options.unschedulable === true ? { unschedulable: true } : {}),
    },
    status: {
      capacity: resources(options.pods ?? 250),
      allocatable: resources(options.pods ?? 250),
      ...(options.kernel === undefined ? {} : { nodeInfo: bootInto(name, options.kernel) }),
    },
  };
}

export function namespace(name: string): Manifest {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
}

function affinity(nodes: readonly string[]): object {
  return {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [
          { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: nodes }] },
        ],
      },
    },
  };
}

function podSpec(options: PodOptions): object {
  return {
    containers: [
      {
        name: 'main',
        image: 'example.test/none:1',
        ...(options.localData === true
          ? { volumeMounts: [{ name: 'data', mountPath: '/data' }] }
          : {}),
      },
    ],
    ...(options.localData === true ? { volumes: [{ name: 'data', emptyDir: {} }] } : {}),
    ...(options.onNodes === undefined ? {} : { affinity: affinity(options.onNodes) }),
    ...(options.priorityClassName === undefined
      ? {}
      : { priorityClassName: options.priorityClassName }),
    ...options.spec,
  };
}

function meta(name: string, options: PodOptions): Manifest['metadata'] {
  return { name, namespace: options.namespace ?? 'default' };
}

function template(name: string, options: PodOptions): object {
  return {
    metadata: { labels: { app: name, ...options.labels }, annotations: options.annotations ?? {} },
    spec: podSpec(options),
  };
}

function selector(name: string): object {
  return { matchLabels: { app: name } };
}

export function deployment(name: string, options: WorkloadOptions = {}): Manifest {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: meta(name, options),
    spec: {
      replicas: options.replicas ?? 1,
      selector: selector(name),
      template: template(name, options),
    },
  };
}

/** All its pods are made at once, not one after the other. */
export function statefulSet(name: string, options: WorkloadOptions = {}): Manifest {
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: meta(name, options),
    spec: {
      replicas: options.replicas ?? 1,
      serviceName: name,
      podManagementPolicy: 'Parallel',
      selector: selector(name),
      template: template(name, options),
    },
  };
}

/** Tolerates everything, as the ones of a cluster's own do. */
export function daemonSet(name: string, options: PodOptions = {}): Manifest {
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: meta(name, options),
    spec: {
      selector: selector(name),
      template: template(name, {
        ...options,
        spec: { tolerations: [{ operator: 'Exists' }], ...options.spec },
      }),
    },
  };
}

/** Its pods run until they are evicted, or for as long as `drydock.test/done-after` says. */
export function job(name: string, options: WorkloadOptions = {}): Manifest {
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: meta(name, options),
    spec: {
      completions: options.replicas ?? 1,
      parallelism: options.replicas ?? 1,
      template: template(name, { ...options, spec: { restartPolicy: 'Never', ...options.spec } }),
    },
  };
}

/** A pod that nobody makes again. */
export function pod(name: string, options: PodOptions = {}): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...meta(name, options),
      labels: { app: name, ...options.labels },
      annotations: options.annotations ?? {},
    },
    spec: podSpec(options),
  };
}

export type BudgetOptions = {
  readonly namespace?: string;
  readonly maxUnavailable?: number | string;
  readonly minAvailable?: number | string;
  readonly unhealthyPodEvictionPolicy?: 'IfHealthyBudget' | 'AlwaysAllow';
  /** The pods it is about; those of the workload of the same name when left out. */
  readonly matchLabels?: Readonly<Record<string, string>>;
};

/** A PodDisruptionBudget. */
export function budget(name: string, options: BudgetOptions): Manifest {
  const { namespace, matchLabels, ...spec } = options;
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: meta(name, namespace === undefined ? {} : { namespace }),
    spec: { ...spec, selector: { matchLabels: matchLabels ?? { app: name } } },
  };
}

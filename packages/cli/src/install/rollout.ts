import { joinLimited } from '@drydock/apimachinery';

/** State of an operator's rollout, as pure functions of the objects. */

type Condition = {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
};

/** The Deployment of the operator, with the fields that matter here. */
export type RolledDeployment = {
  readonly metadata: { readonly name: string; readonly generation?: number };
  readonly spec?: { readonly replicas?: number };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly updatedReplicas?: number;
    readonly availableReplicas?: number;
    readonly conditions?: readonly Condition[];
  };
};

type ContainerStatus = {
  readonly state?: { readonly waiting?: { readonly reason?: string; readonly message?: string } };
  readonly lastState?: {
    readonly terminated?: {
      readonly exitCode?: number;
      readonly reason?: string;
      readonly message?: string;
    };
  };
};

/** A pod of the operator, with the fields that matter here. */
export type RolledPod = {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly containerStatuses?: readonly ContainerStatus[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
  };
};

/** Objects that determine the state of a rollout. */
export type RolloutState = {
  readonly deployment?: RolledDeployment | undefined;
  readonly pods: readonly RolledPod[];
};

/** Reasons for waiting that are normal for a container. */
const defaults = new Set(['ContainerCreating', 'PodInitializing']);

function joined(...parts: readonly (string | undefined)[]): string {
  return parts.filter(part => part !== undefined && part !== '').join(': ');
}

function containerTrouble({ state, lastState }: ContainerStatus): string | undefined {
  const { reason, message } = state?.waiting ?? {};
  if (reason === undefined || defaults.has(reason)) return undefined;
  const ended = lastState?.terminated;
  const code = ended?.exitCode === undefined ? undefined : `it ended with ${ended.exitCode}`;
  return joined(reason, message, code, ended?.message ?? ended?.reason);
}

/** Returns why a pod does not run; undefined where it runs, or may soon. */
function podTrouble({ metadata, status = {} }: RolledPod): string | undefined {
  if (metadata.deletionTimestamp !== undefined) return undefined;
  const unscheduled = status.conditions?.find(
    ({ type, status: is }) => type === 'PodScheduled' && is === 'False',
  );
  if (unscheduled !== undefined)
    return `pod ${metadata.name}: ${joined(unscheduled.reason, unscheduled.message)}`;
  const [trouble] = [
    ...(status.initContainerStatuses ?? []),
    ...(status.containerStatuses ?? []),
  ].flatMap(one => containerTrouble(one) ?? []);
  return trouble === undefined ? undefined : `pod ${metadata.name}: ${trouble}`;
}

function conditionOf({ deployment }: RolloutState, wanted: string): Condition | undefined {
  return deployment?.status?.conditions?.find(({ type }) => type === wanted);
}

/**
 * Returns what keeps the pods from running. The Deployment repeats the errors of its ReplicaSet.
 */
export function rolloutTroubles(state: RolloutState): readonly string[] {
  const refused = conditionOf(state, 'ReplicaFailure');
  return [
    ...(refused?.status === 'True' ? [joined('pods are refused', refused.message)] : []),
    ...state.pods.flatMap(one => podTrouble(one) ?? []),
  ];
}

/**
 * Returns the missing step of the rollout, in the words of `kubectl rollout status`; undefined when
 * it is complete.
 */
export function rolloutLacks({ deployment }: RolloutState): string | undefined {
  if (deployment === undefined) return 'the Deployment is not there';
  const { metadata, spec = {}, status = {} } = deployment;
  const { replicas: wanted = 1 } = spec;
  const { replicas = 0, updatedReplicas = 0, availableReplicas = 0 } = status;
  if ((status.observedGeneration ?? 0) < (metadata.generation ?? 0))
    return 'the change of the Deployment has not been observed yet';
  if (updatedReplicas < wanted)
    return `${updatedReplicas} of ${wanted} new replicas have been updated`;
  if (replicas > updatedReplicas)
    return `${replicas - updatedReplicas} old replicas are pending termination`;
  if (availableReplicas < updatedReplicas)
    return `${availableReplicas} of ${updatedReplicas} updated replicas are available`;
  return undefined;
}

/** Returns whether the Deployment has exceeded its progress deadline. */
export function hasGivenUp(state: RolloutState): boolean {
  return conditionOf(state, 'Progressing')?.reason === 'ProgressDeadlineExceeded';
}

/** Returns one line with the missing step and the reasons for the delay. */
export function rolloutText(state: RolloutState, lacks: string): string {
  const troubles = rolloutTroubles(state);
  return troubles.length === 0 ? lacks : `${lacks}; ${joinLimited(troubles)}`;
}

/** Parts that are installed unless excluded. */
export const defaultParts = [
  'crds',
  'rbac',
  'shared-namespaces',
  'operator',
  'webhook',
  'admission-policies',
] as const;

/** Parts that are installed on request. */
export const extraParts = [
  'machine-api',
  'virtual-machines',
  'plans',
  'agent',
  'monitoring',
  'cert-manager',
  'control-plane',
  'api-priority',
] as const;

/** A part of the installation: a folder of deploy/. */
export type Part = (typeof defaultParts)[number] | (typeof extraParts)[number];

const all: readonly Part[] = [...defaultParts, ...extraParts];

export function isPart(text: string | undefined): text is Part {
  return (all as readonly (string | undefined)[]).includes(text);
}

/**
 * Parts that `--apply` adds where the cluster serves one of these kinds, as API group and resource:
 * rights to absent kinds are of no use.
 */
export const partsByKinds: readonly {
  readonly part: Part;
  readonly serves: readonly { readonly group: string; readonly resource: string }[];
}[] = [
  {
    part: 'machine-api',
    serves: [
      { group: 'machine.openshift.io', resource: 'machines' },
      { group: 'cluster.x-k8s.io', resource: 'machines' },
    ],
  },
  {
    part: 'virtual-machines',
    serves: [{ group: 'kubevirt.io', resource: 'virtualmachineinstances' }],
  },
];

/** Namespace in the manifest files. */
export const defaultNamespace = 'drydock-system';

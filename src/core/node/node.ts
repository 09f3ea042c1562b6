import { truncate } from '../text.ts';
import { isBefore, readTime } from '../time.ts';

export type Taint = { readonly key: string; readonly effect: string; readonly value?: string; readonly timeAdded?: string };

/** Taints are the same when key and effect are; the value does not count (Kubernetes: MatchTaint). */
export const taintId = ({ key, effect }: Taint): string => `${key}:${effect}`;

export type NodeCondition = {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  /** As the API has it, and see `transitionTimeOf`: an Instant takes 290 bytes, and a large cluster has some ten thousand of these. */
  readonly lastTransitionTime?: string;
};

/** What is kept of a Node. */
export type Node = {
  /** Its name: nodes have no namespace. */
  readonly key: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly deleting: boolean;
  readonly labels: Readonly<Record<string, string>>;
  /** Without those that are long: none of them says anything about maintenance. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly unschedulable: boolean;
  readonly taints: readonly Taint[];
  readonly conditions: readonly NodeCondition[];
  /** The annotation with the record of what was there before the hold, as stored. */
  readonly holdRecord?: string;
  /** Who else has written to the spec last, and when, as managedFields say; only of a node with a record. */
  readonly specWriter?: { readonly name: string; readonly at: Temporal.Instant };
  /** Changes with every start of the machine. */
  readonly bootId?: string;
  readonly providerId?: string;
};

/** Where the record of what was there before is kept. */
export const beforeAnnotation = 'drydock.dev/before';

/** Characters of an annotation that is kept. */
const maxAnnotationLength = 256;

/** Characters of a boot ID, which is a UUID: a kubelet may write what it likes, and plans keep it. */
const maxBootIdLength = 64;

/** One entry of metadata.managedFields, as far as it is read. */
type ManagedFields = {
  readonly manager?: string;
  readonly time?: string;
  readonly subresource?: string;
  readonly fieldsV1?: { readonly 'f:spec'?: unknown };
};

type RawNode = {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly managedFields?: readonly ManagedFields[];
  };
  readonly spec?: { readonly unschedulable?: boolean; readonly taints?: readonly Taint[]; readonly providerID?: string };
  readonly status?: {
    readonly nodeInfo?: { readonly bootID?: string };
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
      readonly lastTransitionTime?: string | null;
    }[];
  };
};

/** Characters of the name of a field manager (API server: MaxLength 128). */
const maxManagerLength = 128;

/** Our own writes have the first part of the user agent as their manager; kube-controller-manager mends the taint of every cordon, whoever has removed it. */
const innocent: ReadonlySet<string> = new Set(['drydock', 'kube-controller-manager']);

/** Whoever removes a field owns nothing by that: only one who has set something else in the spec, or another value, is found here. */
const specWriterOf = (entries: readonly ManagedFields[] = []): Pick<Node, 'specWriter'> => {
  let found: Node['specWriter'];
  for (const { manager = '', time, subresource = '', fieldsV1 } of entries) {
    const at = readTime(time);
    if (at === undefined || subresource !== '' || innocent.has(manager) || fieldsV1?.['f:spec'] === undefined) continue;
    if (found === undefined || !isBefore(at, found.at)) found = { name: truncate(manager, maxManagerLength), at };
  }
  return found === undefined ? {} : { specWriter: found };
};

/** Keeps of a Node object what this type has. */
export const readNode = (raw: unknown): Node => {
  const { metadata, spec, status } = raw as RawNode;
  const holdRecord = metadata.annotations?.[beforeAnnotation];
  const bootId = status?.nodeInfo?.bootID;
  const providerId = spec?.providerID;
  return {
    key: metadata.name,
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    deleting: metadata.deletionTimestamp !== undefined,
    labels: metadata.labels ?? {},
    annotations: Object.fromEntries(Object.entries(metadata.annotations ?? {}).filter(([, value]) => value.length <= maxAnnotationLength)),
    unschedulable: spec?.unschedulable ?? false,
    taints: spec?.taints ?? [],
    conditions: (status?.conditions ?? []).map(({ type, status, reason = '', message = '', lastTransitionTime }) => ({
      type,
      status,
      reason,
      message,
      ...(typeof lastTransitionTime === 'string' && { lastTransitionTime }),
    })),
    ...(holdRecord !== undefined && { holdRecord, ...specWriterOf(metadata.managedFields) }),
    ...(bootId !== undefined && bootId !== '' && { bootId: bootId.slice(0, maxBootIdLength) }),
    ...(providerId !== undefined && providerId !== '' && { providerId }),
  };
};

export const conditionOf = (node: Node, type: string): NodeCondition | undefined =>
  node.conditions.find(condition => condition.type === type);

/** Since when the condition has its status; undefined where nothing readable says so. */
export const transitionTimeOf = ({ lastTransitionTime }: NodeCondition): Temporal.Instant | undefined => readTime(lastTransitionTime);

/** Effects that keep pods from a node. */
const keepsPods: readonly string[] = ['NoSchedule', 'NoExecute'];

export const isKeepingPods = ({ effect }: Taint): boolean => keepsPods.includes(effect);

/** Whoever sets these takes the node away: autoscalers, Karpenter, fencing, and clouds that end or have stopped the machine. */
const removing: readonly RegExp[] = [
  /^ToBeDeletedByClusterAutoscaler$/,
  /^karpenter\.sh\/disrupt(ed|ion)$/,
  /^node\.kubernetes\.io\/out-of-service$/,
  /^node\.cloudprovider\.kubernetes\.io\/shutdown$/,
  /^cloud\.google\.com\/impending-node-termination$/,
  /^aws-node-termination-handler\//,
  /^medik8s\.io\/remediation$/,
];

/** Whoever sets these says that pods cannot run there yet, or not now: a network or a driver that is not there, a cloud that does not know the machine. */
const unready: readonly RegExp[] = [
  /^node\.kubernetes\.io\/(?!unschedulable$)/,
  /^node\.cloudprovider\.kubernetes\.io\//,
  /(^|[/.-])not-?ready$/i,
  /^karpenter\.sh\/unregistered$/,
  /^startup-taint\.cluster-autoscaler\.kubernetes\.io\//,
  /^readiness\.k8s\.io\//,
];

const among = ({ taints }: Pick<Node, 'taints'>, keys: readonly RegExp[]): Taint | undefined =>
  taints.find(taint => isKeepingPods(taint) && keys.some(pattern => pattern.test(taint.key)));

/** The taint by which somebody takes the node away. */
export const removalTaint = (node: Pick<Node, 'taints'>): Taint | undefined => among(node, removing);

/** The taint that says that pods cannot run on the node: it is in service when it is gone. Taints that choose which pods run there are none. */
export const unreadyTaint = (node: Pick<Node, 'taints'>): Taint | undefined => among(node, unready);

/** Its kubelet says that it is well. */
export const isReady = (node: Node): boolean => conditionOf(node, 'Ready')?.status === 'True';

import { isBefore, readTime, truncate } from '@drydock/apimachinery';

export type Taint = {
  readonly key: string;
  readonly effect: string;
  readonly value?: string;
  readonly timeAdded?: string;
};

/**
 * Returns the identity of a taint, which is its key and effect; the value does not count
 * (Kubernetes: MatchTaint).
 */
export function taintId({ key, effect }: Taint): string {
  return `${key}:${effect}`;
}

export type NodeCondition = {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  /**
   * Time as in the API, see `transitionTimeOf`: an Instant takes 290 bytes, and a large cluster has
   * some ten thousand of these.
   */
  readonly lastTransitionTime?: string;
};

/** Kept fields of a Node. */
export type Node = {
  /** Name: nodes have no namespace. */
  readonly key: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly deleting: boolean;
  readonly labels: Readonly<Record<string, string>>;
  /** Annotations without long values, none of which concern maintenance. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly unschedulable: boolean;
  readonly taints: readonly Taint[];
  readonly conditions: readonly NodeCondition[];
  /** Annotation with the record of the state before the hold, as stored. */
  readonly holdRecord?: string;
  /**
   * Last other writer of the spec, and the time, according to managedFields; only for a node with a
   * record.
   */
  readonly specWriter?: { readonly name: string; readonly at: Temporal.Instant };
  /** Boot ID, which changes with every start of the machine. */
  readonly bootId?: string;
  readonly providerId?: string;
};

/** Annotation with the record of the state before the hold. */
export const beforeAnnotation = 'drydock.dev/before';

/** Longest value in characters of an annotation that is kept. */
const maxAnnotationLength = 256;

/** Characters of a boot ID, which is a UUID: a kubelet may write any text, and plans store it. */
const maxBootIdLength = 64;

/** An entry of metadata.managedFields, with the fields that are read. */
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
  readonly spec?: {
    readonly unschedulable?: boolean;
    readonly taints?: readonly Taint[];
    readonly providerID?: string;
  };
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

/**
 * Field managers that do not count: our own writes have the first part of the user agent as their
 * manager; kube-controller-manager restores the taint of every cordon, after any client has removed
 * it.
 */
const innocent: ReadonlySet<string> = new Set(['drydock', 'kube-controller-manager']);

/**
 * Returns the last other writer of the spec. A client that removes a field owns nothing by that:
 * only one that has set another field of the spec, or another value, is found here.
 */
function specWriterOf(entries: readonly ManagedFields[] = []): Pick<Node, 'specWriter'> {
  let found: Node['specWriter'];
  for (const { manager = '', time, subresource = '', fieldsV1 } of entries) {
    const at = readTime(time);
    if (
      at === undefined ||
      subresource !== '' ||
      innocent.has(manager) ||
      fieldsV1?.['f:spec'] === undefined
    )
      continue;
    if (found === undefined || !isBefore(at, found.at))
      found = { name: truncate(manager, maxManagerLength), at };
  }
  return found === undefined ? {} : { specWriter: found };
}

/** Reads the needed fields of a Node. */
export function readNode(raw: unknown): Node {
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
    annotations: Object.fromEntries(
      Object.entries(metadata.annotations ?? {}).filter(
        ([, value]) => value.length <= maxAnnotationLength,
      ),
    ),
    unschedulable: spec?.unschedulable ?? false,
    taints: spec?.taints ?? [],
    conditions: (status?.conditions ?? []).map(
      ({ type, status, reason = '', message = '', lastTransitionTime }) => ({
        type,
        status,
        reason,
        message,
        ...(typeof lastTransitionTime === 'string' && { lastTransitionTime }),
      }),
    ),
    ...(holdRecord !== undefined && { holdRecord, ...specWriterOf(metadata.managedFields) }),
    ...(bootId !== undefined && bootId !== '' && { bootId: bootId.slice(0, maxBootIdLength) }),
    ...(providerId !== undefined && providerId !== '' && { providerId }),
  };
}

export function conditionOf(node: Node, type: string): NodeCondition | undefined {
  return node.conditions.find(condition => condition.type === type);
}

/** Returns since when the condition has its status; undefined if that is missing or unreadable. */
export function transitionTimeOf({
  lastTransitionTime,
}: NodeCondition): Temporal.Instant | undefined {
  return readTime(lastTransitionTime);
}

/** Effects that keep pods from a node. */
const keepsPods: readonly string[] = ['NoSchedule', 'NoExecute'];

export function isKeepingPods({ effect }: Taint): boolean {
  return keepsPods.includes(effect);
}

/**
 * Taints of controllers that remove the node: autoscalers, Karpenter, fencing, and clouds that end
 * or have stopped the machine.
 */
const removing: readonly RegExp[] = [
  /^ToBeDeletedByClusterAutoscaler$/,
  /^karpenter\.sh\/disrupt(ed|ion)$/,
  /^node\.kubernetes\.io\/out-of-service$/,
  /^node\.cloudprovider\.kubernetes\.io\/shutdown$/,
  /^cloud\.google\.com\/impending-node-termination$/,
  /^aws-node-termination-handler\//,
  /^medik8s\.io\/remediation$/,
];

/**
 * Taints for nodes on which pods cannot run yet, or not now: a missing network or driver, a machine
 * that the cloud does not know.
 */
const unready: readonly RegExp[] = [
  /^node\.kubernetes\.io\/(?!unschedulable$)/,
  /^node\.cloudprovider\.kubernetes\.io\//,
  /(^|[/.-])not-?ready$/i,
  /^karpenter\.sh\/unregistered$/,
  /^startup-taint\.cluster-autoscaler\.kubernetes\.io\//,
  /^readiness\.k8s\.io\//,
];

function among({ taints }: Pick<Node, 'taints'>, keys: readonly RegExp[]): Taint | undefined {
  return taints.find(
    taint => isKeepingPods(taint) && keys.some(pattern => pattern.test(taint.key)),
  );
}

/** Returns the taint of a controller that removes the node. */
export function removalTaint(node: Pick<Node, 'taints'>): Taint | undefined {
  return among(node, removing);
}

/**
 * Returns the taint because of which pods cannot run on the node: it is in service when the taint
 * is gone. Taints that select which pods run there do not count.
 */
export function unreadyTaint(node: Pick<Node, 'taints'>): Taint | undefined {
  return among(node, unready);
}

/** Reports whether the node's condition Ready is True. */
export function isReady(node: Node): boolean {
  return conditionOf(node, 'Ready')?.status === 'True';
}

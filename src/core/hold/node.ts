import { readTime } from '../time.ts';

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
  /** Changes with every start of the machine. */
  readonly bootId?: string;
  readonly providerId?: string;
};

/** Where the record of what was there before is kept. */
export const beforeAnnotation = 'drydock.dev/before';

/** Characters. */
const longestAnnotation = 256;

type RawNode = {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
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
    annotations: Object.fromEntries(Object.entries(metadata.annotations ?? {}).filter(([, value]) => value.length <= longestAnnotation)),
    unschedulable: spec?.unschedulable ?? false,
    taints: spec?.taints ?? [],
    conditions: (status?.conditions ?? []).map(({ type, status, reason = '', message = '', lastTransitionTime }) => ({
      type,
      status,
      reason,
      message,
      ...(typeof lastTransitionTime === 'string' && { lastTransitionTime }),
    })),
    ...(holdRecord !== undefined && { holdRecord }),
    ...(bootId !== undefined && bootId !== '' && { bootId }),
    ...(providerId !== undefined && providerId !== '' && { providerId }),
  };
};

export const conditionOf = (node: Node, type: string): NodeCondition | undefined =>
  node.conditions.find(condition => condition.type === type);

/** Since when the condition has its status; undefined where nothing readable says so. */
export const transitionTimeOf = ({ lastTransitionTime }: NodeCondition): Temporal.Instant | undefined => readTime(lastTransitionTime);

/** Its kubelet says that it is well. */
export const isReady = (node: Node): boolean => conditionOf(node, 'Ready')?.status === 'True';

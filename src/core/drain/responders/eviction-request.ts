import { isObject } from '../../json.ts';
import type { Pod } from '../../pod/pod.ts';
import { isBefore, readTime, secondsAfter, timeText } from '../../time.ts';
import { isOver, lifecycleVersion } from './lifecycle-eviction.ts';

/**
 * EvictionRequests of our own (lifecycle.k8s.io, KEP-4563, alpha): the responders that a pod names get their turn before it is evicted. Only for pods that name some: for all
 * others pods/eviction says the same, at once. No released version of Kubernetes (1.37) has the controllers that answer them, so each request proves itself: one
 * that no controller has looked at after `unansweredAfter` is deleted, and the pod is evicted as ever.
 */
export const evictionRequestsPath = `/apis/${lifecycleVersion}/evictionrequests`;

/** Who asks, as the API wants it: a domain of its own and a name. */
const requester = 'drydock.dev/drain';

/** On every request of ours, so that they can be watched alone. */
const label = { key: 'drydock.dev/requester', value: 'drain' } as const;
export const evictionRequestsSelector = `${label.key}=${label.value}`;

const withdrawnAnnotation = 'drydock.dev/withdrawn-at';

/** Seconds within which a controller has to look at a request, and a responder to have its turn. */
const unansweredAfter = 30;

/** Seconds for which a withdrawn request is kept at most: as long as it is there, its responder is told. */
const withdrawnFor = 30;

/** Seconds after which an API server on which requests went unanswered is tried again. */
export const triedAgainAfter = 3600;

/** A request of ours, as far as it decides. */
export type EvictionRequest = {
  /** `namespace/name`. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly podUid: string;
  /** Of the Node that owns it: the one that the pod is on. */
  readonly nodeName: string;
  readonly createdAt: Temporal.Instant;
  /** A controller has looked at it. */
  readonly isObserved: boolean;
  /** Nothing more will come of it. */
  readonly isOver: boolean;
  readonly withdrawnAt?: Temporal.Instant;
};

type RawRequest = {
  readonly metadata: {
    readonly namespace?: string;
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp?: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly { readonly kind?: string; readonly name?: string }[];
  };
  readonly spec?: { readonly requester?: unknown; readonly target?: { readonly pod?: { readonly uid?: unknown } } };
  readonly status?: unknown;
};

/** Keeps of an EvictionRequest what this type has; undefined for one that is not ours, whatever its labels say. */
export const readEvictionRequest = (raw: unknown): EvictionRequest | undefined => {
  const { metadata, spec, status } = raw as RawRequest;
  const podUid = spec?.target?.pod?.uid;
  const nodeName = metadata.ownerReferences?.find(({ kind }) => kind === 'Node')?.name;
  if (spec?.requester !== requester || typeof podUid !== 'string' || nodeName === undefined) return undefined;
  const namespace = metadata.namespace ?? 'default';
  const said = isObject(status) ? status : {};
  const withdrawnAt = readTime(metadata.annotations?.[withdrawnAnnotation]);
  return {
    key: `${namespace}/${metadata.name}`,
    namespace,
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    podUid,
    nodeName,
    createdAt: readTime(metadata.creationTimestamp) ?? Temporal.Instant.fromEpochMilliseconds(0),
    isObserved: typeof said['observedGeneration'] === 'number',
    isOver: isOver(said),
    ...(withdrawnAt && { withdrawnAt }),
  };
};

/** The Node that a request goes with. */
export type RequestOwner = { readonly name: string; readonly uid: string };

/** What is known of our requests. */
export type EvictionRequestsKnown = {
  /** Auto: pods that name responders are requested. Never: what there is of requests is withdrawn. */
  readonly mode: 'Auto' | 'Never';
  /** Both kinds are served, and nothing says that nobody answers. */
  readonly areAnswered: boolean;
  /** The node whose requests these are: it will own new ones. */
  readonly node?: RequestOwner;
  /** Of one node, by key. */
  readonly own: ReadonlyMap<string, EvictionRequest>;
};

const nameFor = (podUid: string): string => `drydock-${podUid}`;

/** Key of the request for a pod. It is in the pod's own namespace: one that somebody has put elsewhere says nothing of the pod. */
export const evictionRequestKey = ({ namespace, uid }: Pick<Pod, 'namespace' | 'uid'>): string => `${namespace}/${nameFor(uid)}`;

/** Where those of one namespace are. */
export const evictionRequestsIn = (namespace: string): string =>
  `/apis/${lifecycleVersion}/namespaces/${encodeURIComponent(namespace)}/evictionrequests`;

export const evictionRequestPath = ({ namespace, name }: Pick<EvictionRequest, 'namespace' | 'name'>): string =>
  `${evictionRequestsIn(namespace)}/${encodeURIComponent(name)}`;

/** The object that asks the responders of a pod. There is one for each uid, however often it is made; it goes with the node. */
export const evictionRequestOf = ({ namespace, name, uid }: Pod, node: RequestOwner): object => ({
  apiVersion: lifecycleVersion,
  kind: 'EvictionRequest',
  metadata: {
    namespace,
    name: nameFor(uid),
    labels: { [label.key]: label.value },
    ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: node.name, uid: node.uid }],
  },
  spec: { requester, intent: 'Eviction', target: { pod: { name, uid } } },
});

/** The patch that says that the pod may stay after all. */
export const withdrawal = ({ resourceVersion }: EvictionRequest, now: Temporal.Instant): object => ({
  metadata: { resourceVersion, annotations: { [withdrawnAnnotation]: timeText(now) } },
  spec: { intent: 'Withdrawn' },
});

/** From when on a withdrawn request may be deleted, whatever its responder does. */
export const withdrawnUntil = ({ withdrawnAt }: EvictionRequest): Temporal.Instant | undefined =>
  withdrawnAt && secondsAfter(withdrawnAt, withdrawnFor);

/** Until when a controller has to look at it, and a responder to have its turn. */
export const answerDue = ({ createdAt }: Pick<EvictionRequest, 'createdAt'>): Temporal.Instant => secondsAfter(createdAt, unansweredAfter);

/** No controller has looked at it in time. */
export const isUnanswered = (request: EvictionRequest, now: Temporal.Instant): boolean =>
  !request.isObserved && !isBefore(now, answerDue(request));

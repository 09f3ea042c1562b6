import {
  isBefore,
  isObject,
  pathSegment,
  readTime,
  secondsAfter,
  timeText,
} from '@drydock/apimachinery';
import type { Pod } from '../../pod/pod.ts';
import { isOver, lifecycleVersion } from './lifecycle-eviction.ts';

/**
 * EvictionRequests of our own (lifecycle.k8s.io, KEP-4563, alpha): the responders that a pod names
 * get their turn before it is evicted. Only for pods that name some: for all others pods/eviction
 * has the same effect, at once. No released version of Kubernetes (1.37) has the controllers that
 * respond to them, so each request proves itself: a request that no controller has observed after
 * `unansweredAfter` is deleted, and the pod is evicted as usual.
 */
export const evictionRequestsPath = `/apis/${lifecycleVersion}/evictionrequests`;

/** Name of the requester, as the API demands it: a domain of its own and a name. */
const requester = 'drydock.dev/drain';

/** Label on every request of ours, so that only these are watched. */
const label = { key: 'drydock.dev/requester', value: 'drain' } as const;
export const evictionRequestsSelector = `${label.key}=${label.value}`;

const withdrawnAnnotation = 'drydock.dev/withdrawn-at';

/** Seconds within which a controller has to observe a request, and a responder to have its turn. */
const unansweredAfter = 30;

/**
 * Seconds for which a withdrawn request is kept at most: its responder sees the withdrawal as long
 * as it exists.
 */
const withdrawnFor = 30;

/** Seconds after which an API server on which requests got no response is tried again. */
export const triedAgainAfter = 3600;

/** A request of ours, as far as it matters for decisions. */
export type EvictionRequest = {
  /** Key `namespace/name`. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly podUid: string;
  /** Name of the Node that owns it: the node of the pod. */
  readonly nodeName: string;
  readonly createdAt: Temporal.Instant;
  /** True if a controller has observed it. */
  readonly isObserved: boolean;
  /** True if it is over: it has no further effect. */
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
  readonly spec?: {
    readonly requester?: unknown;
    readonly target?: { readonly pod?: { readonly uid?: unknown } };
  };
  readonly status?: unknown;
};

/**
 * Reads the needed fields of an EvictionRequest; undefined if it is not ours, regardless of its
 * labels.
 */
export function readEvictionRequest(raw: unknown): EvictionRequest | undefined {
  const { metadata, spec, status } = raw as RawRequest;
  const podUid = spec?.target?.pod?.uid;
  const nodeName = metadata.ownerReferences?.find(({ kind }) => kind === 'Node')?.name;
  if (spec?.requester !== requester || typeof podUid !== 'string' || nodeName === undefined)
    return undefined;
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
}

/** The Node that owns a request: the request is garbage-collected with it. */
export type RequestOwner = { readonly name: string; readonly uid: string };

/** State of our requests. */
export type EvictionRequestsKnown = {
  /**
   * Mode. Auto: pods that name responders are requested. Never: existing requests are withdrawn.
   */
  readonly mode: 'Auto' | 'Never';
  /** True if both kinds are served, and there is no sign that no controller responds. */
  readonly areAnswered: boolean;
  /** Node whose requests these are: it will own new ones. */
  readonly node?: RequestOwner;
  /** Requests of one node, by key. */
  readonly own: ReadonlyMap<string, EvictionRequest>;
};

function nameFor(podUid: string): string {
  return `drydock-${podUid}`;
}

/**
 * Returns the key of the request for a pod. It is in the pod's own namespace: a request in another
 * namespace is not about the pod.
 */
export function evictionRequestKey({ namespace, uid }: Pick<Pod, 'namespace' | 'uid'>): string {
  return `${namespace}/${nameFor(uid)}`;
}

/** Returns the path of the requests of one namespace. */
export function evictionRequestsIn(namespace: string): string {
  return `/apis/${lifecycleVersion}/namespaces/${pathSegment(namespace)}/evictionrequests`;
}

export function evictionRequestPath({
  namespace,
  name,
}: Pick<EvictionRequest, 'namespace' | 'name'>): string {
  return `${evictionRequestsIn(namespace)}/${pathSegment(name)}`;
}

/**
 * Returns the object that requests the eviction from the responders of a pod. There is one for each
 * uid, however often it is created; it is deleted with the node.
 */
export function evictionRequestOf({ namespace, name, uid }: Pod, node: RequestOwner): object {
  return {
    apiVersion: lifecycleVersion,
    kind: 'EvictionRequest',
    metadata: {
      namespace,
      name: nameFor(uid),
      labels: { [label.key]: label.value },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: node.name, uid: node.uid }],
    },
    spec: { requester, intent: 'Eviction', target: { pod: { name, uid } } },
  };
}

/** Returns the patch that withdraws a request, because the pod may stay after all. */
export function withdrawal({ resourceVersion }: EvictionRequest, now: Temporal.Instant): object {
  return {
    metadata: { resourceVersion, annotations: { [withdrawnAnnotation]: timeText(now) } },
    spec: { intent: 'Withdrawn' },
  };
}

/** Returns the time from which a withdrawn request may be deleted, regardless of its responder. */
export function withdrawnUntil({ withdrawnAt }: EvictionRequest): Temporal.Instant | undefined {
  return withdrawnAt && secondsAfter(withdrawnAt, withdrawnFor);
}

/**
 * Returns the time by which a controller has to observe the request, and a responder to have its
 * turn.
 */
export function answerDue({ createdAt }: Pick<EvictionRequest, 'createdAt'>): Temporal.Instant {
  return secondsAfter(createdAt, unansweredAfter);
}

/** Reports whether no controller has observed the request in time. */
export function isUnanswered(request: EvictionRequest, now: Temporal.Instant): boolean {
  return !request.isObserved && !isBefore(now, answerDue(request));
}

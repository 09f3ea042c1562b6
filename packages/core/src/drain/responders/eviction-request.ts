import {
  isBefore,
  isObject,
  type JsonObject,
  pathSegment,
  readTime,
  secondsAfter,
  timeText,
  truncate,
} from '@drydock/apimachinery';
import type { Pod } from '../../pod/pod.ts';
import { about, type BlockerInfo } from '../blockers/blocker.ts';

/**
 * Evictions of lifecycle.k8s.io (KEP-4563, alpha since Kubernetes 1.37): the eviction of a pod was
 * requested, and the pod's responders carry it out, one after the other. Not to be confused with
 * the subresource pods/eviction.
 */
const lifecycleVersion = 'lifecycle.k8s.io/v1alpha1';
export const lifecycleEvictionsPath = `/apis/${lifecycleVersion}/evictions`;

/**
 * Name of the responder that calls pods/eviction when no responder of the pod's own is left;
 * Drydock does that itself, sooner.
 */
const defaultResponder = 'imperative-eviction.k8s.io/evictor';

/** Responder whose turn it is to make the pod leave. */
export type ActiveResponder = {
  readonly name: string;
  /**
   * True for the default responder: it would only call pods/eviction, and later than Drydock does.
   */
  readonly isDefault?: true;
  readonly message?: string;
  /**
   * Creation time of the Eviction, by the API server's clock: for a responder that reports nothing,
   * this is its last sign of life.
   */
  readonly createdAt: Temporal.Instant;
  readonly startTime?: Temporal.Instant;
  readonly heartbeatTime?: Temporal.Instant;
  readonly expectedCompletionTime?: Temporal.Instant;
};

/** An Eviction, as far as it affects other evictions of its pod. */
export type LifecycleEviction = {
  /** Key `namespace/name`. */
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /**
   * Namespace of the Eviction, and so of its pod: it does not affect a pod elsewhere whose uid it
   * names.
   */
  readonly namespace: string;
  readonly podUid: string;
  /** Responder whose turn it is; missing if none has its turn (yet), or when all is over. */
  readonly responder?: ActiveResponder;
};

function objectsIn(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/**
 * Reports whether an Eviction is over, or an EvictionRequest, whose conditions have the same types.
 */
function isOver(status: JsonObject): boolean {
  return objectsIn(status['conditions']).some(
    ({ type, status }) => (type === 'TargetEvicted' || type === 'Failed') && status === 'True',
  );
}

function responderIn(status: JsonObject, createdAt: Temporal.Instant): ActiveResponder | undefined {
  if (isOver(status)) return undefined;
  const active = objectsIn(status['targetResponders']).find(({ state }) => state === 'Active')?.[
    'name'
  ];
  if (typeof active !== 'string') return undefined;
  const responder = objectsIn(status['responders']).find(({ name }) => name === active) ?? {};
  const [startTime, heartbeatTime, expectedCompletionTime] = [
    'startTime',
    'heartbeatTime',
    'expectedCompletionTime',
  ].map(key => readTime(responder[key]));
  return {
    name: truncate(active),
    createdAt,
    ...(active === defaultResponder && { isDefault: true }),
    ...(typeof responder['message'] === 'string' &&
      responder['message'] !== '' && { message: truncate(responder['message']) }),
    ...(startTime && { startTime }),
    ...(heartbeatTime && { heartbeatTime }),
    ...(expectedCompletionTime && { expectedCompletionTime }),
  };
}

/** What both kinds have of their metadata. */
type RawMetadata = {
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly creationTimestamp?: string;
};

/** Reads the needed fields of an Eviction; undefined if its target is not a pod. */
export function readLifecycleEviction(raw: unknown): LifecycleEviction | undefined {
  const { metadata, spec, status } = raw as {
    readonly metadata: RawMetadata;
    readonly spec?: { readonly target?: { readonly pod?: { readonly uid?: unknown } } };
    readonly status?: unknown;
  };
  const podUid = spec?.target?.pod?.uid;
  if (typeof podUid !== 'string') return undefined;
  const createdAt =
    readTime(metadata.creationTimestamp) ?? Temporal.Instant.fromEpochMilliseconds(0);
  const responder = responderIn(isObject(status) ? status : {}, createdAt);
  const { namespace = 'default' } = metadata;
  return {
    key: `${namespace}/${metadata.name}`,
    namespace,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    podUid,
    ...(responder && { responder }),
  };
}

/** Seconds without a heartbeat after which a responder counts as silent. */
const silentAfter = 300;

/** Seconds without a heartbeat after which Kubernetes turns to the next responder. */
const passedOverAfter = 1200;

/** Seconds that the clock of a responder may be ahead: a later heartbeat is not believed. */
const clockTolerance = 300;

function heardAt(
  { heartbeatTime, startTime, createdAt }: ActiveResponder,
  now: Temporal.Instant,
): Temporal.Instant {
  return (
    [heartbeatTime, startTime].find(
      time => time !== undefined && isBefore(time, secondsAfter(now, clockTolerance)),
    ) ?? createdAt
  );
}

/** Returns the time at which the responder becomes silent, if it sends no heartbeat until then. */
export function silentAt(responder: ActiveResponder, now: Temporal.Instant): Temporal.Instant {
  return secondsAfter(heardAt(responder, now), silentAfter);
}

/**
 * Returns the time from which its pod is no longer left to it, as in Kubernetes: the mere existence
 * of the object keeps no pod.
 */
export function passedOverAt(responder: ActiveResponder, now: Temporal.Instant): Temporal.Instant {
  return secondsAfter(heardAt(responder, now), passedOverAfter);
}

function sinceText({ startTime, heartbeatTime }: ActiveResponder): string {
  return [
    startTime && `since ${timeText(startTime)}`,
    heartbeatTime && `last heard at ${timeText(heartbeatTime)}`,
  ]
    .filter(Boolean)
    .join(', ');
}

/** Returns the blocker for a pod that is left to its responder. */
export function responderBlockerInfo(
  pod: Pod,
  responder: ActiveResponder,
  now: Temporal.Instant,
): BlockerInfo {
  const { name, message, expectedCompletionTime } = responder;
  const since = sinceText(responder);
  const detail = `${message === undefined ? '' : `: ${message}`}${expectedCompletionTime ? `; expected to finish at ${timeText(expectedCompletionTime)}` : ''}`;
  const text = `responder ${name} is evicting it${since === '' ? '' : ` (${since})`}${detail}`;
  if (isBefore(now, silentAt(responder, now)))
    return { reason: 'EvictionResponder', pod: about(pod), message: truncate(text) };
  return {
    reason: 'EvictionResponderSilent',
    pod: about(pod),
    message: truncate(
      `${text}; silent, Kubernetes passes it over at ${timeText(passedOverAt(responder, now))}, and so does Drydock`,
    ),
    remedy: `check the controller of responder ${name}; a rung of drain.ladder with action Delete overrules it`,
  };
}

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
  readonly metadata: RawMetadata & {
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
  const responder = isObject(status) ? status : {};
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
    isObserved: typeof responder['observedGeneration'] === 'number',
    isOver: isOver(responder),
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

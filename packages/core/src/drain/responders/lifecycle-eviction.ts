import {
  isBefore,
  isObject,
  type JsonObject,
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
export const lifecycleVersion = 'lifecycle.k8s.io/v1alpha1';
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
export function isOver(status: JsonObject): boolean {
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
  const said = objectsIn(status['responders']).find(({ name }) => name === active) ?? {};
  const [startTime, heartbeatTime, expectedCompletionTime] = [
    'startTime',
    'heartbeatTime',
    'expectedCompletionTime',
  ].map(key => readTime(said[key]));
  return {
    name: truncate(active),
    createdAt,
    ...(active === defaultResponder && { isDefault: true }),
    ...(typeof said['message'] === 'string' &&
      said['message'] !== '' && { message: truncate(said['message']) }),
    ...(startTime && { startTime }),
    ...(heartbeatTime && { heartbeatTime }),
    ...(expectedCompletionTime && { expectedCompletionTime }),
  };
}

/** Reads the needed fields of an Eviction; undefined if its target is not a pod. */
export function readLifecycleEviction(raw: unknown): LifecycleEviction | undefined {
  const { metadata, spec, status } = raw as {
    readonly metadata: {
      readonly namespace?: string;
      readonly name: string;
      readonly uid: string;
      readonly resourceVersion: string;
      readonly creationTimestamp?: string;
    };
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
  const said = `${message === undefined ? '' : `: ${message}`}${expectedCompletionTime ? `; expected to finish at ${timeText(expectedCompletionTime)}` : ''}`;
  const text = `responder ${name} is evicting it${since === '' ? '' : ` (${since})`}${said}`;
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

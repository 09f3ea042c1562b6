import { isObject, type JsonObject } from '../../json.ts';
import type { Pod } from '../../pod/pod.ts';
import { truncate } from '../../text.ts';
import { isBefore, readTime, secondsAfter, timeText } from '../../time.ts';
import { about, type BlockerInfo } from '../blockers/blocker.ts';

/**
 * Evictions of lifecycle.k8s.io (KEP-4563, alpha since Kubernetes 1.37): somebody has requested the eviction of a pod, and the pod's responders
 * carry it out, one after the other. Not to be taken for the subresource pods/eviction.
 */
export const lifecycleVersion = 'lifecycle.k8s.io/v1alpha1';
export const lifecycleEvictionsPath = `/apis/${lifecycleVersion}/evictions`;

/** Calls pods/eviction when no responder of the pod's own is left: what Drydock does itself, sooner. */
const defaultResponder = 'imperative-eviction.k8s.io/evictor';

/** Whose turn it is to make the pod leave. */
export type ActiveResponder = {
  readonly name: string;
  /** It is the default responder: pods/eviction is all that it would call, and later than Drydock does. */
  readonly isDefault?: true;
  readonly message?: string;
  /** When the Eviction was made, by the API server's clock: one that says nothing of itself is heard of then, and not after. */
  readonly createdAt: Temporal.Instant;
  readonly startTime?: Temporal.Instant;
  readonly heartbeatTime?: Temporal.Instant;
  readonly expectedCompletionTime?: Temporal.Instant;
};

/** An Eviction, as far as it has a say over other evictions of its pod. */
export type LifecycleEviction = {
  /** `namespace/name`. */
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Of the Eviction, and so of its pod: it has no say over a pod elsewhere whose uid it names. */
  readonly namespace: string;
  readonly podUid: string;
  /** Missing when it is nobody's turn (yet), or when all is over. */
  readonly responder?: ActiveResponder;
};

const objectsIn = (value: unknown): readonly JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);

/** Of an Eviction, or of an EvictionRequest, whose conditions say the same: nothing more will come of it. */
export const isOver = (status: JsonObject): boolean =>
  objectsIn(status['conditions']).some(({ type, status }) => (type === 'TargetEvicted' || type === 'Failed') && status === 'True');

const responderIn = (status: JsonObject, createdAt: Temporal.Instant): ActiveResponder | undefined => {
  if (isOver(status)) return undefined;
  const active = objectsIn(status['targetResponders']).find(({ state }) => state === 'Active')?.['name'];
  if (typeof active !== 'string') return undefined;
  const said = objectsIn(status['responders']).find(({ name }) => name === active) ?? {};
  const [startTime, heartbeatTime, expectedCompletionTime] = ['startTime', 'heartbeatTime', 'expectedCompletionTime'].map(key =>
    readTime(said[key]),
  );
  return {
    name: truncate(active),
    createdAt,
    ...(active === defaultResponder && { isDefault: true }),
    ...(typeof said['message'] === 'string' && said['message'] !== '' && { message: truncate(said['message']) }),
    ...(startTime && { startTime }),
    ...(heartbeatTime && { heartbeatTime }),
    ...(expectedCompletionTime && { expectedCompletionTime }),
  };
};

/** Keeps of an Eviction what this type has; undefined for one whose target is no pod. */
export const readLifecycleEviction = (raw: unknown): LifecycleEviction | undefined => {
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
  const createdAt = readTime(metadata.creationTimestamp) ?? Temporal.Instant.fromEpochMilliseconds(0);
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
};

/** Seconds without a word after which a responder is called silent. */
const silentAfter = 300;

/** Seconds without a word after which Kubernetes turns to the next responder. */
const passedOverAfter = 1200;

/** Seconds that the clock of a responder may be ahead: what it says of a later time is not believed. */
const clockTolerance = 300;

const heardAt = ({ heartbeatTime, startTime, createdAt }: ActiveResponder, now: Temporal.Instant): Temporal.Instant =>
  [heartbeatTime, startTime].find(time => time !== undefined && isBefore(time, secondsAfter(now, clockTolerance))) ?? createdAt;

/** When the responder becomes silent, if nothing is heard of it until then. */
export const silentAt = (responder: ActiveResponder, now: Temporal.Instant): Temporal.Instant =>
  secondsAfter(heardAt(responder, now), silentAfter);

/** When its pod is left to it no longer, as Kubernetes does: nobody keeps a pod for as long as an object stands. */
export const passedOverAt = (responder: ActiveResponder, now: Temporal.Instant): Temporal.Instant =>
  secondsAfter(heardAt(responder, now), passedOverAfter);

const sinceText = ({ startTime, heartbeatTime }: ActiveResponder): string =>
  [startTime && `since ${timeText(startTime)}`, heartbeatTime && `last heard at ${timeText(heartbeatTime)}`].filter(Boolean).join(', ');

/** The pod is left to its responder. */
export const responderBlockerInfo = (pod: Pod, responder: ActiveResponder, now: Temporal.Instant): BlockerInfo => {
  const { name, message, expectedCompletionTime } = responder;
  const since = sinceText(responder);
  const said = `${message === undefined ? '' : `: ${message}`}${expectedCompletionTime ? `; expected to finish at ${timeText(expectedCompletionTime)}` : ''}`;
  const text = `responder ${name} is evicting it${since === '' ? '' : ` (${since})`}${said}`;
  if (isBefore(now, silentAt(responder, now))) return { cause: 'EvictionResponder', pod: about(pod), message: truncate(text) };
  return {
    cause: 'EvictionResponderSilent',
    pod: about(pod),
    message: truncate(`${text}; silent, Kubernetes passes it over at ${timeText(passedOverAt(responder, now))}, and so does Drydock`),
    remedy: `check the controller of responder ${name}; a rung of drain.ladder with action Delete overrules it`,
  };
};

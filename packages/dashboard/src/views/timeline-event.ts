import type { MomentView } from '../scene.ts';

/** A line of the time line, with the metadata for the watch. */
export type TimelineEvent = {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly view: MomentView;
};

type RawEvent = {
  readonly metadata: {
    readonly namespace?: string;
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp?: string;
  };
  readonly involvedObject?: {
    readonly kind?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
};

/** Returns the fields of an Event that the time line shows. */
export function readTimelineEvent(raw: unknown): TimelineEvent {
  const {
    metadata,
    involvedObject = {},
    type,
    reason = '',
    message = '',
    count,
    lastTimestamp,
    eventTime,
  } = raw as RawEvent;
  const key = `${metadata.namespace ?? ''}/${metadata.name}`;
  const { kind = '', namespace, name = '' } = involvedObject;
  // The namespace of these is the operator's: it is of no interest, and takes space from the rest.
  const place =
    namespace === undefined || namespace === '' || kind === 'MachineMaintenance'
      ? ''
      : `${namespace}/`;
  const view: MomentView = {
    key,
    at: lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? '',
    warning: type === 'Warning',
    reason,
    message,
    about: `${kind} ${place}${name}`,
    count: count ?? 1,
  };
  return { key, uid: metadata.uid, resourceVersion: metadata.resourceVersion, view };
}

/** Compares by time, newest first. */
export function byTime(one: MomentView, other: MomentView): number {
  return one.at === other.at ? (one.key < other.key ? 1 : -1) : one.at < other.at ? 1 : -1;
}

import { type KubeEvent, printable } from '@drydock/apimachinery';
import { type Clock, type Log, PanicHandler } from '@drydock/utils';
import type { Api, ApiResponse, Recorder } from '../api.ts';
import { ConnectionError, textOf } from '../http/credentials.ts';

/** Fields of an Event that the note itself does not have. */
type EventFacts = {
  readonly name: string;
  readonly instance: string;
  readonly first: Temporal.Instant;
  readonly last: Temporal.Instant;
  readonly count: number;
};

/** Limit of a message in characters (k8s.io/kubernetes pkg/apis/core/validation/events.go). */
const maxMessageLength = 1024;
/** Limit of the object's name: of 253 characters, 17 are for the unique suffix. */
const maxObjectNameLength = 236;

/** Returns the namespace for an Event; events of cluster-scoped objects go to `default`. */
function eventNamespace({ about }: KubeEvent): string {
  return about.namespace ?? 'default';
}

/**
 * Returns `<object>.<hex>`, as client-go names events: nanoseconds, with a random part below the
 * clock's resolution.
 */
function eventName({ about }: KubeEvent, now: Temporal.Instant, random: () => number): string {
  return `${about.name.slice(0, maxObjectNameLength)}.${(now.epochNanoseconds + BigInt(Math.floor(random() * 1e6))).toString(16)}`;
}

/** Returns a core/v1 Event. */
function eventBody(note: KubeEvent, { name, instance, first, last, count }: EventFacts): unknown {
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name, namespace: eventNamespace(note) },
    involvedObject: note.about,
    type: note.type,
    reason: note.reason,
    message: shortened(printable(note.message)),
    source: { component: note.component },
    reportingComponent: note.component,
    reportingInstance: instance,
    firstTimestamp: time(first),
    lastTimestamp: time(last),
    count,
  };
}

/** Returns the JSON merge patch for a repeated event. */
function repeatPatch(count: number, last: Temporal.Instant): unknown {
  return { count, lastTimestamp: time(last) };
}

function shortened(message: string): string {
  return message.length <= maxMessageLength
    ? message
    : `${message.slice(0, maxMessageLength - 1)}…`;
}

/** Formats a meta/v1 Time, which has whole seconds. */
function time(instant: Temporal.Instant): string {
  return instant.toString({ fractionalSecondDigits: 0 });
}

/** Options of the event recorder. */
export type EventRecorderOptions = {
  readonly api: Api;
  readonly clock: Clock;
  readonly log: Log;
  /** Handler of defects; they are only logged when this is left out. */
  readonly defects?: PanicHandler;
  /** Random source, uniform in [0, 1). */
  readonly random: () => number;
  /** Reporting instance: the pod's name. */
  readonly instance: string;
  /** Limit of distinct notes in the queue; 1,000 when left out. Later ones are dropped. */
  readonly longestQueue?: number;
  /** Number of sent notes that are remembered for counting; 1,000 when left out. */
  readonly remembered?: number;
};

type Waiting = {
  readonly note: KubeEvent;
  readonly first: Temporal.Instant;
  last: Temporal.Instant;
  times: number;
};
type Sent = { readonly name: string; count: number };
/** Response of the server; undefined when none arrived, which has been reported. */
type Reply = { readonly response: ApiResponse; readonly again: boolean } | undefined;

/**
 * Records core/v1 Events one after the other, in the background. The same note about the same
 * object raises the count of its event instead of creating another, as long as the note is
 * remembered. Never throws and never waits: failures are logged.
 */
export class EventRecorder implements Recorder {
  readonly #options: EventRecorderOptions;
  readonly #defects: PanicHandler;
  readonly #waiting = new Map<string, Waiting>();
  readonly #sent = new Map<string, Sent>();
  #working: Promise<void> | undefined;
  #failing = false;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#defects = options.defects ?? new PanicHandler(options);
  }

  /** See `Recorder.record`. */
  record(note: KubeEvent): void {
    const now = this.#options.clock.now();
    const key = keyOf(note);
    const waiting = this.#waiting.get(key);
    if (waiting !== undefined) {
      waiting.times += 1;
      waiting.last = now;
    } else if (this.#waiting.size >= (this.#options.longestQueue ?? 1000)) {
      this.#complain('too many events wait to be recorded, one was dropped', note, '');
      return;
    } else this.#waiting.set(key, { note, first: now, last: now, times: 1 });
    this.#working ??= this.#work();
  }

  /**
   * Resolves when the queue is empty or `milliseconds` have passed, with the number of notes that
   * still wait.
   */
  async drain(milliseconds: number): Promise<number> {
    const enough = new AbortController();
    await Promise.race([this.#working, this.#options.clock.sleep(milliseconds, enough.signal)]);
    enough.abort();
    return this.#waiting.size;
  }

  async #work(): Promise<void> {
    // Waits a turn, so that a burst of the same note becomes one event with its count.
    await Promise.resolve();
    for (let [first] = this.#waiting; first !== undefined; [first] = this.#waiting) {
      const [key, waiting] = first;
      try {
        await this.#send(key, waiting);
      } catch (error) {
        this.#complain(
          'an event could not be recorded',
          waiting.note,
          this.#defects.textOf('Process', 'events', error),
        );
      }
    }
    this.#working = undefined;
  }

  async #send(key: string, waiting: Waiting): Promise<void> {
    const before = this.#sent.get(key);
    // From here on, the same note is queued again.
    this.#waiting.delete(key);
    if (before === undefined) return this.#create(key, waiting);
    this.#sent.delete(key);
    const count = before.count + waiting.times;
    const path = `${this.#path(waiting.note)}/${before.name}`;
    const reply = await this.#call(
      {
        method: 'PATCH',
        path,
        body: repeatPatch(count, waiting.last),
        contentType: 'application/merge-patch+json',
      },
      waiting.note,
    );
    if (reply === undefined) return;
    // The server deletes events after an hour.
    if (reply.response.status === 404) return this.#create(key, waiting);
    this.#judge(reply, waiting.note, key, { name: before.name, count });
  }

  async #create(key: string, { note, first, last, times }: Waiting): Promise<void> {
    const name = eventName(note, first, this.#options.random);
    const body = eventBody(note, {
      name,
      instance: this.#options.instance,
      first,
      last,
      count: times,
    });
    const reply = await this.#call({ method: 'POST', path: this.#path(note), body }, note);
    if (reply !== undefined) this.#judge(reply, note, key, { name, count: times });
  }

  #judge(
    { response, again }: Exclude<Reply, undefined>,
    note: KubeEvent,
    key: string,
    sent: Sent,
  ): void {
    // A 409 after a retry means that the first request succeeded and only its response was lost.
    const isDone = response.status < 300 || (again && response.status === 409);
    if (isDone) {
      this.#failing = false;
      this.#remember(key, sent);
    } else if (isNamespaceGone(response))
      this.#options.log.debug('dropped an event whose namespace is terminating', facts(note));
    else
      this.#complain(
        'an event could not be recorded',
        note,
        `the API server responded with ${response.status} ${messageOf(response)}`,
      );
  }

  async #call(call: Parameters<Api['call']>[0], note: KubeEvent): Promise<Reply> {
    const { api, clock } = this.#options;
    try {
      return { response: await api.call(call), again: false };
    } catch (error) {
      if (!(error instanceof ConnectionError) || error.reason === 'closed') throw error;
      this.#options.log.debug('retrying to record an event', {
        ...facts(note),
        error: textOf(error),
      });
      await clock.sleep(1000);
      return { response: await api.call(call), again: error.mayHaveHappened };
    }
  }

  #remember(key: string, sent: Sent): void {
    this.#sent.set(key, sent);
    const [oldest] = this.#sent.keys();
    if (this.#sent.size > (this.#options.remembered ?? 1000) && oldest !== undefined)
      this.#sent.delete(oldest);
  }

  #path(note: KubeEvent): string {
    return `/api/v1/namespaces/${eventNamespace(note)}/events`;
  }

  /** Logs the first failure of a series as a warning, the others at debug level. */
  #complain(message: string, note: KubeEvent, error: string): void {
    const { log } = this.#options;
    if (this.#failing) log.debug(message, { ...facts(note), error });
    else log.warn(message, { ...facts(note), error });
    this.#failing = true;
  }
}

function keyOf({ type, reason, message, component, about }: KubeEvent): string {
  return JSON.stringify([about.uid, about.kind, about.name, type, reason, message, component]);
}

function facts({ reason, message, about }: KubeEvent): Readonly<Record<string, string>> {
  return {
    object: `${about.kind} ${about.namespace ?? ''}/${about.name}`,
    reason,
    message,
  };
}

function isNamespaceGone(response: ApiResponse): boolean {
  return (
    (response.status === 403 && /is being terminated/.test(messageOf(response))) ||
    response.status === 404
  );
}

function messageOf({ body }: ApiResponse): string {
  return typeof body === 'object' && body !== null && 'message' in body ? String(body.message) : '';
}

import { isBefore, isMissing, isObject, secondsAfter, statusMessage } from '@drydock/apimachinery';
import { admissionRefusal, type Write } from '@drydock/core';
import type { Api, ApiCall, ApiResponse, Fence, Recorder } from '@drydock/kube-client';
import type { Clock, Log, PanicHandler } from '@drydock/utils';
import type { Meter } from '../ports.ts';
import { type CacheUpdater, objectPath } from './cache-updater.ts';

/**
 * First and longest pause after a refused write, in seconds; it doubles each time. Soon: where no
 * watch shows when the write would be accepted.
 */
const first = 0.5;
const maxLength = { patient: 60, soon: 10 } as const;

type Refused = { readonly times: number; readonly until: Temporal.Instant };

/**
 * Returns the key of a write. A creation has the name in its body: its path is that of the
 * collection.
 */
function keyOf({ method, path, body }: Write): string {
  const { metadata } = body;
  return `${method} ${path} ${method === 'POST' && isObject(metadata) && typeof metadata['name'] === 'string' ? metadata['name'] : ''}`;
}

/**
 * A backoff for refused writes: they are not retried before their pause is over, regardless of
 * other events of the node.
 */
export class WriteBackoff {
  readonly #refused = new Map<string, Refused>();

  /** Returns until when this write has to wait; undefined if it may be tried. */
  until(write: Write, now: Temporal.Instant): Temporal.Instant | undefined {
    const until = this.#refused.get(keyOf(write))?.until;
    return until !== undefined && isBefore(now, until) ? until : undefined;
  }

  /** Records a refusal. Returns when the write may be retried. */
  add(
    write: Write,
    now: Temporal.Instant,
    pace: keyof typeof maxLength = 'patient',
  ): Temporal.Instant {
    const times = (this.#refused.get(keyOf(write))?.times ?? 0) + 1;
    const until = secondsAfter(
      now,
      Math.min(first * 2 ** Math.min(times - 1, 20), maxLength[pace]),
    );
    this.#refused.set(keyOf(write), { times, until });
    return until;
  }

  /** Clears the refusals after the write was not refused. */
  clear(write: Write): void {
    this.#refused.delete(keyOf(write));
  }
}

/** Outcome of a write. */
export type WriteOutcome =
  | { readonly result: 'stored' }
  /**
   * Another client has changed the object meanwhile: the caller has to read it and decide again.
   */
  | { readonly result: 'conflict' }
  /** Refused: not retried before `until`. */
  | {
      readonly result: 'refused';
      readonly message: string;
      readonly until: Temporal.Instant;
      readonly outcomeUnknown?: true;
    }
  /** Refused recently: not retried before `until`. */
  | { readonly result: 'postponed'; readonly until: Temporal.Instant };

/** Response of the server to a write that was sent. */
type Answered =
  | { readonly result: 'stored' }
  | { readonly result: 'conflict' }
  /**
   * `outcomeUnknown`: the server did not complete the request; the write may have been stored all
   * the same. `isUntold`: a policy or a webhook has refused it, or a right is missing, and no watch
   * shows when that ends.
   */
  | {
      readonly result: 'refused';
      readonly message: string;
      readonly outcomeUnknown?: true;
      readonly isUntold?: true;
    };

/** Seconds until a process that is not the leader any more looks again, if it still runs then. */
const unledPause = 1;

const contentTypes = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
} as const;

function messageOf(response: ApiResponse): string {
  const message = statusMessage(response);
  return `${(admissionRefusal(message)?.message ?? message).slice(0, 500)} (HTTP ${response.status})`;
}

/** Returns the name of the object that is written. */
function nameIn({ path }: Write): string {
  return decodeURIComponent(objectPath(path).split('/').at(-1) ?? '');
}

/** Returns the write that creates what this one deletes. */
function creationOf(write: Write): Write {
  const cut = write.path.lastIndexOf('/');
  return {
    ...write,
    method: 'POST',
    path: write.path.slice(0, cut),
    body: { metadata: { name: decodeURIComponent(write.path.slice(cut + 1)) } },
  };
}

type Options = {
  readonly api: Api;
  readonly cacheUpdater: CacheUpdater;
  readonly recorder: Recorder;
  readonly meter: Meter;
  readonly fence: Fence;
  readonly log: Log;
  readonly defects: PanicHandler;
  readonly clock: Clock;
};

/**
 * A writer that sends the writes of a decision and applies the server's responses to the cache, so
 * that the next pass sees them at once.
 */
export class Writer {
  readonly #options: Options;
  readonly #writeBackoff = new WriteBackoff();

  constructor(options: Options) {
    this.#options = options;
  }

  /**
   * Sends a write. Never rejects: a failure is a result. A defect of ours is reported as one, and
   * does not change the server's response.
   */
  async write(write: Write, nodeName: string): Promise<WriteOutcome> {
    const { fence, clock } = this.#options;
    const until = this.#writeBackoff.until(write, clock.now());
    if (until !== undefined) return { result: 'postponed', until };
    if (!fence.mayAct()) {
      return {
        result: 'refused',
        message: 'this process is not the leader any more',
        until: secondsAfter(clock.now(), unledPause),
      };
    }
    const outcome = await this.#send(write);
    this.#guard(write, () => this.#updateCache(write, outcome, nodeName));
    if (outcome.result === 'refused') {
      const { isUntold, ...refused } = outcome;
      return {
        ...refused,
        until: this.#writeBackoff.add(write, clock.now(), isUntold === true ? 'soon' : 'patient'),
      };
    }
    if (write.cache === 'leases') this.#paceLease(write, outcome);
    else this.#writeBackoff.clear(write);
    return outcome;
  }

  /**
   * Delays the creation of a lease that was created and then removed by another client: the garbage
   * collector removes every lease of a node that is gone, and a process that has not seen that
   * would create it again and again. A lease that we have released may be created at any time.
   */
  #paceLease(write: Write, { result }: Answered): void {
    if (write.method === 'POST' && result === 'stored')
      this.#writeBackoff.add(write, this.#options.clock.now());
    else this.#writeBackoff.clear(write);
    if (write.method === 'DELETE') this.#writeBackoff.clear(creationOf(write));
  }

  #updateCache(write: Write, written: Answered, nodeName: string): void {
    const { meter, recorder, log } = this.#options;
    meter.wrote(write.cache, written.result);
    const fields = { node: nodeName, path: write.path };
    if (written.result === 'stored') {
      log.info(write.description, fields);
      for (const note of write.events) recorder.record(note);
    } else if (written.result === 'conflict')
      log.debug('conflict; reconciling again', { ...fields, what: write.description });
    else
      log.warn(`failed to ${write.description}; retrying`, { ...fields, error: written.message });
  }

  async #send(write: Write): Promise<Answered> {
    const { method, path, body, style, accept } = write;
    const response = await this.#call({
      method,
      path,
      body,
      ...(style && { contentType: contentTypes[style] }),
      ...(accept !== undefined && { accept }),
    });
    if ('result' in response) return response;
    const refusal = admissionRefusal(statusMessage(response));
    // With any status code: nothing was stored, no other client has changed the object, and it is
    // not gone.
    if (refusal !== undefined)
      return { result: 'refused', message: messageOf(response), isUntold: true };
    const homeless = response.status === 404 && write.method === 'POST' && write.cache === 'leases';
    return homeless ? this.#makeHome(write) : this.#sort(write, response);
  }

  /**
   * Returns the server's response, or a refusal if there is none: the write may have been stored
   * all the same.
   */
  async #call(call: ApiCall): Promise<ApiResponse | Extract<Answered, { result: 'refused' }>> {
    try {
      return await this.#options.api.call({ ...call, priority: 'vital', timeoutMs: 10_000 });
    } catch (error) {
      const message = this.#options.defects.textOf('Process', call.path, error);
      return { result: 'refused', message, outcomeUnknown: true };
    }
  }

  /** Runs work of ours after a write has its response, and reports its defects. */
  #guard({ path }: Write, work: () => void): void {
    this.#options.defects.guard('Process', () => path, work, undefined);
  }

  /**
   * Creates the namespace of the node leases when the first lease finds none, as the replaced
   * operators do.
   */
  async #makeHome(write: Write): Promise<Answered> {
    const name = decodeURIComponent(/\/namespaces\/([^/]+)\//.exec(write.path)?.[1] ?? '');
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
    const response = await this.#call({ method: 'POST', path: '/api/v1/namespaces', body });
    if ('result' in response) return response;
    const isThere =
      response.status === 409 && admissionRefusal(statusMessage(response)) === undefined;
    if (response.status !== 201 && !isThere)
      return { result: 'refused', message: messageOf(response) };
    this.#options.log.info('created the namespace of the node leases', { namespace: name });
    return { result: 'conflict' };
  }

  #sort(write: Write, response: ApiResponse): Answered {
    if (response.status >= 200 && response.status < 300) {
      this.#guard(write, () => this.#options.cacheUpdater.observe(write, response.body));
      return { result: 'stored' };
    }
    if (response.status === 409) return { result: 'conflict' };
    if (response.status === 404 && write.method !== 'POST') {
      const isGone = write.cache === 'leases' || isMissing(nameIn(write), response);
      // We may have created it, and it may be gone before the watch came to that version; the watch
      // may never deliver that.
      if (isGone) this.#guard(write, () => this.#options.cacheUpdater.observe(write, undefined));
      // The purpose of its deletion is achieved.
      return { result: write.method === 'DELETE' && isGone ? 'stored' : 'conflict' };
    }
    const isUntold = response.status === 403;
    return {
      result: 'refused',
      message: messageOf(response),
      ...(isUntold && { isUntold }),
      ...(response.status >= 500 && { outcomeUnknown: true }),
    };
  }
}

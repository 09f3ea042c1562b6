import type { Clock, HttpResponse, Log } from '@drydock/utils';
import { Deadline, isDefect, type PanicHandler } from '@drydock/utils';
import { contentOf, HttpClient, UnreadableFile } from '../http-client.ts';
import { buildRequest } from './formats.ts';
import type { Notification } from './notification.ts';
import type { ReceiverConfig } from './receivers-file.ts';

/**
 * Sends notifications to one receiver, one after the other and with best effort: limited in number,
 * retries and time.
 */

/** Result: `sent`; `failed`: all attempts failed; `dropped`: too many were waiting. */
export type NotificationResult = 'sent' | 'failed' | 'dropped';

type SenderOptions = {
  readonly config: ReceiverConfig;
  readonly clock: Clock;
  readonly log: Log;
  readonly defects: PanicHandler;
  readonly told: (result: NotificationResult) => void;
};

const maxWaiting = 100;

/** Milliseconds before each retry; after the last one, the notification is given up. */
const pausesMs = [1000, 5000, 30_000, 120_000];

/** Upper limit of a pause that a receiver requests, in milliseconds. */
const maxPauseMs = 300_000;

/** Outcome of one attempt. `why` contains no URL: those of chat services are secrets. */
type SendAttempt =
  | { readonly kind: 'sent' }
  | { readonly kind: 'refused' | 'again'; readonly why: string; readonly pauseMs?: number };

function isPassing(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

function pauseIn({ headers }: HttpResponse): { readonly pauseMs?: number } {
  const seconds = Number(headers['retry-after']);
  return seconds > 0 ? { pauseMs: Math.min(1000 * seconds, maxPauseMs) } : {};
}

function judged(said: HttpResponse): SendAttempt {
  const { status } = said;
  if (status >= 200 && status < 300) return { kind: 'sent' };
  const why = `HTTP ${status}${status >= 300 && status < 400 ? ', a redirect, which is not followed' : ''}`;
  return isPassing(status) ? { kind: 'again', why, ...pauseIn(said) } : { kind: 'refused', why };
}

/** Returns the code of an error: Node's messages about a connection add at most host and port. */
function codeOf(error: unknown): string {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' ? code : 'no answer';
}

export class Sender {
  readonly #options: SenderOptions;
  readonly #carrier: HttpClient;
  readonly #waiting: Notification[] = [];
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  #isWell = true;
  #isFull = false;

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#carrier = new HttpClient(options.config, { mostBytes: 0, headOnly: true });
  }

  get config(): ReceiverConfig {
    return this.#options.config;
  }

  /** Queues a notification. Never waits, never throws. Drops the oldest when too many wait. */
  send(notification: Notification): void {
    if (this.#stop.signal.aborted) return;
    this.#waiting.push(notification);
    if (this.#waiting.length > maxWaiting) this.#drop();
    this.#begin();
  }

  /** Waits up to this many milliseconds for pending notifications, and drops the rest. */
  async close(milliseconds: number): Promise<void> {
    const giveUp = (): void => this.#stop.abort();
    if (milliseconds <= 0) giveUp();
    const end = this.#options.clock.after(milliseconds, giveUp);
    await this.#running;
    end();
    giveUp();
  }

  #begin(): void {
    this.#running ??= this.#work().finally(() => {
      this.#running = undefined;
      if (this.#waiting.length > 0) this.#begin();
    });
  }

  #drop(): void {
    const { log, config, told } = this.#options;
    this.#waiting.shift();
    told('dropped');
    if (!this.#isFull)
      log.warn('too many notifications wait for a receiver; the oldest are dropped', {
        receiver: config.name,
      });
    this.#isFull = true;
  }

  async #work(): Promise<void> {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      const isSent = await this.#deliver(next);
      this.#options.told(isSent ? 'sent' : 'failed');
      if (this.#waiting.length === 0) this.#isFull = false;
    }
  }

  async #deliver(notification: Notification): Promise<boolean> {
    const { clock } = this.#options;
    const { signal } = this.#stop;
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      const end = await this.#try(notification);
      if (end.kind === 'sent') return this.#well();
      const pauseMs = pausesMs[attempt];
      if (end.kind === 'refused' || pauseMs === undefined) return this.#unwell(end.why);
      await clock.sleep(Math.max(pauseMs, end.pauseMs ?? 0), signal);
    }
    return false;
  }

  async #try(notification: Notification): Promise<SendAttempt> {
    const { config, clock } = this.#options;
    using deadline = new Deadline(clock, config.timeoutMs, [this.#stop.signal]);
    try {
      const url = this.#url();
      if (url === undefined)
        return { kind: 'again', why: 'its url_file has no http:// or https:// address' };
      return judged(
        await this.#carrier.call(buildRequest(config, url, notification), deadline.signal),
      );
    } catch (error) {
      if (error instanceof UnreadableFile) return { kind: 'again', why: error.message };
      return {
        kind: 'again',
        why: deadline.expired
          ? `no response within ${config.timeoutMs / 1000} s`
          : this.#why(error),
      };
    }
  }

  /** Returns the code alone: the message may contain the URL, which is a secret of the receiver. */
  #why(error: unknown): string {
    if (isDefect(error))
      this.#options.defects.tell('Process', `receiver ${this.#options.config.name}`, error);
    return codeOf(error);
  }

  /**
   * Returns the URL from the current file: a mounted Secret is replaced while the operator runs.
   */
  #url(): string | undefined {
    const { address } = this.#options.config;
    if ('url' in address) return address.url;
    const url = contentOf(address.file).trim();
    return URL.canParse(url) && /^https?:\/\//.test(url) ? url : undefined;
  }

  #well(): true {
    const { log, config } = this.#options;
    if (!this.#isWell)
      log.info('a receiver of notifications responds again', { receiver: config.name });
    this.#isWell = true;
    return true;
  }

  #unwell(why: string): false {
    const { log, config } = this.#options;
    if (this.#isWell)
      log.warn('failed to send a notification to a receiver; giving up on it', {
        receiver: config.name,
        why,
      });
    this.#isWell = false;
    return false;
  }
}

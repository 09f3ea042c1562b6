import { resolve } from 'node:path';
import type { KubeEvent } from '@drydock/apimachinery';
import type { Recorder } from '@drydock/kube-client';
import {
  type Clock,
  Deadline,
  type HttpResponse,
  isDefect,
  type Log,
  type PanicHandler,
} from '@drydock/utils';
import {
  ConfigFileError,
  HttpClient,
  type HttpConfig,
  httpConfigOf,
  httpKeys,
  type Reader,
  readConfigFile,
  readCredentialFile,
  UnreadableFile,
} from '../http-client.ts';
import { ReloadedFile } from '../sources-file.ts';
import {
  buildRequest,
  contentOfEvent,
  defaultTemplate,
  fieldNames,
  groups,
  isSelected,
  isSelector,
  type Notification,
  notificationOf,
  type ReceiverKind,
  receiverKinds,
  unknownPlaceholder,
} from './formats.ts';

/** The file of --notification-config: the receivers of notifications. */

type ReceiverConfig = HttpConfig & {
  readonly kind: ReceiverKind;
  readonly name: string;
  /** URL, or the file that contains it: URLs of chat services are secrets. */
  readonly address: { readonly url: string } | { readonly file: string };
  /** Selectors: groups of events, or KIND/REASON. */
  readonly on: readonly string[];
  readonly template: string;
  readonly source: string;
  readonly timeoutMs: number;
};

const keys = [
  'name',
  'kind',
  'url',
  'url_file',
  'on',
  'template',
  'source',
  'timeout',
  ...httpKeys,
];

function receiverOf(reader: Reader): ReceiverConfig {
  reader.either('url', 'url_file');
  const template = reader.text('template', defaultTemplate);
  const odd = unknownPlaceholder(template);
  if (odd !== undefined)
    throw reader.wrong(
      'template',
      `has a placeholder that is not known: there are ${fieldNames.join(', ')}`,
    );
  const on = reader.texts('on', ['plans', 'blocked', 'announcements']);
  if (!on.every(isSelector))
    throw reader.wrong(
      'on',
      `has something that is neither one of ${groups.join(', ')} nor KIND/REASON`,
    );
  return {
    kind: reader.choice('kind', receiverKinds),
    name: reader.name('name', 'default'),
    address: reader.has('url_file')
      ? { file: reader.path('url_file') }
      : { url: reader.url('url') },
    on,
    template,
    source: reader.text('source', '/drydock'),
    timeoutMs: reader.duration('timeout', '10s', 100, 60_000),
    ...httpConfigOf(reader),
  };
}

/**
 * Reads the file; a missing file means no receivers. Throws a ConfigFileError that names what to
 * correct, and where.
 */
export function readReceivers(file: string): readonly ReceiverConfig[] {
  const path = resolve(file);
  const receivers =
    readConfigFile(path, ['receivers'])?.list('receivers', keys).map(receiverOf) ?? [];
  const names = receivers.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new ConfigFileError(`receivers in ${path} has ${twice} twice`);
  return receivers;
}

/**
 * Sends notifications to one receiver, one after the other and with best effort: limited in number,
 * retries and time.
 */

/** Result: `sent`; `failed`: all attempts failed; `dropped`: too many were waiting. */
type NotificationResult = 'sent' | 'failed' | 'dropped';

type SenderOptions = {
  readonly config: ReceiverConfig;
  readonly clock: Clock;
  readonly log: Log;
  readonly defects: PanicHandler;
  readonly onResult: (result: NotificationResult) => void;
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

function judged(response: HttpResponse): SendAttempt {
  const { status } = response;
  if (status >= 200 && status < 300) return { kind: 'sent' };
  const why = `HTTP ${status}${status >= 300 && status < 400 ? ', a redirect, which is not followed' : ''}`;
  return isPassing(status)
    ? { kind: 'again', why, ...pauseIn(response) }
    : { kind: 'refused', why };
}

/** Returns the code of an error: Node's messages about a connection add at most host and port. */
function codeOf(error: unknown): string {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' ? code : 'no answer';
}

class Sender {
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
    const { log, config, onResult } = this.#options;
    this.#waiting.shift();
    onResult('dropped');
    if (!this.#isFull)
      log.warn('too many notifications wait for a receiver; the oldest are dropped', {
        receiver: config.name,
      });
    this.#isFull = true;
  }

  async #work(): Promise<void> {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      const isSent = await this.#deliver(next);
      this.#options.onResult(isSent ? 'sent' : 'failed');
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
      this.#options.defects.report('Process', `receiver ${this.#options.config.name}`, error);
    return codeOf(error);
  }

  /**
   * Returns the URL from the current file: a mounted Secret is replaced while the operator runs.
   */
  #url(): string | undefined {
    const { address } = this.#options.config;
    if ('url' in address) return address.url;
    const url = readCredentialFile(address.file).trim();
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

/** Counter of notifications by result. */
interface NotificationMeter {
  notified(receiver: string, result: NotificationResult): void;
}

export type NotifierTools = {
  readonly clock: Clock;
  readonly log: Log;
  readonly defects: PanicHandler;
  readonly meter?: NotificationMeter | undefined;
};

/** Milliseconds within which an equal event is not sent again. */
const sameForMs = 600_000;

/** Limit of remembered events. */
const maxRemembered = 2000;

/** Sends the operator's events to receivers: best effort, without delaying other work. */
export class Notifier implements Recorder {
  readonly #tools: NotifierTools;
  readonly #file: ReloadedFile<readonly ReceiverConfig[]>;
  /** Time of the last notification, in milliseconds, by content; the oldest first. */
  readonly #lastSent = new Map<string, number>();
  #configs: readonly ReceiverConfig[] = [];
  #senders: readonly Sender[] = [];

  /**
   * Creates a notifier. `file` is read again while it is used; a missing file means no receivers.
   */
  constructor(file: string, tools: NotifierTools) {
    const { clock, log } = tools;
    this.#tools = tools;
    this.#file = new ReloadedFile({
      file,
      flag: '--notification-config',
      consequence: 'nobody is notified',
      read: readReceivers,
      clock,
      log,
    });
    this.#refresh();
  }

  /** Queues an event. Never waits, never throws. */
  record(event: KubeEvent): void {
    this.#refresh();
    const senders = this.#senders.filter(({ config }) => isSelected(event, config.on));
    if (senders.length === 0 || this.#isKnown(event)) return;
    const notification = notificationOf(event, this.#tools.clock.now());
    for (const sender of senders) sender.send(notification);
  }

  /** Waits up to this many milliseconds for pending notifications, and drops the rest. */
  async close(milliseconds: number): Promise<void> {
    await Promise.all(this.#senders.map(sender => sender.close(milliseconds)));
  }

  #isKnown(event: KubeEvent): boolean {
    const nowMs = this.#tools.clock.now().epochMilliseconds;
    const content = contentOfEvent(event);
    const lastMs = this.#lastSent.get(content);
    if (lastMs !== undefined && nowMs - lastMs < sameForMs) return true;
    this.#lastSent.delete(content);
    this.#lastSent.set(content, nowMs);
    for (const oldest of this.#lastSent.keys()) {
      if (this.#lastSent.size <= maxRemembered) break;
      this.#lastSent.delete(oldest);
    }
    return false;
  }

  #refresh(): void {
    const current = this.#file.current;
    const configs = 'problem' in current ? [] : current.content;
    if (configs === this.#configs || (configs.length === 0 && this.#configs.length === 0)) return;
    const { clock, log, defects, meter } = this.#tools;
    for (const sender of this.#senders) void sender.close(0);
    this.#configs = configs;
    this.#senders = configs.map(
      config =>
        new Sender({
          config,
          clock,
          log,
          defects,
          onResult: result => meter?.notified(config.name, result),
        }),
    );
  }
}

import type { KubeEvent } from '@drydock/apimachinery';
import type { Recorder } from '@drydock/kube-client';
import type { Clock, Log, PanicHandler } from '@drydock/utils';
import { ReloadedFile } from '../reloaded-file.ts';
import { contentOf, isSelected, notificationOf } from './notification.ts';
import { type ReceiverConfig, readReceivers } from './receivers-file.ts';
import { type NotificationResult, Sender } from './sender.ts';

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
  readonly #told = new Map<string, number>();
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
    const content = contentOf(event);
    const toldMs = this.#told.get(content);
    if (toldMs !== undefined && nowMs - toldMs < sameForMs) return true;
    this.#told.delete(content);
    this.#told.set(content, nowMs);
    for (const oldest of this.#told.keys()) {
      if (this.#told.size <= maxRemembered) break;
      this.#told.delete(oldest);
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
          told: result => meter?.notified(config.name, result),
        }),
    );
  }
}

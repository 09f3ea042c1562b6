import type { JsonObject } from '@drydock/apimachinery';
import { pathSegment, secondsAfter, statusChange, timeText } from '@drydock/apimachinery';
import type { Write } from '@drydock/core';
import type { MachineAdapter } from '@drydock/core/machine';
import { type MaintenanceWindow, windowsPath } from '@drydock/core/window';
import type { Clock, PanicHandler } from '@drydock/utils';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { WorkQueue } from '../work-queue.ts';
import type { Writer } from '../write/writer.ts';

type Options = {
  readonly cache: ClusterCache;
  readonly writer: Writer;
  readonly clock: Clock;
  readonly defects: PanicHandler;
  readonly windowStatus: MachineAdapter['windowStatus'];
};

/** Seconds until a status that could not be written is retried. */
const againAfter = 5;

/**
 * A reconciler that reports for every window whether it is open, and when it will be. No decision
 * uses that: it is for people.
 */
export class WindowReconciler {
  readonly #options: Options;
  readonly #queue: WorkQueue;

  constructor(options: Options) {
    this.#options = options;
    this.#queue = new WorkQueue({
      ...options,
      controller: 'MaintenanceWindow',
      work: name => this.#work(name),
      rank: () => 0,
      atOnce: 1,
      broken: (name, message) => this.#broken(name, message),
    });
  }

  changed({ name }: MaintenanceWindow): void {
    this.#queue.add(name);
  }

  async close(): Promise<void> {
    await this.#queue.close();
  }

  async #work(name: string): Promise<void> {
    const { cache, writer, clock, windowStatus } = this.#options;
    const window = cache.windows.get(name);
    if (window === undefined) return;
    const now = clock.now();
    const { status, until } = windowStatus(window, now);
    this.#queue.clearAppointment(name);
    if (until !== undefined) this.#queue.addAt(name, secondsAfter(until, 0.01));
    const patch = statusChange(window.status, status);
    if (patch === undefined) return;
    const { result } = await writer.write(statusWrite(name, patch), name);
    if (result !== 'stored') this.#queue.addAt(name, secondsAfter(clock.now(), againAfter));
  }

  /** Reports a window whose times cannot be computed: nothing begins in it. */
  async #broken(name: string, message: string): Promise<void> {
    const { cache, writer, clock } = this.#options;
    const window = cache.windows.get(name);
    if (window === undefined) return;
    const condition = {
      type: 'Valid',
      status: 'Unknown',
      reason: 'InternalError',
      message,
      lastTransitionTime: timeText(clock.now()),
    };
    await writer.write(statusWrite(name, { open: false, conditions: [condition] }), name);
  }
}

function statusWrite(name: string, status: JsonObject): Write {
  return {
    description: 'report the window',
    method: 'PATCH',
    style: 'merge',
    path: `${windowsPath}/${pathSegment(name)}/status`,
    body: { status },
    cache: 'windows',
    events: [],
  };
}

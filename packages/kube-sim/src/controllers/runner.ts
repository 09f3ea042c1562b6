import type { Clock } from '@drydock/utils';
import type { StoreChange } from '../store/store.ts';
import type { Cluster, Controller } from './controller.ts';
import type { RequestQueue } from './request-limits.ts';

/** Milliseconds between a change and its reconcile: the latency of a real watch. */
const latencyMs = 2;

type QueuedKey = { readonly controller: Controller; readonly key: string };

/**
 * Runs controllers: one key at a time, in the order of the queue, on the clock of the cluster, each
 * within the limit of its client.
 */
export class ControllerRunner {
  readonly #cluster: Cluster;
  readonly #clock: Clock;
  readonly #controllers: readonly Controller[];
  readonly #requests: RequestQueue | undefined;
  readonly #waiting = new Map<string, QueuedKey>();
  readonly #later = new Map<string, () => void>();
  /** Key that is being reconciled. */
  #current: QueuedKey | undefined;
  #scheduled: (() => void) | undefined;
  #unsubscribe: (() => void) | undefined;

  constructor(
    cluster: Cluster,
    clock: Clock,
    controllers: readonly Controller[],
    requests?: RequestQueue,
  ) {
    this.#cluster = cluster;
    this.#clock = clock;
    this.#controllers = controllers;
    this.#requests = requests;
  }

  /** Counts a write of the running controller. */
  wrote(): void {
    if (this.#current !== undefined) this.#requests?.write(this.#current.controller.name);
  }

  /** Subscribes to all following changes. Pass existing objects to `touch`. */
  start(): void {
    this.#unsubscribe = this.#cluster.store.subscribe(change => this.#told(change));
  }

  /** Enqueues the keys that a change would concern: for objects that existed before the start. */
  touch(change: StoreChange): void {
    this.#told(change);
  }

  /** Stops reconciling. */
  stop(): void {
    this.#unsubscribe?.();
    this.#scheduled?.();
    for (const cancel of this.#later.values()) cancel();
    this.#waiting.clear();
    this.#later.clear();
  }

  #told(change: StoreChange): void {
    for (const controller of this.#controllers) {
      for (const key of controller.keysOf(change, this.#cluster)) {
        if (!this.#isOwn(change, controller, key)) this.#want({ controller, key });
      }
    }
  }

  #isOwn({ resource }: StoreChange, controller: Controller, key: string): boolean {
    return (
      controller.settles === resource &&
      this.#current?.controller === controller &&
      this.#current.key === key
    );
  }

  #want(queued: QueuedKey): void {
    const id = `${queued.controller.name} ${queued.key}`;
    if (this.#waiting.has(id)) return;
    this.#waiting.set(id, queued);
    this.#scheduled ??= this.#clock.after(latencyMs, () => this.#work());
  }

  /** Counts an event of the running controller. */
  noted(): void {
    if (this.#current !== undefined) this.#requests?.note(this.#current.controller.name);
  }

  #waitMs({ controller }: QueuedKey): number {
    return this.#requests?.waitMs(controller.name) ?? 0;
  }

  /**
   * Runs one round. Changes by the work itself are reconciled in the next round; so are keys that
   * wait for their client's limit.
   */
  #work(): void {
    this.#scheduled = undefined;
    const round = [...this.#waiting];
    const late: [string, QueuedKey][] = [];
    this.#waiting.clear();
    for (const [id, key] of round) {
      if (this.#waitMs(key) > 0 || !this.#look(id, key)) late.push([id, key]);
    }
    if (late.length > 0) this.#putFirst(late);
  }

  /** Reconciles a key; returns whether it is done. */
  #look(id: string, queued: QueuedKey): boolean {
    this.#later.get(id)?.();
    this.#later.delete(id);
    this.#current = queued;
    const again = queued.controller.reconcile(queued.key, this.#cluster);
    this.#current = undefined;
    if (again === undefined) return true;
    if (again === 'waits') return false;
    this.#later.set(
      id,
      this.#clock.after(again, () => this.#want(queued)),
    );
    return true;
  }

  #putFirst(late: readonly (readonly [string, QueuedKey])[]): void {
    const rest = [...this.#waiting];
    this.#waiting.clear();
    for (const [id, key] of [...late, ...rest]) this.#waiting.set(id, key);
    const soonest = Math.min(...late.map(([, key]) => this.#waitMs(key)));
    this.#scheduled ??= this.#clock.after(Math.max(latencyMs, soonest), () => this.#work());
  }
}

import type { JsonObject } from '@drydock/apimachinery';
import { readTime } from '@drydock/apimachinery';
import { at, objects, type Stored, text } from '@drydock/kube-sim';

/** Progress of a simulated plan, from its status. */

/** A node that the plan has started. Times in milliseconds since the plan was created. */
export type NodeProgress = {
  readonly node: string;
  readonly stage: string;
  readonly beganMs: number;
  endedMs?: number;
  verdict?: string;
  message?: string;
};

/** A wait of the plan, or of one of its nodes: the words of `status.waiting`. */
export type PlanWait = {
  readonly reason: string;
  readonly message: string;
  readonly node?: string;
  readonly untilMs?: number;
};

const isOver = new Set(['Complete', 'Halted', 'Aborted']);

/** Follows the status of one plan. */
export class PlanProgress {
  readonly #startMs: number;
  readonly nodes = new Map<string, NodeProgress>();
  phase = 'Pending';
  message = '';
  /** Nodes that are due and have not started. */
  due = 0;
  done = 0;
  waiting: readonly PlanWait[] = [];
  completeMs: number | undefined;
  /** Number of openings of its windows in which it has started nodes. */
  openings = 0;
  #isClosed = true;
  /** Time of the last write of the status. */
  changedMs = 0;

  constructor(startMs: number) {
    this.#startMs = startMs;
  }

  get isOver(): boolean {
    return isOver.has(this.phase);
  }

  /** Number of nodes in flight. */
  get inFlight(): number {
    return [...this.nodes.values()].filter(({ endedMs }) => endedMs === undefined).length;
  }

  /** Returns whether the plan waits for a known time before the horizon. */
  isDue(nowMs: number, horizonMs: number): boolean {
    return this.waiting.some(
      ({ untilMs: endsMs }) => endsMs !== undefined && endsMs > nowMs && endsMs < horizonMs,
    );
  }

  observe(plan: Stored, nowMs: number): void {
    this.changedMs = nowMs;
    this.phase = text(plan, 'status', 'phase') || 'Pending';
    this.message = text(plan, 'status', 'message');
    this.due = Number(at(plan, 'status', 'nodes', 'due') ?? 0);
    this.done = Number(at(plan, 'status', 'nodes', 'done') ?? 0);
    this.waiting = objects(at(plan, 'status', 'waiting')).map(one => this.#waitOf(one));
    if (this.phase === 'Complete') this.completeMs ??= nowMs;
    if (this.waiting.some(({ reason }) => reason === 'Window')) this.#isClosed = true;
    const flying = objects(at(plan, 'status', 'inFlight'));
    for (const one of flying) this.#noteNode(one, nowMs);
    const names = new Set(flying.map(one => text(one, 'node')));
    for (const one of this.nodes.values()) if (!names.has(one.node)) one.endedMs ??= nowMs;
  }

  #begin(): void {
    if (this.#isClosed) this.openings += 1;
    this.#isClosed = false;
  }

  #waitOf(one: JsonObject): PlanWait {
    const [node, until] = [text(one, 'node'), readTime(one['until'])];
    return {
      reason: text(one, 'reason'),
      message: text(one, 'message'),
      ...(node !== '' && { node }),
      ...(until && { untilMs: until.epochMilliseconds - this.#startMs }),
    };
  }

  #noteNode(one: JsonObject, nowMs: number): void {
    const node = text(one, 'node');
    const known = this.nodes.get(node);
    if (known?.endedMs !== undefined || known === undefined) this.#begin();
    // A node may return: its last turn counts, from its first start.
    const now: NodeProgress = { node, stage: text(one, 'stage'), beganMs: known?.beganMs ?? nowMs };
    const verdict = text(one, 'outcome', 'verdict');
    this.nodes.set(
      node,
      verdict === '' ? now : { ...now, verdict, message: text(one, 'outcome', 'message') },
    );
  }
}

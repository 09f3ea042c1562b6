import { isBefore, isObject, type JsonObject, secondsAfter } from '@drydock/apimachinery';
import type { Write } from '@drydock/core';
import { type Plan, pathOfPlan } from '@drydock/core/plan';
import { type Clock, randomLetters } from '@drydock/utils';
import type { Overview } from '../ports.ts';

/** Fields that people read and no decision uses, not even after a restart. */
const throttledFields: ReadonlySet<string> = new Set([
  'message',
  'waiting',
  'waitingFor',
  'upNext',
  'estimatedCompletionTime',
]);

/**
 * Seconds between two writes of these fields; other fields are written at once. Every node of the
 * plan waits for a write.
 */
const toldEvery = 1;

/** A throttle for the writes of the statuses of plans. */
export class StatusThrottle {
  readonly #writtenAt = new Map<string, Temporal.Instant>();

  /**
   * Returns when this patch of the plan's status may be written; undefined: now, and it counts as
   * written.
   */
  dueAt(uid: string, patch: JsonObject, now: Temporal.Instant): Temporal.Instant | undefined {
    const last = this.#writtenAt.get(uid);
    const due = last && secondsAfter(last, toldEvery);
    if (
      due !== undefined &&
      isBefore(now, due) &&
      Object.keys(patch).every(key => throttledFields.has(key))
    )
      return due;
    this.#writtenAt.set(uid, now);
    return undefined;
  }

  /** Forgets a plan that is gone. */
  forget(uid: string): void {
    this.#writtenAt.delete(uid);
  }
}

/**
 * Returns the write that patches the status of a plan, provided that the plan has not changed since
 * it was read.
 */
export function statusWrite(
  plan: Plan,
  what: string,
  status: JsonObject,
  events: Write['events'],
): Write {
  return {
    description: `report ${what}`,
    method: 'PATCH',
    style: 'merge',
    path: `${pathOfPlan(plan)}/status`,
    body: { metadata: { resourceVersion: plan.resourceVersion }, status },
    cache: 'plans',
    events,
  };
}

/** Metrics of plans, among all metrics. */
export type PlansOverview = Pick<Overview, 'planPhases' | 'planNodes' | 'planDeadlines'>;

/** States of nodes, and the field of the status that counts them. */
const states = [
  ['Due', 'due'],
  ['Blocked', 'blocked'],
  ['InFlight', 'inFlight'],
  ['Done', 'done'],
  ['Failed', 'failed'],
  ['Skipped', 'skipped'],
  ['DueAgain', 'dueAgain'],
] as const;

function phaseOf({ name, status: { phase } }: Plan): PlansOverview['planPhases'][number] {
  return {
    plan: name,
    phase: typeof phase === 'string' ? phase : 'Pending',
  };
}

function nodesOf({ name, status: { nodes } }: Plan): PlansOverview['planNodes'] {
  return isObject(nodes)
    ? states.map(([state, field]) => ({ plan: name, state, count: Number(nodes[field] ?? 0) }))
    : [];
}

/** Returns the deadline of a plan; nothing for a plan that is over. */
function deadlineOf({ name, status: { conditions, phase } }: Plan): PlansOverview['planDeadlines'] {
  const isEnding = phase === 'Complete' || phase === 'Aborted' || phase === 'Deleting';
  const all =
    !isEnding && Array.isArray(conditions)
      ? (conditions as readonly unknown[]).filter(isObject)
      : [];
  const predicted = all.find(({ type }) => type === 'Predicted');
  return predicted === undefined ? [] : [{ plan: name, isMissed: predicted['status'] === 'False' }];
}

/** Returns phases, nodes by state, and deadlines from the statuses. */
export function overviewOf(plans: readonly Plan[]): PlansOverview {
  return {
    planPhases: plans.map(phaseOf),
    planNodes: plans.flatMap(nodesOf),
    planDeadlines: plans.flatMap(deadlineOf),
  };
}

/**
 * Milliseconds between two looks at the clock, and the gap from which the process counts as having
 * been away.
 */
const everyMs = 5_000;
const maxMs = 20_000;

/**
 * A record of whether one process has watched without a break. A break is a time in which it did
 * not run, a change of its clock, or a time in which it was not the one that acts: nothing has
 * observed what happened then. Times of different processes are never compared.
 */
export class Attention {
  readonly #clock: Clock;
  readonly #letters: () => string;
  readonly #mayAct: () => boolean;
  #mark: string;
  #since: Temporal.Instant;
  #seenMs: number;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, mayAct: () => boolean, letters: () => string = randomLetters) {
    this.#clock = clock;
    this.#letters = letters;
    this.#mayAct = mayAct;
    this.#mark = letters();
    this.#since = clock.now();
    this.#seenMs = this.#since.epochMilliseconds;
  }

  /** True while the clock is watched. */
  get isOn(): boolean {
    return this.#cancel !== undefined;
  }

  /** Begins the watched time now. */
  begin(): void {
    this.#anew(this.#clock.now());
    this.#tick();
  }

  end(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  /**
   * Returns a mark for the time that has been watched without a break: a different one after each
   * break.
   */
  mark(): string {
    this.#look();
    return this.#mark;
  }

  /** Returns the start of that time, by the clock of this process. */
  since(): Temporal.Instant {
    this.#look();
    return this.#since;
  }

  #anew(now: Temporal.Instant): void {
    this.#mark = this.#letters();
    this.#since = now;
    this.#seenMs = now.epochMilliseconds;
  }

  #look(): void {
    const now = this.#clock.now();
    const gap = now.epochMilliseconds - this.#seenMs;
    if (gap < -everyMs || gap > maxMs) this.#anew(now);
    else this.#seenMs = now.epochMilliseconds;
  }

  #tick(): void {
    this.#cancel = this.#clock.after(everyMs, () => {
      if (this.#mayAct()) this.#look();
      this.#tick();
    });
  }
}

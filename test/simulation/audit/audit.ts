import { createHash } from 'node:crypto';
import type { ApiCall, ApiResponse } from '@drydock/kube-client';
import type { Store } from '@drydock/kube-sim/store';
import type { Caller } from '../cluster/caller.ts';
import type { SimClock } from '../cluster/sim-clock.ts';
import { type Story, staleMsOf } from '../story/story.ts';
import { type Checker, type Invariant, type Served, targetOf } from './checker.ts';
import { evictionChecker } from './evictions.ts';
import { FailingReads } from './failing-reads.ts';
import { machineChecker } from './machines.ts';
import { nodeChecker } from './nodes.ts';
import { paceChecker } from './pace.ts';
import { planWorkChecker } from './plan-work.ts';
import { planChecker } from './plans.ts';
import { Records } from './records.ts';
import { responderChecker } from './responders.ts';
import { statusChecker } from './statuses.ts';
import { vmChecker } from './vms.ts';

export type Violation = {
  readonly invariant: Invariant;
  readonly at: string;
  readonly message: string;
};

type Options = {
  readonly story: Story;
  readonly clock: SimClock;
  readonly isFaulty: () => boolean;
  readonly calmSince: () => number;
};

/** Lines that are told of what was before a violation. */
const told = 200;

/** After the last fault what is known is as old as the last of them made it, for so long. */
const settlesMs = 60_000;

const calmStaleMs = 1500;

/** Added to how late reads were: what they told is on its way, and decided about. */
const onItsWayMs = 5000;

/** Looks at everything that happens and says what must not. The first violation ends the play. */
export class Audit {
  /** Of the process that runs. */
  readonly reads = new FailingReads();
  readonly #clock: SimClock;
  readonly #hash = createHash('sha256');
  readonly #lines: string[] = [];
  #checkers: readonly Checker[] = [];
  #violation: Violation | undefined;
  #calls = 0;

  constructor(clock: SimClock) {
    this.#clock = clock;
  }

  /** Begins to look. */
  attach(store: Store, { story, clock, isFaulty, calmSince }: Options): void {
    const nowMs = (): number => clock.nowMs;
    // Bad luck has no bound: reads may fail once more and once more.
    const whileFaulty = (): number => Math.max(staleMsOf(story), this.reads.lateMs + onItsWayMs);
    const isSettled = (): boolean =>
      !isFaulty() && nowMs() - calmSince() > whileFaulty() + settlesMs;
    const around = {
      story,
      store,
      records: new Records(store, nowMs),
      nowMs,
      staleMs: () => (isSettled() ? calmStaleMs : whileFaulty()),
      fail: (invariant: Invariant, message: string) => this.fail(invariant, message),
    };
    this.#checkers = [
      nodeChecker,
      evictionChecker,
      statusChecker,
      paceChecker,
      vmChecker,
      machineChecker,
      responderChecker,
      planChecker,
      planWorkChecker,
    ].map(make => make(around));
    store.subscribe(change => {
      const { metadata } = change.object;
      this.note(
        `${change.type} ${change.resource} ${metadata.namespace ?? ''}/${metadata.name} @${change.version}`,
      );
      for (const { changed } of this.#checkers) changed?.(change);
    });
    this.#store = store;
  }

  #store: Store | undefined;

  get violation(): Violation | undefined {
    return this.#violation;
  }

  get calls(): number {
    return this.#calls;
  }

  /** What was before it, the last at the end. */
  get lines(): readonly string[] {
    return this.#lines;
  }

  digest(): string {
    return this.#hash.copy().digest('hex');
  }

  fail(invariant: Invariant, message: string): void {
    if (this.#violation !== undefined) return;
    this.note(`VIOLATION ${invariant}: ${message}`);
    this.#violation = { invariant, at: this.#clock.now().toString(), message };
    this.#clock.stop();
  }

  /** Something that happened, for the digest and for whoever reads of a violation. */
  note(line: string): void {
    const whole = `${((this.#clock.nowMs - this.#clock.startMs) / 1000).toFixed(3)} ${line}`;
    this.#hash.update(`${whole}\n`);
    if (this.#violation !== undefined) return;
    this.#lines.push(whole);
    if (this.#lines.length > 2 * told) this.#lines.splice(0, told);
  }

  /** A process sends something: one that has lost its lease may only read. */
  sends({ id, mayAct }: Caller, { method, path }: ApiCall): void {
    if (method !== 'GET' && !mayAct())
      this.fail('fence', `process ${id} has lost its lease, and sends ${method} ${path}`);
  }

  before({ id }: Caller, call: ApiCall): Served {
    this.#calls += 1;
    const target = targetOf(call.path);
    const body = call.body === undefined ? '' : ` ${JSON.stringify(call.body)}`;
    this.note(`process ${id}: ${call.method} ${call.path}${body}`);
    const served: Served = {
      process: id,
      call,
      target,
      before:
        call.method === 'PATCH'
          ? this.#store?.get(target.resource, target.namespace, target.name)
          : undefined,
    };
    for (const { before } of this.#checkers) before?.(served);
    if (this.#clock.turns > 20_000) this.fail('no call loops', 'time stands still');
    return served;
  }

  after(served: Served, answer: ApiResponse): void {
    this.note(
      `= ${answer.status}${answer.status >= 300 ? ` ${JSON.stringify(answer.body).slice(0, 300)}` : ''}`,
    );
    for (const { after } of this.#checkers) after?.(served, answer);
  }
}

import {
  type Attempt,
  classify,
  type EvictionMethod,
  type EvictionOutcome,
  nextAttempt,
  type PodCall,
} from '@drydock/core/drain';
import { isFinished, type Pod } from '@drydock/core/pod';
import type { Api, ApiCall, ApiResponse, Fence, Recorder } from '@drydock/kube-client';
import { type Clock, type Log, type PanicHandler, Semaphore } from '@drydock/utils';
import type { Meter } from '../ports.ts';
import { escalation, hasNoBudget, type InFlightEvictions, podCall } from './in-flight-evictions.ts';

/**
 * Milliseconds without a response after which the next eviction is sent: the API server retries
 * after 500 ms, or a webhook is slow.
 */
const restsAfterMs = 250;

/**
 * Number of evictions that are handed over to the API at once, of all budgets: more than it has
 * places for. A call that waits there takes several kB, its time limit runs, and it cannot be
 * cancelled any more.
 */
const evictionsAtOnce = 32;

/**
 * Function that sends an eviction or a deletion, and resolves after its response. It never rejects.
 */
type Send = () => Promise<void>;

/**
 * An eviction, until its response. A waiting eviction consists of nothing else: there are thousands
 * when many nodes are drained at once.
 */
type Turn = { readonly send: Send; readonly answered: (() => void)[] };

/** Evictions of one budget, first come, first served. */
type Line = {
  readonly waiting: Set<Turn>;
  readonly underWay: Set<Turn>;
  /** Turn that the others wait for. */
  holder?: Turn | undefined;
};

/**
 * A queue for the evictions of each budget: one is sent when the previous one has its response, or
 * has waited for it for `restsAfterMs`. If all were sent at once they would only collide: the API
 * server retries after 500 ms when another eviction has written the budget's status meanwhile
 * (kubernetes#102361). Only evictions are sent here that the budget allows beside all in-flight
 * ones.
 */
export class BudgetTurns {
  readonly #clock: Clock;
  readonly #semaphore = new Semaphore(evictionsAtOnce);
  /** Lines by budget. */
  readonly #lines = new Map<string, Line>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Sends the eviction when it has its turn. */
  takeTurn(budget: string, send: Send): void {
    const line = this.#lines.get(budget) ?? { waiting: new Set(), underWay: new Set() };
    this.#lines.set(budget, line);
    line.waiting.add({ send, answered: [] });
    this.#next(budget, line);
  }

  /**
   * Sends it when all evictions of these budgets that wait or are in flight now have their
   * responses; it does not make others wait.
   */
  waitForAll(budgets: readonly string[], send: Send): void {
    const before = new Set(budgets.flatMap(budget => this.#turnsOf(budget)));
    const sendOnceNoneIsLeft = (): void => void (before.size === 0 && this.#semaphore.run(send));
    for (const turn of before) {
      turn.answered.push(() => {
        before.delete(turn);
        sendOnceNoneIsLeft();
      });
    }
    sendOnceNoneIsLeft();
  }

  #turnsOf(budget: string): readonly Turn[] {
    const line = this.#lines.get(budget);
    return line === undefined ? [] : [...line.underWay, ...line.waiting];
  }

  /** Sends the first waiting eviction, unless another one still holds the line. */
  #next(budget: string, line: Line): void {
    const [turn] = line.waiting;
    if (line.holder !== undefined || turn === undefined) return;
    line.waiting.delete(turn);
    line.underWay.add(turn);
    line.holder = turn;
    const pass = (): void => {
      if (line.holder !== turn) return;
      line.holder = undefined;
      this.#next(budget, line);
    };
    void this.#semaphore
      .run(() => this.#send(turn, pass))
      .then(() => this.#answered(budget, line, turn, pass));
  }

  /**
   * Sends the eviction and starts its rest at that moment: while it waits for a place, it does not
   * load the API server.
   */
  async #send({ send }: Turn, pass: () => void): Promise<void> {
    const cancel = this.#clock.after(restsAfterMs, pass);
    await send();
    cancel();
  }

  #answered(budget: string, line: Line, turn: Turn, pass: () => void): void {
    line.underWay.delete(turn);
    for (const answered of turn.answered) answered();
    pass();
    if (line.underWay.size + line.waiting.size === 0) this.#lines.delete(budget);
  }
}

type Options = {
  readonly api: Api;
  readonly clock: Clock;
  readonly log: Log;
  readonly defects: PanicHandler;
  readonly recorder: Recorder;
  readonly meter: Meter;
  readonly fence: Fence;
  readonly inFlight: InFlightEvictions;
  /** Callback for a pod that is gone according to the server, before the watch delivers that. */
  readonly gone: (pod: Pod, nodeName: string) => void;
  /** Callback for a response: the node has to be requeued. */
  readonly answered: (nodeName: string) => void;
};

/** Message if the response of the server cannot be interpreted. */
const defectText =
  'Drydock hit a bug reading the response of the API server: see the log of the operator';

/** Log messages by method. */
const acceptedTexts: Readonly<Record<EvictionMethod, string>> = {
  evict: 'pod is being evicted',
  delete: 'pod is being deleted',
  request: 'eviction of the pod has been requested of its responders',
};

/**
 * A sender of evictions. Those of one budget take turns. Deletions that overrule a budget wait for
 * all its in-flight evictions: they would take from it what has just been granted. A queued one can
 * be cancelled until it is sent.
 */
export class Evictor {
  readonly #options: Options;
  readonly #turns: BudgetTurns;
  /** Attempts by node, and by the uid of the pod. */
  readonly #attempts = new Map<string, Map<string, Attempt>>();
  /**
   * Calls whose turn is pending, by the uid of the pod. A call that was cancelled and launched
   * again may come to two turns, and has one.
   */
  readonly #queued = new Map<string, PodCall>();

  constructor(options: Options) {
    this.#options = options;
    this.#turns = new BudgetTurns(options.clock);
  }

  /** Returns the attempts for pods of one node, by uid. */
  attemptsOf(nodeName: string): ReadonlyMap<string, Attempt> {
    return new Map(this.#attempts.get(nodeName));
  }

  /** Forgets the attempts of a pod that is gone. */
  forget(uid: string, nodeName: string): void {
    this.#attempts.get(nodeName)?.delete(uid);
  }

  forgetNode(nodeName: string): void {
    this.#attempts.delete(nodeName);
  }

  /** Begins an eviction. From this moment it counts against its budget. */
  launch(call: PodCall, nodeName: string): void {
    const { pod, budget, overrules } = call;
    this.#options.inFlight.put({
      uid: pod.uid,
      podKey: pod.key,
      podName: pod.name,
      nodeName,
      state: 'queued',
      at: this.#options.clock.now(),
      ...(budget && { budget: budget.key }),
      ...(overrules && { overrules }),
    });
    this.#queued.set(pod.uid, call);
    const overruled = (overrules ?? []).map(one => one.budget);
    const send = (): Promise<void> => this.#send(call, nodeName);
    if (budget === undefined) this.#turns.waitForAll(overruled, send);
    else this.#turns.takeTurn(budget.key, send);
  }

  /** Cancels everything of the node that has not been sent and may not be evicted any more. */
  recall(nodeName: string, evictable: ReadonlySet<string>): void {
    for (const { uid, state } of this.#options.inFlight.of(nodeName)) {
      if (state !== 'queued' || evictable.has(uid)) continue;
      this.#queued.delete(uid);
      this.#options.inFlight.end(uid);
    }
  }

  /**
   * Sends the call. Never rejects: a defect of ours is reported as one, and does not change the
   * server's response.
   */
  async #send(call: PodCall, nodeName: string): Promise<void> {
    const { inFlight, clock, fence } = this.#options;
    const { uid } = call.pod;
    if (this.#queued.get(uid) !== call) return;
    this.#queued.delete(uid);
    const inFlightEviction = inFlight.get(uid);
    if (inFlightEviction === undefined || !fence.mayAct()) {
      inFlight.end(uid);
      return;
    }
    inFlight.put({ ...inFlightEviction, state: 'sent', at: clock.now() });
    const started = clock.now();
    const outcome = await this.#sendGuarded(call, nodeName);
    this.#guard(call, () => this.#note(call, nodeName, outcome, started));
    // Even after a failure to record it, the call has been sent, and counts as the server has it.
    if (inFlight.get(uid)?.state === 'sent')
      this.#guard(call, () => this.#land(uid, outcome, clock.now()));
    if (outcome.kind === 'gone') this.#guard(call, () => this.#options.gone(call.pod, nodeName));
    this.#guard(call, () => this.#options.answered(nodeName));
  }

  #guard({ pod }: PodCall, work: () => void): void {
    this.#options.defects.guard('Process', () => pod.key, work, undefined);
  }

  /**
   * Sends the call and converts everything thrown around it into an outcome: failures of the calls
   * themselves are outcomes already, so a throw is a defect.
   */
  async #sendGuarded(call: PodCall, nodeName: string): Promise<EvictionOutcome> {
    try {
      return await this.#sendWhenReady(call, nodeName);
    } catch (error) {
      return {
        kind: 'failed',
        message: this.#options.defects.report('Process', call.pod.key, error),
      };
    }
  }

  async #sendWhenReady(call: PodCall, nodeName: string): Promise<EvictionOutcome> {
    if (call.escalated) {
      await this.#announce(call, nodeName);
      // The lease may have been lost meanwhile: the current leader decides.
      if (!this.#options.fence.mayAct())
        return { kind: 'failed', message: 'this process is not the leader any more' };
    }
    const outcome = await this.#exchange(podCall(call));
    // There is one request for a pod, with one name: this one was created before.
    return call.method === 'request' && outcome.kind === 'conflict'
      ? { kind: 'accepted' }
      : outcome;
  }

  async #exchange(call: ApiCall): Promise<EvictionOutcome> {
    const response = await this.#call(call);
    if ('kind' in response) return response;
    const isTaken = response.status >= 200 && response.status < 300;
    return this.#options.defects.guard(
      'Process',
      () => call.path,
      () => classify(response),
      isTaken ? { kind: 'accepted' } : { kind: 'failed', message: defectText },
    );
  }

  async #call(call: ApiCall): Promise<ApiResponse | EvictionOutcome> {
    try {
      return await this.#options.api.call(call);
    } catch (error) {
      return { kind: 'failed', message: this.#options.defects.textOf('Process', call.path, error) };
    }
  }

  /**
   * Marks the pod as disrupted before it is deleted past its budget, so that Jobs do not count it
   * as their failure.
   */
  async #announce(call: PodCall, nodeName: string): Promise<void> {
    const { log, recorder, clock } = this.#options;
    const { mark, note } = escalation(call, nodeName, clock.now());
    const marked = await this.#exchange(mark);
    if (marked.kind !== 'accepted' && marked.kind !== 'gone')
      log.warn('failed to set the DisruptionTarget condition of a pod', {
        pod: call.pod.key,
        outcome: marked,
      });
    recorder.record(note);
  }

  #note(
    call: PodCall,
    nodeName: string,
    outcome: EvictionOutcome,
    started: Temporal.Instant,
  ): void {
    const { clock, inFlight, log, meter } = this.#options;
    const { pod, method, gracePeriodSeconds, budget } = call;
    const now = clock.now();
    meter.evicted(method, outcome.kind, (now.epochMilliseconds - started.epochMilliseconds) / 1000);
    const attempts = this.#attempts.get(nodeName) ?? new Map<string, Attempt>();
    const before = attempts.get(pod.uid);
    const seen = budget && `${budget.key}@${budget.resourceVersion}`;
    const attempt = nextAttempt(before, {
      method,
      ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
      outcome,
      at: now,
      ...(seen !== undefined && { budgetSeen: seen }),
      ...(isFinished(pod) && { ended: true }),
    });
    this.#attempts.set(nodeName, attempts.set(pod.uid, attempt));
    this.#land(pod.uid, outcome, now);
    const fields = { node: nodeName, pod: pod.key, ...(budget && { budget: budget.key }) };
    if (outcome.kind === 'accepted') log.info(acceptedTexts[method], fields);
    else
      log.info('pod cannot go yet', {
        ...fields,
        outcome: outcome.kind,
        ...('message' in outcome && { message: outcome.message }),
      });
    if (inFlight.get(pod.uid)?.state === 'sent') inFlight.end(pod.uid);
  }

  /**
   * Records the outcome. A call that has, or may have, taken from a budget counts until the
   * budget's status shows it; all others end here.
   */
  #land(uid: string, outcome: EvictionOutcome, now: Temporal.Instant): void {
    const { inFlight } = this.#options;
    const inFlightEviction = inFlight.get(uid);
    if (inFlightEviction === undefined) return;
    const counts = outcome.kind === 'accepted' || outcome.kind === 'failed';
    if (!hasNoBudget(inFlightEviction) && counts)
      inFlight.put({ ...inFlightEviction, state: 'accepted', at: now });
    else inFlight.end(uid);
  }
}

import type { AlertGate, Gate, PromqlGate } from '../../core/plan/gates/gate.ts';
import type { Plan } from '../../core/plan/plan.ts';
import type { Clock } from '../../support/clock.ts';
import { errorText } from '../../support/error-text.ts';
import type { PanicHandler } from '../../support/panic-handler.ts';
import type { FiringAlert, Monitoring, QueryResult, Sample } from '../ports.ts';

/**
 * What gates ask of Prometheus and Alertmanager. Neither tells of changes: the same question is asked again and again, once for all plans that have it, and
 * more and more seldom while it is not answered.
 */

type QueryGate = PromqlGate | AlertGate;
type Answer = QueryResult<readonly Sample[]> | QueryResult<readonly FiringAlert[]>;
type Polled = { readonly stop: AbortController; answer?: Answer };

/** While nobody answers a question it is asked at least this often, in milliseconds. */
const maxMs = 120_000;

const asksMonitoring = (gate: Gate): gate is QueryGate => gate.kind === 'promql' || gate.kind === 'alerts';

const keyOf = (gate: QueryGate): string =>
  JSON.stringify([gate.kind, gate.source, ...(gate.kind === 'promql' ? [gate.query] : gate.matchers)]);

/** Infinities and NaN are no JSON. */
const textOf = (answer: Answer | undefined): string =>
  JSON.stringify(answer, (_key, value: unknown) => (typeof value === 'number' ? String(value) : value));

/** Something may depend on the answer: nodes are begun with, are in flight, or somebody looks at why they are not. */
const isUnderWay = ({ inFlight, status, deleting }: Plan): boolean =>
  inFlight.length > 0 || (!deleting && (status['phase'] === 'Running' || status['phase'] === 'Halted'));

const notAsked = { problem: 'it is queried only while the plan runs' };
const notYet = { problem: 'its first query has not returned yet' };
const nobody = {
  problem: 'the operator knows no source of metrics and alerts: it was started without --monitoring-config',
};

export type GateQueriesOptions = {
  /** Left out where the operator has been given no source. */
  readonly monitoring?: Monitoring | undefined;
  readonly clock: Clock;
  /** Told of what the port should never do. */
  readonly defects?: PanicHandler | undefined;
  /** One of the answers is another one now. */
  readonly changed: () => void;
};

/** Asks them. */
export class GateQueries {
  readonly #options: GateQueriesOptions;
  readonly #polled = new Map<string, Polled>();
  readonly #running = new Set<Promise<void>>();
  #signal: AbortSignal | undefined;

  constructor(options: GateQueriesOptions) {
    this.#options = options;
  }

  /** From now on questions are asked, until the signal is aborted. */
  begin(signal: AbortSignal): void {
    this.#signal = signal;
  }

  /** Asks what the gates of these plans ask, as far as the plans are under way, and nothing else any more. */
  follow(plans: Iterable<Plan>): void {
    const gates = [...plans].filter(isUnderWay).flatMap(plan => plan.gates.filter(asksMonitoring));
    const wanted = new Map(gates.map(gate => [keyOf(gate), gate]));
    for (const [key, { stop }] of this.#polled) {
      if (wanted.has(key)) continue;
      stop.abort();
      this.#polled.delete(key);
    }
    for (const [key, gate] of wanted) if (!this.#polled.has(key)) this.#begin(key, gate);
  }

  /** What the query of a gate has come to last. */
  samplesOf(gate: PromqlGate): QueryResult<readonly Sample[]> {
    return this.#answerTo(gate) as QueryResult<readonly Sample[]>;
  }

  /** The alerts that a gate asks for, as they were last. */
  firingOf(gate: AlertGate): QueryResult<readonly FiringAlert[]> {
    return this.#answerTo(gate) as QueryResult<readonly FiringAlert[]>;
  }

  /** A question of the plan has been asked and not been answered, or given up, even once. That ends within the time limit of its source. */
  isPending({ gates }: Plan): boolean {
    return gates.some(gate => {
      const polled = asksMonitoring(gate) ? this.#polled.get(keyOf(gate)) : undefined;
      return polled !== undefined && polled.answer === undefined;
    });
  }

  /** Resolves when nothing is asked any more. */
  async ended(): Promise<void> {
    await Promise.all(this.#running);
  }

  #answerTo(gate: QueryGate): Answer {
    if (this.#options.monitoring === undefined) return nobody;
    const polled = this.#polled.get(keyOf(gate));
    return polled === undefined ? notAsked : (polled.answer ?? notYet);
  }

  #begin(key: string, gate: QueryGate): void {
    const { monitoring } = this.#options;
    if (monitoring === undefined || this.#signal === undefined) return;
    const polled: Polled = { stop: new AbortController() };
    this.#polled.set(key, polled);
    const signal = AbortSignal.any([polled.stop.signal, this.#signal]);
    const ended = this.#poll(monitoring, gate, polled, signal).finally(() => this.#running.delete(ended));
    this.#running.add(ended);
  }

  async #poll(monitoring: Monitoring, gate: QueryGate, polled: Polled, signal: AbortSignal): Promise<void> {
    const { clock, changed } = this.#options;
    let waitMs = 0;
    while (!signal.aborted) {
      const answer = await ask(monitoring, gate, signal, this.#options.defects);
      if (answer === undefined) return;
      if (textOf(answer) !== textOf(polled.answer)) {
        polled.answer = answer;
        changed();
      }
      const { everyMs } = monitoring;
      waitMs = 'problem' in answer ? Math.max(everyMs, Math.min(2 * waitMs, maxMs)) : everyMs;
      await clock.sleep(waitMs, signal);
    }
  }
}

/** Undefined once the signal is aborted: whatever comes then is nobody's answer. */
const ask = async (
  monitoring: Monitoring,
  gate: QueryGate,
  signal: AbortSignal,
  defects: PanicHandler | undefined,
): Promise<Answer | undefined> => {
  try {
    const answer =
      gate.kind === 'promql'
        ? await monitoring.samples(gate.source, gate.query, signal)
        : await monitoring.firing(gate.source, gate.matchers, signal);
    return signal.aborted ? undefined : answer;
  } catch (error) {
    if (signal.aborted) return undefined;
    // The port never rejects: this is ours.
    return {
      problem: defects?.tell('MaintenancePlan', `gate ${gate.kind} of source ${gate.source}`, error) ?? `a defect: ${errorText(error)}`,
    };
  }
};

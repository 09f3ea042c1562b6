import type { AlertGate, Gate, Plan, PromqlGate } from '@drydock/core/plan';
import type { Clock, PanicHandler } from '@drydock/utils';
import { errorText } from '@drydock/utils';
import type { FiringAlert, Monitoring, QueryResult, Sample } from '../ports.ts';

/**
 * Queries of gates to Prometheus and Alertmanager. Neither notifies of changes: the same query is
 * repeated, once for all plans that have it, and less and less often while it fails.
 */

type QueryGate = PromqlGate | AlertGate;
type GateResult = QueryResult<readonly Sample[]> | QueryResult<readonly FiringAlert[]>;
type Polled = { readonly stop: AbortController; result?: GateResult };

/** Longest pause between two tries of a failing query, in milliseconds. */
const maxMs = 120_000;

function asksMonitoring(gate: Gate): gate is QueryGate {
  return gate.kind === 'promql' || gate.kind === 'alerts';
}

function keyOf(gate: QueryGate): string {
  return JSON.stringify([
    gate.kind,
    gate.source,
    ...(gate.kind === 'promql' ? [gate.query] : gate.matchers),
  ]);
}

/** Serializes a response: infinities and NaN are not JSON. */
function textOf(result: GateResult | undefined): string {
  return JSON.stringify(result, (_key, value: unknown) =>
    typeof value === 'number' ? String(value) : value,
  );
}

/**
 * Reports whether something may depend on the response: the plan begins nodes, has nodes in flight,
 * or is halted and a user looks for the reason.
 */
function isUnderWay({ inFlight, status, deleting }: Plan): boolean {
  return (
    inFlight.length > 0 ||
    (!deleting && (status['phase'] === 'Running' || status['phase'] === 'Halted'))
  );
}

const notAsked = { problem: 'it is queried only while the plan runs' };
const notYet = { problem: 'its first query has not returned yet' };
const nobody = {
  problem:
    'the operator knows no source of metrics and alerts: it was started without --monitoring-config',
};

export type GateQueriesOptions = {
  /** Sources of metrics and alerts; left out if none are configured. */
  readonly monitoring?: Monitoring | undefined;
  readonly clock: Clock;
  /** Handler for defects of the port. */
  readonly defects?: PanicHandler | undefined;
  /** Callback after a change of a response. */
  readonly changed: () => void;
};

/** A poller of these queries. */
export class GateQueries {
  readonly #options: GateQueriesOptions;
  readonly #polled = new Map<string, Polled>();
  readonly #running = new Set<Promise<void>>();
  #signal: AbortSignal | undefined;

  constructor(options: GateQueriesOptions) {
    this.#options = options;
  }

  /** Polls from now on, until the signal is aborted. */
  begin(signal: AbortSignal): void {
    this.#signal = signal;
  }

  /**
   * Polls the queries of the gates of these plans, as far as the plans are in progress, and stops
   * all others.
   */
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

  /** Returns the last result of a gate's query. */
  samplesOf(gate: PromqlGate): QueryResult<readonly Sample[]> {
    return this.#answerTo(gate) as QueryResult<readonly Sample[]>;
  }

  /** Returns the alerts of a gate, as of the last query. */
  firingOf(gate: AlertGate): QueryResult<readonly FiringAlert[]> {
    return this.#answerTo(gate) as QueryResult<readonly FiringAlert[]>;
  }

  /**
   * Reports whether a query of the plan has been sent and has neither a response nor a failure yet.
   * That ends within the time limit of its source.
   */
  isPending({ gates }: Plan): boolean {
    return gates.some(gate => {
      const polled = asksMonitoring(gate) ? this.#polled.get(keyOf(gate)) : undefined;
      return polled !== undefined && polled.result === undefined;
    });
  }

  /** Resolves when nothing is polled any more. */
  async ended(): Promise<void> {
    await Promise.all(this.#running);
  }

  #answerTo(gate: QueryGate): GateResult {
    if (this.#options.monitoring === undefined) return nobody;
    const polled = this.#polled.get(keyOf(gate));
    return polled === undefined ? notAsked : (polled.result ?? notYet);
  }

  #begin(key: string, gate: QueryGate): void {
    const { monitoring } = this.#options;
    if (monitoring === undefined || this.#signal === undefined) return;
    const polled: Polled = { stop: new AbortController() };
    this.#polled.set(key, polled);
    const signal = AbortSignal.any([polled.stop.signal, this.#signal]);
    const ended = this.#poll(monitoring, gate, polled, signal).finally(() =>
      this.#running.delete(ended),
    );
    this.#running.add(ended);
  }

  async #poll(
    monitoring: Monitoring,
    gate: QueryGate,
    polled: Polled,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, changed } = this.#options;
    let waitMs = 0;
    while (!signal.aborted) {
      const result = await queryGate(monitoring, gate, signal, this.#options.defects);
      if (result === undefined) return;
      if (textOf(result) !== textOf(polled.result)) {
        polled.result = result;
        changed();
      }
      const { everyMs } = monitoring;
      waitMs = 'problem' in result ? Math.max(everyMs, Math.min(2 * waitMs, maxMs)) : everyMs;
      await clock.sleep(waitMs, signal);
    }
  }
}

/**
 * Runs a query. Resolves with undefined once the signal is aborted: a later response is dropped.
 */
async function queryGate(
  monitoring: Monitoring,
  gate: QueryGate,
  signal: AbortSignal,
  defects: PanicHandler | undefined,
): Promise<GateResult | undefined> {
  try {
    const result =
      gate.kind === 'promql'
        ? await monitoring.samples(gate.source, gate.query, signal)
        : await monitoring.firing(gate.source, gate.matchers, signal);
    return signal.aborted ? undefined : result;
  } catch (error) {
    if (signal.aborted) return undefined;
    // The port never rejects: this is a defect of ours.
    return {
      problem:
        defects?.report('MaintenancePlan', `gate ${gate.kind} of source ${gate.source}`, error) ??
        `a defect: ${errorText(error)}`,
    };
  }
}

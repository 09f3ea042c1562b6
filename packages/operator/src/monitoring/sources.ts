import type { Clock, Log } from '@drydock/utils';
import type { AlertSilencer, FiringAlert, Monitoring, QueryResult, Sample } from '../ports.ts';
import { firingOf } from './alertmanager.ts';
import { samplesOf } from './prometheus.ts';
import { ReloadedFile } from './reloaded-file.ts';
import { NodeSilences } from './silences.ts';
import { type QueryOutcome, Source, type SourceResult } from './source.ts';
import {
  defaultEveryMs,
  type MonitoringConfig,
  readMonitoringConfig,
  type SourceKind,
} from './sources-file.ts';

/** Counter of the queries of gates. */
interface MonitoringMeter {
  /** Counts one finished query. */
  asked(kind: 'promql' | 'alerts', result: QueryOutcome): void;
}

export type MonitoringTools = {
  readonly clock: Clock;
  readonly log: Log;
  readonly meter?: MonitoringMeter | undefined;
};

/** Milliseconds between checks of the file for silences to keep. */
const againMs = 60_000;

/** Sources of a file, which is read again while they are used. */
class ConfiguredMonitoring implements Monitoring, AlertSilencer {
  readonly #file: ReloadedFile<MonitoringConfig>;
  readonly #tools: MonitoringTools;
  #config: MonitoringConfig = { everyMs: defaultEveryMs, sources: [] };
  #sources: readonly Source[] = [];
  #silences: readonly NodeSilences[] = [];

  constructor(file: string, tools: MonitoringTools) {
    const { clock, log } = tools;
    const flag = '--monitoring-config';
    this.#file = new ReloadedFile({
      file,
      flag,
      consequence: 'all gates that use a source are unknown',
      read: readMonitoringConfig,
      clock,
      log,
    });
    this.#tools = tools;
    this.#refresh();
  }

  get everyMs(): number {
    return this.#config.everyMs;
  }

  samples(
    name: string,
    query: string,
    signal: AbortSignal,
  ): Promise<QueryResult<readonly Sample[]>> {
    return this.#ask('promql', 'prometheus', name, source => samplesOf(source, query, signal));
  }

  firing(
    name: string,
    matchers: readonly string[],
    signal: AbortSignal,
  ): Promise<QueryResult<readonly FiringAlert[]>> {
    return this.#ask('alerts', 'alertmanager', name, source =>
      firingOf(source, matchers, this.#tools.clock, signal),
    );
  }

  async silence(nodes: ReadonlySet<string>, signal: AbortSignal): Promise<number> {
    if (this.#refresh() !== undefined) return againMs;
    const again = await Promise.all(this.#silences.map(silences => silences.keep(nodes, signal)));
    return Math.min(againMs, ...again);
  }

  async #ask<T>(
    gate: 'promql' | 'alerts',
    kind: SourceKind,
    name: string,
    query: (source: Source) => Promise<SourceResult<T>>,
  ): Promise<QueryResult<T>> {
    const problem = this.#refresh();
    if (problem !== undefined)
      return { problem: `the sources of the operator are not known: ${problem}` };
    const source = this.#sources.find(({ config }) => config.kind === kind && config.name === name);
    if (source === undefined) return { problem: this.#unknown(kind, name) };
    const asked = await query(source);
    this.#tools.meter?.asked(gate, 'failure' in asked ? asked.failure.result : 'answered');
    return source.settle(asked);
  }

  #unknown(kind: SourceKind, name: string): string {
    const names = this.#sources.flatMap(({ config }) =>
      config.kind === kind ? [config.name] : [],
    );
    const known = names.length === 0 ? 'it knows none' : `it knows ${names.toSorted().join(', ')}`;
    return `the operator knows no source ${name} of kind ${kind}; ${known}: its administrator names them in the file of --monitoring-config, as it is shipped in the Secret drydock-monitoring`;
  }

  /** Reads the file again if due; returns its error, if any. */
  #refresh(): string | undefined {
    const { clock, log } = this.#tools;
    const current = this.#file.current;
    if ('problem' in current) return current.problem;
    if (current.content === this.#config) return undefined;
    this.#config = current.content;
    this.#sources = current.content.sources.map(one => new Source(one, clock, log));
    this.#silences = this.#sources.flatMap(source => {
      const { silences } = source.config;
      return silences === undefined ? [] : new NodeSilences(source, silences, { clock, log });
    });
    return undefined;
  }
}

/**
 * Returns the sources of the file of --monitoring-config, which is read again when it changes, as
 * are the files that it names. Never throws: an invalid file is logged, and reported to callers.
 */
export function openMonitoring(file: string, tools: MonitoringTools): Monitoring & AlertSilencer {
  return new ConfiguredMonitoring(file, tools);
}

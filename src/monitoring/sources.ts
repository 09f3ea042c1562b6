import type { Monitoring, Sample, Told } from '../operator/ports.ts';
import type { Clock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import { firingOf } from './alertmanager.ts';
import { samplesOf } from './prometheus.ts';
import { type Asked, type QueryResult, Source } from './source.ts';
import { MonitoringConfigError, readMonitoringConfig, type SourceKind, usualEveryMs } from './sources-file.ts';

/** Counts what gates have asked. */
interface MonitoringMeter {
  /** One question has ended. */
  asked(kind: 'promql' | 'alerts', result: QueryResult): void;
}

export type MonitoringTools = { readonly clock: Clock; readonly log: Log; readonly meter?: MonitoringMeter | undefined };

/** The file is read again this often: a mounted Secret is swapped by the kubelet, within a minute. */
const againAfterMs = 10_000;

/** The sources of a file, which is read again while they are used. */
class ConfiguredMonitoring implements Monitoring {
  readonly #file: string;
  readonly #tools: MonitoringTools;
  #everyMs = usualEveryMs;
  #sources: readonly Source[] = [];
  #problem: string | undefined;
  #seen = '';
  #readAtMs = Number.NEGATIVE_INFINITY;

  constructor(file: string, tools: MonitoringTools) {
    this.#file = file;
    this.#tools = tools;
    this.#refresh();
  }

  get everyMs(): number {
    return this.#everyMs;
  }

  samples(name: string, query: string, signal: AbortSignal): Promise<Told<readonly Sample[]>> {
    return this.#ask('promql', 'prometheus', name, source => samplesOf(source, query, signal));
  }

  firing(name: string, matchers: readonly string[], signal: AbortSignal): Promise<Told<readonly string[]>> {
    return this.#ask('alerts', 'alertmanager', name, source => firingOf(source, matchers, this.#tools.clock, signal));
  }

  async #ask<T>(gate: 'promql' | 'alerts', kind: SourceKind, name: string, query: (source: Source) => Promise<Asked<T>>): Promise<Told<T>> {
    this.#refresh();
    if (this.#problem !== undefined) return { problem: this.#problem };
    const source = this.#sources.find(({ config }) => config.kind === kind && config.name === name);
    if (source === undefined) return { problem: this.#unknown(kind, name) };
    const asked = await query(source);
    this.#tools.meter?.asked(gate, 'failure' in asked ? asked.failure.result : 'answered');
    return source.settle(asked);
  }

  #unknown(kind: SourceKind, name: string): string {
    const names = this.#sources.flatMap(({ config }) => (config.kind === kind ? [config.name] : []));
    const known = names.length === 0 ? 'it knows none' : `it knows ${names.toSorted().join(', ')}`;
    return `the operator knows no source ${name} of kind ${kind}; ${known}: its administrator names them in the file of --monitoring-config, as it is shipped in the Secret drydock-monitoring`;
  }

  /** A file that is wrong is told, and nobody is asked: it may have been meant to shut a source out. Whatever else the operator does goes on. */
  #refresh(): void {
    const { clock, log } = this.#tools;
    const nowMs = clock.now().epochMilliseconds;
    if (nowMs - this.#readAtMs < againAfterMs) return;
    this.#readAtMs = nowMs;
    try {
      this.#read();
      if (this.#problem !== undefined) log.info('the file of --monitoring-config can be read again', { file: this.#file });
      this.#problem = undefined;
    } catch (error) {
      if (!(error instanceof MonitoringConfigError)) throw error;
      if (this.#problem === undefined) log.warn('the file of --monitoring-config is wrong: no gate is told', { error: error.message });
      this.#problem = `the sources of the operator are not known: ${error.message}`;
    }
  }

  #read(): void {
    const { clock, log } = this.#tools;
    const config = readMonitoringConfig(this.#file);
    const seen = JSON.stringify(config);
    if (seen === this.#seen) return;
    this.#seen = seen;
    this.#everyMs = config.everyMs;
    this.#sources = config.sources.map(one => new Source(one, clock, log));
  }
}

/** The sources of the file of --monitoring-config, which is read again when it changes, as are the files that it names. Never throws: a file that is wrong is logged, and told to whoever asks. */
export const openMonitoring = (file: string, tools: MonitoringTools): Monitoring => new ConfiguredMonitoring(file, tools);

import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';
import type { Clock, HttpResponse, Log } from '@drydock/utils';
import type { AlertSilencer, FiringAlert, Monitoring, QueryResult, Sample } from '../ports.ts';
import { NodeSilences } from './silences.ts';
import {
  failureOf,
  jsonOf,
  malformedResponse,
  oneLine,
  type QueryOutcome,
  Source,
  type SourceResult,
} from './source.ts';
import {
  defaultEveryMs,
  type MonitoringConfig,
  ReloadedFile,
  readMonitoringConfig,
  type SourceKind,
} from './sources-file.ts';

/**
 * Client of Alertmanager's API v2
 * (https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml).
 */

async function get(
  source: Source,
  path: string,
  signal: AbortSignal,
): Promise<SourceResult<{ readonly response: HttpResponse; readonly body: Json }>> {
  const outcome = await source.call({ method: 'GET', path, headers: {} }, signal);
  if ('failure' in outcome) return outcome;
  if (outcome.value.status !== 200) return { failure: failureOf(source.title, outcome.value) };
  const body = jsonOf(outcome.value.text);
  return body === undefined
    ? malformedAlerts(source)
    : { value: { response: outcome.value, body } };
}

function malformedAlerts({ title }: Source): ReturnType<typeof malformedResponse> {
  return malformedResponse(`${title} does not respond like an Alertmanager`);
}

/** Returns the alert, or nothing for one that is silenced or inhibited. */
function alertIn(alert: Json): readonly FiringAlert[] {
  if (!isObject(alert) || !isObject(alert['status']) || alert['status']['state'] === 'suppressed')
    return [];
  const { alertname, ...labels } = isObject(alert['labels']) ? alert['labels'] : {};
  const name =
    typeof alertname === 'string' && alertname !== '' ? alertname : 'an alert without a name';
  return [{ name, about: Object.values(labels).filter(value => typeof value === 'string') }];
}

/**
 * Checks that Alertmanager is settled: one that has just started, or waits for its peers, has no
 * alerts yet, so an empty list means nothing. By its own clock.
 */
async function isSettled(
  source: Source,
  clock: Clock,
  signal: AbortSignal,
): Promise<SourceResult<true>> {
  const { title, config } = source;
  const outcome = await get(source, '/api/v2/status', signal);
  if ('failure' in outcome) return outcome;
  const { response, body } = outcome.value;
  const begun =
    isObject(body) && typeof body['uptime'] === 'string' ? Date.parse(body['uptime']) : Number.NaN;
  if (!isObject(body) || Number.isNaN(begun)) return malformedAlerts(source);
  if (isObject(body['cluster']) && body['cluster']['status'] === 'settling')
    return {
      failure: {
        result: 'failed',
        problem: `${title} waits for its peers, and may not know of all alerts`,
      },
    };
  const dateMs = Date.parse(response.headers['date'] ?? '');
  const nowMs = Number.isNaN(dateMs) ? clock.now().epochMilliseconds : dateMs;
  if (nowMs - begun >= config.startupGraceMs) return { value: true };
  const problem = `${title} has begun less than ${config.startupGraceMs / 1000} s ago, and may not know all alerts yet`;
  return { failure: { result: 'failed', problem } };
}

/**
 * Returns the alerts that all matchers match and that are neither silenced nor inhibited. Checks
 * afterwards that Alertmanager is settled, because it could restart in between. Rejects with the
 * signal's reason only.
 */
async function firingOf(
  source: Source,
  matchers: readonly string[],
  clock: Clock,
  signal: AbortSignal,
): Promise<SourceResult<readonly FiringAlert[]>> {
  const query = new URLSearchParams({ active: 'true', silenced: 'false', inhibited: 'false' });
  for (const matcher of matchers) query.append('filter', matcher);
  const outcome = await get(source, `/api/v2/alerts?${query.toString()}`, signal);
  if ('failure' in outcome) return outcome;
  const { body } = outcome.value;
  if (!Array.isArray(body)) return malformedAlerts(source);
  const alerts = (body as readonly Json[]).flatMap(alertIn);
  if (alerts.length > 0) return { value: alerts };
  const settled = await isSettled(source, clock, signal);
  return 'failure' in settled ? settled : { value: [] };
}

/**
 * Client of Prometheus' HTTP API
 * (https://prometheus.io/docs/prometheus/latest/querying/api/#instant-queries), which Thanos, Mimir
 * and VictoriaMetrics serve too.
 */

/** Limit of series; results are for people in the end. */
const maxSamples = 1000;

const specials: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Inf: Number.POSITIVE_INFINITY,
  '+Inf': Number.POSITIVE_INFINITY,
  '-Inf': Number.NEGATIVE_INFINITY,
};

/** Parses a value, which is text in JSON. Returns undefined for other text. */
function numberOf(text: Json | undefined): number | undefined {
  if (typeof text !== 'string') return undefined;
  if (Object.hasOwn(specials, text)) return specials[text];
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) ? Number(text) : undefined;
}

/** Returns the value of a pair of time and value. */
function pointOf(pair: Json | undefined): number | undefined {
  return Array.isArray(pair) ? numberOf(pair[1]) : undefined;
}

function labelsOf(metric: Json | undefined): Sample['labels'] {
  return isObject(metric)
    ? Object.fromEntries(
        Object.entries(metric).flatMap(([label, value]) =>
          typeof value === 'string' ? [[label, value] as const] : [],
        ),
      )
    : {};
}

function malformedSamples(title: string): ReturnType<typeof malformedResponse> {
  return malformedResponse(`${title} does not respond like a Prometheus`);
}

function vectorOf(title: string, series: readonly Json[]): SourceResult<readonly Sample[]> {
  if (series.length > maxSamples)
    return malformedResponse(
      `the query has more than ${maxSamples} series: aggregate them, for example by sum or max`,
    );
  const samples: Sample[] = [];
  for (const one of series) {
    if (!isObject(one)) return malformedSamples(title);
    if (one['histogram'] !== undefined)
      return malformedResponse(
        'the query has native histograms: ask for numbers, for example by histogram_quantile',
      );
    const value = pointOf(one['value']);
    if (value === undefined) return malformedSamples(title);
    samples.push({ labels: labelsOf(one['metric']), value });
  }
  return { value: samples };
}

function resultOf(
  title: string,
  { resultType, result }: JsonObject,
): SourceResult<readonly Sample[]> {
  if (resultType === 'vector' && Array.isArray(result))
    return vectorOf(title, result as readonly Json[]);
  if (resultType === 'scalar') {
    const value = pointOf(result);
    return value === undefined ? malformedSamples(title) : { value: [{ labels: {}, value }] };
  }
  return typeof resultType === 'string'
    ? malformedResponse(`the query is a ${oneLine(resultType)}, and has to be a vector or a scalar`)
    : malformedSamples(title);
}

/** Returns the warnings: part of the series may be missing. Mere hints are under `infos`. */
function warningIn({ warnings }: JsonObject): string | undefined {
  return Array.isArray(warnings) && warnings.length > 0
    ? oneLine(warnings.map(String).join('; '))
    : undefined;
}

/** Evaluates an instant query. Rejects with the signal's reason only. */
async function samplesOf(
  source: Source,
  query: string,
  signal: AbortSignal,
): Promise<SourceResult<readonly Sample[]>> {
  const { title, config } = source;
  const form = { query, timeout: `${config.timeoutMs / 1000}s`, limit: String(maxSamples + 1) };
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const body = new URLSearchParams(form).toString();
  const outcome = await source.call(
    { method: 'POST', path: '/api/v1/query', headers, body },
    signal,
  );
  if ('failure' in outcome) return outcome;
  const { status, text } = outcome.value;
  if (status !== 200) return { failure: failureOf(title, outcome.value) };
  const reply = jsonOf(text);
  if (!isObject(reply) || reply['status'] !== 'success' || !isObject(reply['data']))
    return malformedSamples(title);
  const result = resultOf(title, reply['data']);
  const warning = warningIn(reply);
  return 'failure' in result || warning === undefined
    ? result
    : malformedResponse(`${title} warns that its response may be incomplete: ${warning}`);
}

/** Counter of the queries of gates. */
interface MonitoringMeter {
  /** Counts one finished query. */
  queried(kind: 'promql' | 'alerts', result: QueryOutcome): void;
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
    const outcome = await query(source);
    this.#tools.meter?.queried(gate, 'failure' in outcome ? outcome.failure.result : 'answered');
    return source.settle(outcome);
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

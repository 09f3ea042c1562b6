import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';
import type { Sample } from '../ports.ts';
import { failureOf, jsonOf, malformedResponse, oneLine } from './refusal.ts';
import type { Source, SourceResult } from './source.ts';

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

function foreign(title: string): ReturnType<typeof malformedResponse> {
  return malformedResponse(`${title} does not respond like a Prometheus`);
}

function vectorOf(title: string, series: readonly Json[]): SourceResult<readonly Sample[]> {
  if (series.length > maxSamples)
    return malformedResponse(
      `the query has more than ${maxSamples} series: aggregate them, for example by sum or max`,
    );
  const samples: Sample[] = [];
  for (const one of series) {
    if (!isObject(one)) return foreign(title);
    if (one['histogram'] !== undefined)
      return malformedResponse(
        'the query has native histograms: ask for numbers, for example by histogram_quantile',
      );
    const value = pointOf(one['value']);
    if (value === undefined) return foreign(title);
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
    return value === undefined ? foreign(title) : { value: [{ labels: {}, value }] };
  }
  return typeof resultType === 'string'
    ? malformedResponse(`the query is a ${oneLine(resultType)}, and has to be a vector or a scalar`)
    : foreign(title);
}

/** Returns the warnings: part of the series may be missing. Mere hints are under `infos`. */
function warningIn({ warnings }: JsonObject): string | undefined {
  return Array.isArray(warnings) && warnings.length > 0
    ? oneLine(warnings.map(String).join('; '))
    : undefined;
}

/** Evaluates an instant query. Rejects with the signal's reason only. */
export async function samplesOf(
  source: Source,
  query: string,
  signal: AbortSignal,
): Promise<SourceResult<readonly Sample[]>> {
  const { title, config } = source;
  const form = { query, timeout: `${config.timeoutMs / 1000}s`, limit: String(maxSamples + 1) };
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const body = new URLSearchParams(form).toString();
  const asked = await source.call({ method: 'POST', path: '/api/v1/query', headers, body }, signal);
  if ('failure' in asked) return asked;
  const { status, text } = asked.value;
  if (status !== 200) return { failure: failureOf(title, asked.value) };
  const answer = jsonOf(text);
  if (!isObject(answer) || answer['status'] !== 'success' || !isObject(answer['data']))
    return foreign(title);
  const result = resultOf(title, answer['data']);
  const warning = warningIn(answer);
  return 'failure' in result || warning === undefined
    ? result
    : malformedResponse(`${title} warns that its response may be incomplete: ${warning}`);
}

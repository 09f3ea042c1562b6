import { isObject, type Json } from '@drydock/apimachinery';
import type { Clock, HttpResponse } from '@drydock/utils';
import type { FiringAlert } from '../ports.ts';
import { failureOf, jsonOf, malformedResponse } from './refusal.ts';
import type { Source, SourceResult } from './source.ts';

/**
 * Client of Alertmanager's API v2
 * (https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml).
 */

async function get(
  source: Source,
  path: string,
  signal: AbortSignal,
): Promise<SourceResult<{ readonly said: HttpResponse; readonly body: Json }>> {
  const asked = await source.call({ method: 'GET', path, headers: {} }, signal);
  if ('failure' in asked) return asked;
  if (asked.value.status !== 200) return { failure: failureOf(source.title, asked.value) };
  const body = jsonOf(asked.value.text);
  return body === undefined ? foreign(source) : { value: { said: asked.value, body } };
}

function foreign({ title }: Source): ReturnType<typeof malformedResponse> {
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
  const asked = await get(source, '/api/v2/status', signal);
  if ('failure' in asked) return asked;
  const { said, body } = asked.value;
  const begun =
    isObject(body) && typeof body['uptime'] === 'string' ? Date.parse(body['uptime']) : Number.NaN;
  if (!isObject(body) || Number.isNaN(begun)) return foreign(source);
  if (isObject(body['cluster']) && body['cluster']['status'] === 'settling')
    return {
      failure: {
        result: 'failed',
        problem: `${title} waits for its peers, and may not know of all alerts`,
      },
    };
  const told = Date.parse(said.headers['date'] ?? '');
  const nowMs = Number.isNaN(told) ? clock.now().epochMilliseconds : told;
  if (nowMs - begun >= config.startupGraceMs) return { value: true };
  const problem = `${title} has begun less than ${config.startupGraceMs / 1000} s ago, and may not know all alerts yet`;
  return { failure: { result: 'failed', problem } };
}

/**
 * Returns the alerts that all matchers match and that are neither silenced nor inhibited. Checks
 * afterwards that Alertmanager is settled, because it could restart in between. Rejects with the
 * signal's reason only.
 */
export async function firingOf(
  source: Source,
  matchers: readonly string[],
  clock: Clock,
  signal: AbortSignal,
): Promise<SourceResult<readonly FiringAlert[]>> {
  const query = new URLSearchParams({ active: 'true', silenced: 'false', inhibited: 'false' });
  for (const matcher of matchers) query.append('filter', matcher);
  const asked = await get(source, `/api/v2/alerts?${query.toString()}`, signal);
  if ('failure' in asked) return asked;
  const { body } = asked.value;
  if (!Array.isArray(body)) return foreign(source);
  const alerts = (body as readonly Json[]).flatMap(alertIn);
  if (alerts.length > 0) return { value: alerts };
  const settled = await isSettled(source, clock, signal);
  return 'failure' in settled ? settled : { value: [] };
}

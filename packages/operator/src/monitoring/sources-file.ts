import { resolve } from 'node:path';
import { ConfigFileError, type Reader, readConfigFile } from './config-reader.ts';
import { type HttpConfig, httpConfigOf, httpKeys } from './http-config.ts';
import { type SilenceConfig, silencesOf } from './silence-config.ts';

/** The file of --monitoring-config: the sources of metrics and alerts that plans may name. */

const sourceKinds = ['prometheus', 'alertmanager'] as const;
export type SourceKind = (typeof sourceKinds)[number];

export type SourceConfig = HttpConfig & {
  readonly kind: SourceKind;
  readonly name: string;
  /** URL without a trailing slash; may have a path. */
  readonly url: string;
  readonly timeoutMs: number;
  /**
   * Time since its start in which an Alertmanager may not have received all alerts yet, in
   * milliseconds.
   */
  readonly startupGraceMs: number;
  /** Settings for silences while a node is held, for an Alertmanager. */
  readonly silences?: SilenceConfig;
};

export type MonitoringConfig = {
  /** Milliseconds between two runs of the same query. */
  readonly everyMs: number;
  readonly sources: readonly SourceConfig[];
};

const sourceKeys = ['name', 'kind', 'url', 'timeout', 'startup_grace', 'silences', ...httpKeys];

/**
 * Default startup grace: Prometheus sends each alert to Alertmanager again every minute
 * (--rules.alert.resend-delay).
 */
const defaultGrace = '2m';

function sourceOf(reader: Reader): SourceConfig {
  const kind = reader.choice('kind', sourceKinds);
  const silences = silencesOf(reader);
  if (silences && kind !== 'alertmanager')
    throw reader.wrong('silences', 'is for sources of kind alertmanager');
  return {
    kind,
    ...(silences && { silences }),
    name: reader.name('name', 'default'),
    url: reader.url('url'),
    timeoutMs: reader.duration('timeout', '10s', 100, 60_000),
    startupGraceMs: reader.duration('startup_grace', defaultGrace, 0, 3_600_000),
    ...httpConfigOf(reader),
  };
}

/** Default interval of queries, in milliseconds. */
export const defaultEveryMs = 15_000;

/**
 * Reads the file; a missing file means no sources, because it comes from an optional Secret by
 * default. Throws a ConfigFileError that names what to correct, and where; an unknown key is an
 * error too.
 */
export function readMonitoringConfig(file: string): MonitoringConfig {
  const path = resolve(file);
  const reader = readConfigFile(path, ['poll_interval', 'sources']);
  if (reader === undefined) return { everyMs: defaultEveryMs, sources: [] };
  const sources = reader.list('sources', sourceKeys).map(sourceOf);
  const titles = sources.map(({ kind, name }) => `${kind} ${name}`);
  const twice = titles.find((title, index) => titles.indexOf(title) !== index);
  if (twice !== undefined) throw new ConfigFileError(`sources in ${path} has ${twice} twice`);
  return {
    everyMs: reader.duration('poll_interval', `${defaultEveryMs / 1000}s`, 1000, 3_600_000),
    sources,
  };
}

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
  /** Without a slash at its end; it may have a path. */
  readonly url: string;
  readonly timeoutMs: number;
  /** An Alertmanager that has begun more lately has not heard of all alerts yet. */
  readonly startupGraceMs: number;
  /** Of an Alertmanager: which alerts are silenced while a node is held. */
  readonly silences?: SilenceConfig;
};

export type MonitoringConfig = {
  /** Milliseconds between two times that the same is asked. */
  readonly everyMs: number;
  readonly sources: readonly SourceConfig[];
};

const sourceKeys = ['name', 'kind', 'url', 'timeout', 'startup_grace', 'silences', ...httpKeys];

/** Prometheus tells Alertmanager of each alert again every minute (--rules.alert.resend-delay). */
const defaultGrace = '2m';

const sourceOf = (reader: Reader): SourceConfig => {
  const kind = reader.choice('kind', sourceKinds);
  const silences = silencesOf(reader);
  if (silences && kind !== 'alertmanager') throw reader.wrong('silences', 'is for sources of kind alertmanager');
  return {
    kind,
    ...(silences && { silences }),
    name: reader.name('name', 'default'),
    url: reader.url('url'),
    timeoutMs: reader.duration('timeout', '10s', 100, 60_000),
    startupGraceMs: reader.duration('startup_grace', defaultGrace, 0, 3_600_000),
    ...httpConfigOf(reader),
  };
};

/** How often the same is asked, where the file says nothing else. */
export const defaultEveryMs = 15_000;

/**
 * Reads the file; one that is not there has no sources: as it is shipped it comes from a Secret that need not exist. Throws a ConfigFileError that says what is to be
 * mended, and where; a key that is not known is such a thing too.
 */
export const readMonitoringConfig = (file: string): MonitoringConfig => {
  const path = resolve(file);
  const reader = readConfigFile(path, ['poll_interval', 'sources']);
  if (reader === undefined) return { everyMs: defaultEveryMs, sources: [] };
  const sources = reader.list('sources', sourceKeys).map(sourceOf);
  const titles = sources.map(({ kind, name }) => `${kind} ${name}`);
  const twice = titles.find((title, index) => titles.indexOf(title) !== index);
  if (twice !== undefined) throw new ConfigFileError(`sources in ${path} has ${twice} twice`);
  return { everyMs: reader.duration('poll_interval', `${defaultEveryMs / 1000}s`, 1000, 3_600_000), sources };
};

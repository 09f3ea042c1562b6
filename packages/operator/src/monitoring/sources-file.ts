import { resolve } from 'node:path';
import type { Clock, Log } from '@drydock/utils';
import {
  ConfigFileError,
  type HttpConfig,
  httpConfigOf,
  httpKeys,
  type Reader,
  readConfigFile,
} from './http-client.ts';

/** Settings for silencing alerts of an Alertmanager while a node is held. */

type SilenceMatcher = {
  readonly name: string;
  readonly value: string;
  readonly isRegex: boolean;
  readonly isEqual: boolean;
};

export type SilenceConfig = {
  /** Name that distinguishes the silences of several clusters. */
  readonly cluster: string;
  /** Matchers, all of which must match; {{node}} stands for the name of the node. */
  readonly matchers: readonly SilenceMatcher[];
  readonly leaseMs: number;
};

/**
 * Parses a matcher in Alertmanager's syntax, with quotes
 * (prometheus.io/docs/alerting/latest/configuration/#matcher).
 */
function matcherOf(text: string): SilenceMatcher | undefined {
  const [, name, operator, value] =
    /^\s*([A-Za-z_:][A-Za-z0-9_:]*)\s*(=~|!~|!=|=)\s*"([^"\\]*)"\s*$/.exec(text) ?? [];
  if (name === undefined || operator === undefined || value === undefined) return undefined;
  return { name, value, isRegex: operator.endsWith('~'), isEqual: operator.startsWith('=') };
}

function isOfNode({ value, isEqual }: SilenceMatcher): boolean {
  return isEqual && value.includes('{{node}}');
}

/**
 * Returns the settings; undefined where the source has none. Throws a ConfigFileError when no
 * matcher contains the node, because every alert would be silenced.
 */
function silencesOf(reader: Reader): SilenceConfig | undefined {
  if (!reader.has('silences')) return undefined;
  const silences = reader.inner('silences', ['cluster', 'matchers', 'lease']);
  const matchers = silences.texts('matchers', ['node="{{node}}"']).map(matcherOf);
  const read = matchers.filter(matcher => matcher !== undefined);
  if (read.length < matchers.length)
    throw silences.wrong('matchers', 'has something that is no matcher, such as node="{{node}}"');
  if (!read.some(isOfNode))
    throw silences.wrong('matchers', 'has no = or =~ with {{node}}: every alert would be silent');
  return {
    cluster: silences.name('cluster', 'default'),
    matchers: read,
    leaseMs: silences.duration('lease', '15m', 60_000, 86_400_000),
  };
}

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

/**
 * Minimum time between reads of the file, in milliseconds; the kubelet replaces a mounted Secret
 * within a minute.
 */
const againAfterMs = 10_000;

type ReloadedFileOptions<T> = {
  readonly file: string;
  /** Flag that names the file, for the log. */
  readonly flag: string;
  /** Consequence of an invalid file, for the log. */
  readonly consequence: string;
  /** Reads the file. Throws a ConfigFileError. */
  readonly read: (file: string) => T;
  readonly clock: Clock;
  readonly log: Log;
};

/**
 * A configuration file that is read again while it is used. An invalid file has no content until it
 * is corrected: the change may have been meant to exclude a receiver. The error is logged once, and
 * the operator's other work continues.
 */
export class ReloadedFile<T> {
  readonly #options: ReloadedFileOptions<T>;
  #content: T | undefined;
  #problem: string | undefined;
  #seen: string | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: ReloadedFileOptions<T>) {
    this.#options = options;
  }

  /** Returns the current content, the same object as long as it is unchanged; or the error. */
  get current(): { readonly content: T } | { readonly problem: string } {
    this.#refresh();
    if (this.#problem !== undefined) return { problem: this.#problem };
    return { content: this.#content as T };
  }

  #refresh(): void {
    const { clock, log, file, flag, consequence } = this.#options;
    const nowMs = clock.now().epochMilliseconds;
    if (nowMs - this.#readAtMs < againAfterMs) return;
    this.#readAtMs = nowMs;
    try {
      this.#read();
      if (this.#problem !== undefined) log.info(`the file of ${flag} can be read again`, { file });
      this.#problem = undefined;
    } catch (error) {
      if (!(error instanceof ConfigFileError)) throw error;
      if (this.#problem === undefined)
        log.warn(`failed to read the file of ${flag}: ${consequence}`, { error: error.message });
      this.#problem = error.message;
    }
  }

  #read(): void {
    const content = this.#options.read(this.#options.file);
    const seen = JSON.stringify(content);
    if (seen === this.#seen) return;
    this.#seen = seen;
    this.#content = content;
  }
}

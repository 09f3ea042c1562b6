import type { Reader } from './config-reader.ts';

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
export function silencesOf(reader: Reader): SilenceConfig | undefined {
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

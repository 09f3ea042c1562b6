import type { MaintenanceStatus } from '@drydock/apis/schema';
import type { RehearsalForecast } from '@drydock/rehearse/report';

/** How one node really went. */
export type Actual = {
  readonly node: string;
  readonly seconds?: number;
  readonly status: MaintenanceStatus;
};

export type Compared = {
  readonly scenario: string;
  readonly what: string;
  /** Seconds until the last node is drained; missing where some are not. */
  readonly predicted?: number;
  readonly predicted90?: number;
  readonly actual?: number;
  readonly named: number;
  /** Real ones that came in no run, and those that came as a rule and not really. */
  readonly missed: readonly string[];
  readonly invented: readonly string[];
  /** Nodes drained in the predicted order; of those that are a second apart. */
  readonly order: { readonly right: number; readonly of: number };
  readonly good: boolean;
};

/** Pods of one Deployment are alike: which of them is left over is chance. */
function workloadOf(pod: string): string {
  return pod.replace(/-[a-z0-9]{6,10}-[a-z0-9]{5}$/, '');
}

function counted(all: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const one of all) counts.set(one, (counts.get(one) ?? 0) + 1);
  return counts;
}

function less(all: readonly string[], other: readonly string[]): readonly string[] {
  const known = counted(other);
  return [...counted(all)].flatMap(([text, count]) =>
    count > (known.get(text) ?? 0) ? [text] : [],
  );
}

const plain = ['Terminating', 'EarlierWave'];

function actualBlockers(all: readonly Actual[]): readonly string[] {
  return all.flatMap(({ node, status }) =>
    (status.phase === 'Drained' ? [] : (status.blockers ?? []))
      .filter(({ reason }) => !plain.includes(reason))
      .map(
        ({ reason, pod, volume = '' }) =>
          `${node} ${reason} ${pod ? workloadOf(`${pod.namespace}/${pod.name}`) : volume}`,
      ),
  );
}

type Foreseen = { readonly inAny: readonly string[]; readonly asARule: readonly string[] };

/**
 * A rehearsal says in how many of its runs each blocker came: what comes in few of them is told as
 * a chance, and only what comes as a rule is predicted.
 * Which pod of a workload is left over differs from run to run, so it goes by how many of it are
 * left on the average.
 */
function foreseen({ blockers, runs }: RehearsalForecast): Foreseen {
  const sums = new Map<string, number>();
  const inAny = blockers.map(({ node, reason, what = '', runs: those }) => {
    const text = `${node} ${reason} ${workloadOf(what)}`;
    sums.set(text, (sums.get(text) ?? 0) + those);
    return text;
  });
  const asARule = [...sums].flatMap(([text, sum]) =>
    Array.from({ length: Math.ceil(sum / runs - 0.5) }, () => text),
  );
  return { inAny, asARule };
}

/**
 * Pairs of nodes whose real ends are a second apart or more, and how many of them the rehearsal has
 * in the same order.
 */
function orderOf(forecast: RehearsalForecast, all: readonly Actual[]): Compared['order'] {
  const predicted = new Map(
    forecast.nodes.map(({ node, end }) => [node, end?.medianMs ?? Number.MAX_VALUE]),
  );
  const pairs = all.flatMap((one, index) =>
    all.slice(index + 1).map(other => [one, other] as const),
  );
  const apart = pairs.filter(
    ([one, other]) => Math.abs((one.seconds ?? 1e6) - (other.seconds ?? 1e6)) >= 1,
  );
  const right = apart.filter(([one, other]) => {
    const [a, b] = [predicted.get(one.node) ?? 0, predicted.get(other.node) ?? 0];
    return a === b || a < b === (one.seconds ?? 1e6) < (other.seconds ?? 1e6);
  });
  return { right: right.length, of: apart.length };
}

export function compare(
  scenario: string,
  what: string,
  forecast: RehearsalForecast,
  all: readonly Actual[],
): Compared {
  const [real, said] = [actualBlockers(all), foreseen(forecast)];
  const ends = all.flatMap(({ seconds }) => seconds ?? []);
  const actual = ends.length === all.length ? Math.max(...ends) : undefined;
  const predicted = forecast.end && forecast.end.medianMs / 1000;
  const [missed, invented] = [less(real, said.inAny), less(said.asARule, real)];
  const isNear =
    actual === undefined || predicted === undefined
      ? actual === predicted
      : Math.abs(actual - predicted) <= Math.max(2, actual / 10);
  return {
    scenario,
    what,
    ...(predicted !== undefined && { predicted, predicted90: (forecast.end?.p90Ms ?? 0) / 1000 }),
    ...(actual !== undefined && { actual }),
    named: real.length - missed.length,
    missed,
    invented,
    order: orderOf(forecast, all),
    good: isNear && missed.length === 0 && invented.length === 0,
  };
}

function secondsText(seconds: number | undefined): string {
  return seconds === undefined ? 'never' : `${seconds.toFixed(1)} s`;
}

/** For docs/rehearse.md. */
export function tableOf(all: readonly Compared[]): string {
  const rows = all.map(one => {
    const blockers =
      one.named + one.missed.length === 0 && one.invented.length === 0
        ? 'none'
        : `${one.named} of ${one.named + one.missed.length}`;
    const wrong = [
      ...one.missed.map(text => `missed: ${text}`),
      ...one.invented.map(text => `invented: ${text}`),
    ].join('; ');
    const order = one.order.of === 0 ? '' : `${one.order.right} of ${one.order.of}`;
    const cells = [
      `${one.scenario}: ${one.what}`,
      secondsText(one.predicted),
      one.predicted90 === undefined ? '' : secondsText(one.predicted90),
      secondsText(one.actual),
      `${blockers}${wrong === '' ? '' : ` (${wrong})`}`,
      order,
      one.good ? 'yes' : 'no',
    ];
    return `| ${cells.join(' | ')} |`;
  });
  const head = [
    'scenario',
    'predicted',
    '9 of 10',
    'actual',
    'blockers named',
    'pairs of nodes in order',
    'within the goal',
  ];
  return [`| ${head.join(' | ')} |`, `|${'---|'.repeat(head.length)}`, ...rows].join('\n');
}

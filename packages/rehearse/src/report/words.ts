import { joinLimited, joinRows } from '@drydock/apimachinery';
import { defaultLimits } from '@drydock/kube-sim/controllers';
import { columns } from '@drydock/utils';
import type { LackedThing, UnschedulablePod } from '../simulate/unschedulable-pod.ts';
import { enough } from '../timings/learn.ts';
import type {
  Delay,
  ForecastBlocker,
  NodeForecast,
  Quantiles,
  RehearsalForecast,
} from './forecast.ts';

/** The forecast as text. */

/** Formats a duration: `42s`, `3m05s`, `2h10m`, `3d04h`. */
export function durationText(ms: number): string {
  const all = Math.round(ms / 1000);
  const two = (value: number): string => String(value).padStart(2, '0');
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)}s`;
  if (all < 60) return `${all}s`;
  if (all < 3600) return `${Math.floor(all / 60)}m${two(all % 60)}s`;
  if (all < 86_400) return `${Math.floor(all / 3600)}h${two(Math.floor(all / 60) % 60)}m`;
  return `${Math.floor(all / 86_400)}d${two(Math.floor(all / 3600) % 24)}h`;
}

function timeAt(start: string, ms: number): string {
  return Temporal.Instant.fromEpochMilliseconds(
    Temporal.Instant.from(start).epochMilliseconds + Math.round(ms),
  ).toString({
    smallestUnit: 'second',
  });
}

const limit = 10;

function plural(count: number, one: string, more = `${one}s`): string {
  return `${count} ${count === 1 ? one : more}`;
}

function thingText(what: LackedThing): string {
  switch (what.kind) {
    case 'amount':
      return `too little ${what.resource}`;
    case 'cordon':
      return 'cordoned';
    case 'taints':
      return 'taints that it does not tolerate';
    case 'selector':
      return 'not of those that its node selector or affinity picks';
    case 'volume':
      return 'out of reach of its volume (zone or node)';
    case 'spread':
      return 'against its topology spread';
    case 'affinity':
      return 'without the pods that it wants to be near';
    case 'anti-affinity':
      return 'with pods that it must not be near';
    case 'ports':
      return 'without a free port';
    case 'other':
      return what.text;
    default:
      return what satisfies never;
  }
}

/** Returns why no node takes an unscheduled pod, in one sentence. */
function unschedulablePodText({ pod, lacks, asks }: UnschedulablePod): string {
  const nodes = lacks.map(({ nodes, what }) => `${plural(nodes, 'node')} ${thingText(what)}`);
  return `${pod} finds no node${nodes.length === 0 ? '' : `: ${nodes.join(', ')}`}${asks === '' ? '' : ` (it asks for ${asks})`}`;
}

function helpFor(lacks: readonly UnschedulablePod[]): string | undefined {
  const kinds = new Set(lacks.flatMap(({ lacks: all }) => all.map(({ what }) => what.kind)));
  if (kinds.has('volume'))
    return 'its volume can be used on the drained node or zone only: bring another node there, or move the data';
  if (kinds.has('amount'))
    return 'add a node, free some of what is lacking, or drain fewer nodes at a time';
  if (kinds.has('selector') || kinds.has('taints'))
    return 'add a node that the pod may run on, or drain fewer nodes at a time';
  return kinds.size === 0 ? undefined : 'drain fewer nodes at a time, or add a node';
}

function whyOf({ lacks = [], unready = [] }: ForecastBlocker): readonly string[] {
  const help = helpFor(lacks);
  return [
    ...lacks
      .slice(0, 3)
      .map(unschedulablePod => `because ${unschedulablePodText(unschedulablePod)}`),
    ...(lacks.length > 3 ? [`and ${lacks.length - 3} more pods find no node`] : []),
    ...(unready.length > 0
      ? [`because ${joinLimited(unready, 3)} ${unready.length === 1 ? 'is' : 'are'} not ready`]
      : []),
    ...(help === undefined ? [] : [`help: ${help}`]),
  ];
}

/** Returns one text for all blockers with the same message. */
function blockerLines(blockers: readonly ForecastBlocker[], runs: number): readonly string[] {
  const grouped = Map.groupBy(blockers, one =>
    [one.node, one.reason, one.message, ...whyOf(one)].join('\n'),
  );
  return [...grouped.values()].flatMap(group => {
    const [first] = group;
    if (first === undefined) return [];
    const { node, reason, message, remedy } = first;
    const whats = group.flatMap(({ what }) => what ?? []).sort();
    const often = first.runs === runs ? '' : ` (in ${first.runs} of ${runs} runs)`;
    const why = whyOf(first);
    const isHelped = why.some(line => line.startsWith('help: '));
    return [
      `  ${node}: ${whats.length === 0 ? '' : `${joinLimited(whats, 5)}: `}${message} (${reason})${often}`,
      ...why.map(line => `      ${line}`),
      ...(remedy === undefined || isHelped ? [] : [`      help: ${remedy}`]),
    ];
  });
}

function behindLines({ behind }: RehearsalForecast): readonly string[] {
  if (behind === undefined) return [];
  return behind.length === 0 ? ['  nothing'] : blockerLines(behind, 1);
}

function bounded<T>(all: readonly T[], text: (one: T) => string): readonly string[] {
  return [
    ...all.slice(0, limit).map(text),
    ...(all.length > limit ? [`  and ${all.length - limit} more`] : []),
  ];
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', title, ...lines];
}

function spreadText(snapshotTime: string, { medianMs, p90Ms }: Quantiles): string {
  return `in ${durationText(medianMs)} (9 of 10 times within ${durationText(p90Ms)}); begun now, at ${timeAt(snapshotTime, medianMs)}, by ${timeAt(snapshotTime, p90Ms)}`;
}

function headline({ nodes, runs, finishes, end, snapshotTime }: RehearsalForecast): string {
  const never = nodes.filter(({ drainedIn }) => drainedIn === 0).map(({ node }) => node);
  const sometimes = nodes
    .filter(({ drainedIn }) => drainedIn > 0 && drainedIn < runs)
    .map(({ node }) => node);
  const what =
    nodes.length === 1
      ? `${nodes[0]?.node ?? ''} is drained`
      : `All ${nodes.length} nodes are drained`;
  if (finishes && end !== undefined) return `${what} ${spreadText(snapshotTime, end)}.`;
  return [
    ...(never.length > 0
      ? [
          `It does not finish: ${joinLimited(never.sort(), limit)} ${never.length === 1 ? 'is' : 'are'} not drained.`,
        ]
      : []),
    ...(sometimes.length > 0 ? [`Not in every run: ${joinLimited(sometimes.sort(), limit)}.`] : []),
  ].join(' ');
}

function rowOf(runs: number) {
  return ({ node, drainedIn, end, pods, otherwise }: NodeForecast): readonly string[] => [
    node,
    end === undefined ? 'never' : durationText(end.medianMs),
    end === undefined ? '' : durationText(end.p90Ms),
    String(pods),
    drainedIn === runs
      ? ''
      : `${otherwise ?? 'stuck'}${drainedIn > 0 ? ` in ${runs - drainedIn} of ${runs}` : ''}`,
  ];
}

function table(nodes: readonly NodeForecast[], runs: number, end: string): readonly string[] {
  if (nodes.length === 0) return [];
  const shown =
    nodes.length <= 2 * limit ? nodes : [...nodes.slice(0, limit), ...nodes.slice(-limit)];
  const rows = [['NODE', end, '9 OF 10', 'PODS', ''], ...shown.map(rowOf(runs))];
  const lines = columns(rows, 2);
  const left = nodes.length - shown.length;
  return left === 0
    ? lines
    : [...lines.slice(0, limit + 1), `  and ${left} more in between`, ...lines.slice(limit + 1)];
}

function delayText({ reason, about, message, pods, nodes, longestMs }: Delay): string {
  const who = pods === 0 ? joinLimited(nodes, 3) : plural(pods, 'pod');
  const what =
    reason === 'DisruptionBudget'
      ? `budget ${about}`
      : pods === 0
        ? message
        : about === reason
          ? message
          : `${about}: ${message}`;
  return `  ${what} (${reason}): ${who} waited, up to ${durationText(longestMs)}`;
}

/** Limit of named pods, in the order of their eviction. */
const maxPods = 20;

function podLines({ typical: { leaves } }: RehearsalForecast): readonly string[] {
  const text = leaves.slice(0, maxPods).map(({ pod, node, atMs, goneMs, again }) => {
    const gone = goneMs === undefined ? 'does not go' : `gone at ${durationText(goneMs)}`;
    return `  ${durationText(atMs).padEnd(7)} ${pod} from ${node}, ${gone}${again ? ', moved again' : ''}`;
  });
  return leaves.length > maxPods
    ? [...text, `  and ${leaves.length - maxPods} more: -o json`]
    : text;
}

function aboutText({ snapshotTime, copied, runs, learned }: RehearsalForecast): string {
  const from = `${plural(copied.nodes, 'node')}, ${plural(copied.pods, 'pod')}, ${plural(copied.budgets, 'budget')}`;
  const times = `${plural(learned.starts, 'start')} and ${plural(learned.stops, 'stop')} of pods`;
  return `A copy of ${snapshotTime.slice(0, 19)}Z (${from}), played ${plural(runs, 'time')}; times learned from ${times}.`;
}

function controlPlaneText({ learned: { controlPlane } }: RehearsalForecast): string {
  const { source, qps, podsPerSecond } = controlPlane;
  const pods =
    podsPerSecond === undefined ? '' : `, and ${podsPerSecond} pods a second became ready`;
  if (source === 'learned')
    return `  the controllers are not held to ${defaultLimits.controllers.qps} requests a second: pods came faster than that${pods}`;
  const why =
    source === 'given'
      ? '--kube-api-qps'
      : "Kubernetes' default, and no pods of the copy came faster; --kube-api-qps says otherwise";
  return `  each controller of the cluster makes up to ${qps ?? 0} requests a second (${why})`;
}

/** Returns the workloads whose durations are guessed, and the basis of the guess. */
function unseenLines({
  learned: { starts, stops, unseenStarts, unseenStops },
}: RehearsalForecast): readonly string[] {
  const line = (workloads: readonly string[], what: string, by: string): readonly string[] =>
    workloads.length === 0
      ? []
      : [
          `  how long pods take to ${what} was not seen often enough, and is ${by}, for ${joinLimited(workloads, 3)}`,
        ];
  const others = 'taken from others';
  return [
    ...line(unseenStarts, 'start', starts < enough ? 'guessed (--start-time)' : others),
    ...line(unseenStops, 'end', stops < enough ? 'guessed (--stop-time)' : others),
  ];
}

/** Wording that differs in forecasts of plans. */
type Wording = {
  /** Heading of the column with the times of nodes. */
  readonly end: string;
  /** Additional notes. */
  readonly notes: readonly string[];
};

/** Returns the sections below the first sentence, as lines. */
export function forecastSections(
  all: RehearsalForecast,
  { end, notes: more }: Wording,
): readonly string[] {
  const { nodes, runs, blockers, delays, moves, levels, lacks, notes } = all;
  const known = new Set(blockers.flatMap(one => one.lacks ?? []).map(({ pod }) => pod));
  const homeless = lacks.filter(({ pod }) => !known.has(pod));
  const levelText = levels.map(
    ({ workload, lowest, desired, atMs }) =>
      `  ${workload}: ${lowest} of ${desired} ready, after ${durationText(atMs)}`,
  );
  return [
    aboutText(all),
    '',
    ...table(nodes, runs, end),
    ...section('What keeps it from finishing:', blockerLines(blockers, runs)),
    ...section(
      'What else would be in the way if the policy let all these pods go:',
      behindLines(all),
    ),
    ...section('What holds it up:', bounded(delays, delayText)),
    ...section(
      'Pods that are left without a node:',
      bounded(homeless, one => `  ${unschedulablePodText(one)}`),
    ),
    ...section(
      'Lowest availability on the way:',
      bounded(levelText, one => one),
    ),
    ...section(
      `Pods in the order in which they go (${moves.gone}, of which ${moves.again} are moved again):`,
      podLines(all),
    ),
    ...section('To be known:', [
      ...more,
      ...unseenLines(all),
      controlPlaneText(all),
      ...notes.map(note => `  ${note}`),
    ]),
  ];
}

/** Returns the whole forecast as bounded lines, the same for the same forecast. */
export function forecastText(all: RehearsalForecast): string {
  return joinRows([headline(all), ...forecastSections(all, { end: 'DRAINED AFTER', notes: [] })]);
}

import type { PlanForecastView, PlanPointView, PlanSummary } from '../../src/scene.ts';
import { progressOf, span } from './words.ts';

/** History of a plan's run as a chart and in words, with its forecast. Pure. */

/** Size of the chart in its own units. */
export const chartSize = { width: 300, height: 84 } as const;

/** A line or an area: `x,y x,y`. */
type Path = string;

export type RolloutChart = {
  /** Done nodes as observed; `unseen` is the part before the observation. */
  readonly seen: Path;
  readonly unseen?: Path;
  /**
   * Line from the present to the end that half of the rehearsed runs reach; the area extends to the
   * end that nine in ten reach.
   */
  readonly foretold?: Path;
  readonly likely?: Path;
  /** Positions of the end by the first rehearsal, and of the deadline. */
  readonly firstEnd?: number;
  readonly deadline?: number;
  readonly now?: number;
  /** Times at the two ends, in milliseconds since 1970. */
  readonly from: number;
  readonly to: number;
};

function msOf(time: string | undefined): number | undefined {
  const ms = Date.parse(time ?? '');
  return Number.isNaN(ms) ? undefined : ms;
}

function isOver({ phase }: PlanSummary): boolean {
  return phase === 'Complete' || phase === 'Aborted';
}

/** Returns the right end of the drawn line: for a run that is over, its last change. */
function currentMs(plan: PlanSummary, nowMs: number): number {
  return isOver(plan) ? (msOf(plan.history.at(-1)?.at) ?? nowMs) : nowMs;
}

/** Returns the ends of a forecast that are still to come. */
function endsOf(plan: PlanSummary): { readonly end?: number; readonly latest?: number } {
  const end = isOver(plan) ? undefined : msOf(plan.forecast?.end);
  return end === undefined
    ? {}
    : { end, latest: Math.max(end, msOf(plan.forecast?.latestEnd) ?? end) };
}

function pathOf(points: readonly (readonly [x: number, y: number])[]): Path {
  return points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(' ');
}

/** Returns the steps of a line: nodes are done one after the other. */
function stepsOf(
  history: readonly PlanPointView[],
  until: number,
): readonly (readonly [ms: number, done: number])[] {
  const steps = history.flatMap(({ at, done }, index) => {
    const [ms, before] = [msOf(at) ?? until, history[index - 1]?.done];
    return before === undefined
      ? [[ms, done] as const]
      : [[ms, before] as const, [ms, done] as const];
  });
  return [...steps, [until, history.at(-1)?.done ?? 0]];
}

/** Returns the chart; undefined when no run has started, or there is nothing to compare. */
export function chartOf(plan: PlanSummary, nowMs: number): RolloutChart | undefined {
  const { all } = progressOf(plan);
  const from = msOf(plan.startedAt);
  const [first] = plan.history;
  if (from === undefined || first === undefined || all === 0) return undefined;
  const current = Math.max(currentMs(plan, nowMs), from);
  const { end, latest } = endsOf(plan);
  const [firstEnd, deadline] = [msOf(plan.forecast?.firstEnd), msOf(plan.deadline)];
  const to = Math.max(current, from + 1000, latest ?? 0, firstEnd ?? 0, deadline ?? 0);
  const x = (ms: number): number =>
    ((Math.min(Math.max(ms, from), to) - from) / (to - from)) * chartSize.width;
  const y = (done: number): number =>
    chartSize.height - (Math.min(done, all) / all) * chartSize.height;
  const steps = stepsOf(plan.history, current);
  const [startMs, startDone] = steps[0] ?? [from, 0];
  const here = [x(current), y(steps.at(-1)?.[1] ?? 0)] as const;
  const isAhead = end !== undefined && latest !== undefined && latest > current;
  return {
    seen: pathOf(steps.map(([ms, done]) => [x(ms), y(done)])),
    ...(startMs > from &&
      startDone > 0 && {
        unseen: pathOf([
          [0, y(0)],
          [x(startMs), y(startDone)],
        ]),
      }),
    ...(isAhead && {
      foretold: pathOf([here, [x(end), 0]]),
      likely: pathOf([here, [x(end), 0], [x(latest), 0]]),
    }),
    ...(firstEnd !== undefined && { firstEnd: x(firstEnd) }),
    ...(deadline !== undefined && { deadline: x(deadline) }),
    ...(!isOver(plan) && { now: x(current) }),
    from,
    to,
  };
}

/** Smallest drift that is shown, in seconds; smaller ones are chance. */
const leastDrift = 30;

function driftText({ end, firstEnd }: PlanForecastView): string {
  const drift = ((msOf(end) ?? 0) - (msOf(firstEnd) ?? msOf(end) ?? 0)) / 1000;
  return Math.abs(drift) < leastDrift
    ? ''
    : `, ${span(Math.abs(drift))} ${drift > 0 ? 'later' : 'earlier'} than first forecast`;
}

/** Formatter of a time of day, with the date on another day. */
export type TimeWords = (ms: number) => string;

/** Returns a formatter for times in the user's time zone unless another is given. */
export function timeWords(nowMs: number, timeZone?: string): TimeWords {
  const common = {
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    ...(timeZone !== undefined && { timeZone }),
  } as const;
  const [day, clock] = [
    new Intl.DateTimeFormat('en', {
      dateStyle: 'short',
      ...(timeZone !== undefined && { timeZone }),
    }),
    new Intl.DateTimeFormat('en', common),
  ];
  const far = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', ...common });
  return ms => (day.format(ms) === day.format(nowMs) ? clock : far).format(ms);
}

function endText(forecast: PlanForecastView, when: TimeWords): string {
  const [end, latest] = [msOf(forecast.end), msOf(forecast.latestEnd)];
  if (end === undefined) return forecast.finishes ? 'no node is left' : 'the plan does not finish';
  return `the plan ends at ${when(end)}${driftText(forecast)}${latest === undefined ? '' : `; 9 of 10 simulated runs end by ${when(latest)}`}`;
}

function movesText({ podsMoved, podsMovedAgain, windows }: PlanForecastView): string {
  return `${podsMoved.toLocaleString('en')} ${podsMoved === 1 ? 'pod' : 'pods'} moved, ${podsMovedAgain} of them again${windows > 1 ? `, in ${windows} openings of the windows` : ''}`;
}

/** Returns the forecast in sentences; for a run that is over, the past one. */
export function forecastTexts(plan: PlanSummary, when: TimeWords): readonly string[] {
  const { forecast, history } = plan;
  if (forecast === undefined) return [];
  const [foretold, over] = [msOf(forecast.firstEnd ?? forecast.end), msOf(history.at(-1)?.at)];
  if (isOver(plan))
    return foretold === undefined || over === undefined
      ? []
      : [`Ended at ${when(over)}; the first forecast was ${when(foretold)}.`];
  const at = msOf(forecast.rehearsedAt);
  const [worst] = forecast.lowest;
  return [
    `Forecast${at === undefined ? '' : ` of ${when(at)}`}: ${endText(forecast, when)}.`,
    `${movesText(forecast)}${worst === undefined ? '' : `; lowest availability: ${worst.workload}, ${worst.ready} of ${worst.replicas} ready`}.`,
  ];
}

/** Returns the chart in words, for screen readers. */
export function chartText(plan: PlanSummary, when: TimeWords, { from, to }: RolloutChart): string {
  const { done, all } = progressOf(plan);
  const [end, deadline] = [endsOf(plan).end, msOf(plan.deadline)];
  const ahead = end === undefined ? '' : `, forecast to end at ${when(end)}`;
  const due = deadline === undefined ? '' : `, deadline ${when(deadline)}`;
  return `Nodes done from ${when(from)} to ${when(to)}: ${done} of ${all}${ahead}${due}`;
}

import type { ContenderName } from './contenders/contender.ts';
import type { Measurement } from './measure.ts';
import { podsIn, scenarioNamed } from './scenarios.ts';

/** All runs of one contender in one scenario, as medians. */
export type Summary = {
  readonly scenario: string;
  readonly contender: ContenderName;
  readonly runs: number;
  readonly pods: number;
  readonly seconds: number;
  readonly slowest: number;
  readonly emptySeconds: number;
  /** To the floor of the same run of the bench. */
  readonly ratio?: number;
  readonly evictions: number;
  readonly refused: number;
  readonly otherAnswers: number;
  readonly evictionsPerPod: number;
  readonly requests: number;
  /** Median over all runs and nodes. */
  readonly reactionMs?: number;
};

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function summarise(runs: readonly Measurement[], first: Measurement): Summary {
  const of = (value: (measurement: Measurement) => number): number => median(runs.map(value));
  const pods = podsIn(scenarioNamed(first.scenario));
  const evictions = of(({ tally }) => tally.evictions.total);
  const reactions = runs.flatMap(({ reactionMs }) => reactionMs);
  return {
    scenario: first.scenario,
    contender: first.contender,
    runs: runs.length,
    pods,
    seconds: of(({ seconds }) => seconds),
    slowest: Math.max(...runs.map(({ seconds }) => seconds)),
    emptySeconds: of(({ emptySeconds }) => emptySeconds),
    evictions,
    refused: of(({ tally }) => tally.evictions.refused),
    otherAnswers: of(({ tally }) => sum(Object.values(tally.evictions.other))),
    evictionsPerPod: evictions / pods,
    requests: of(({ tally }) => tally.requests),
    ...(reactions.length === 0 ? {} : { reactionMs: median(reactions) }),
  };
}

/** One line for each scenario and contender, in the order in which they ran. */
export function summariesOf(measurements: readonly Measurement[]): readonly Summary[] {
  const groups = Map.groupBy(measurements, ({ scenario, contender }) => `${scenario} ${contender}`);
  const summaries = [...groups.values()].flatMap(runs =>
    runs[0] === undefined ? [] : [summarise(runs, runs[0])],
  );
  return summaries.map(summary => {
    const floor = summaries.find(
      ({ scenario, contender }) => scenario === summary.scenario && contender === 'floor',
    );
    return floor === undefined ? summary : { ...summary, ratio: summary.seconds / floor.seconds };
  });
}

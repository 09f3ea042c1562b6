import { cpus, platform, release, totalmem } from 'node:os';
import type { Bound } from './bounds.ts';
import { scenarioNamed } from './scenarios.ts';
import type { Summary } from './summary.ts';

const columns = [
  'scenario',
  'contender',
  'seconds',
  'slowest',
  '× floor',
  'empty at',
  'evictions',
  'refused',
  'other',
  'a pod',
  'requests',
  'first ms',
];

function cells(summary: Summary): readonly string[] {
  return [
    summary.scenario,
    summary.contender,
    summary.seconds.toFixed(2),
    summary.slowest.toFixed(2),
    summary.ratio?.toFixed(2) ?? '',
    summary.emptySeconds.toFixed(2),
    String(summary.evictions),
    String(summary.refused),
    String(summary.otherAnswers),
    summary.evictionsPerPod.toFixed(2),
    String(summary.requests),
    summary.reactionMs?.toFixed(0) ?? '',
  ];
}

/** Words to the left, numbers to the right. */
function aligned(rows: readonly (readonly string[])[]): string {
  const widths = columns.map((_, index) => Math.max(...rows.map(row => row[index]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, index) =>
        index < 2 ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0),
      )
      .join('  ');
  return rows.map(row => line(row).trimEnd()).join('\n');
}

export function tableOf(summaries: readonly Summary[]): string {
  const names = [...new Set(summaries.map(({ scenario }) => scenario))];
  const legend = names.map(name => {
    const { what, spares } = scenarioNamed(name);
    const runs = Math.max(
      ...summaries.filter(({ scenario }) => scenario === name).map(({ runs }) => runs),
    );
    return `${name}: ${what}; ${spares} nodes to go to; median of ${runs}`;
  });
  return [...legend, '', aligned([columns, ...summaries.map(cells)])].join('\n');
}

/** One line for each bound that this run could look at. */
export function verdictsOf(bounds: readonly Bound[]): string {
  const seen = bounds.flatMap(({ what, limit, measured, holds }) =>
    measured === undefined
      ? []
      : [`${holds === true ? 'pass' : 'FAIL'}  ${what}: ${measured.toFixed(2)} (must be ${limit})`],
  );
  const unseen = bounds.length - seen.length;
  return [
    ...seen,
    ...(unseen === 0 ? [] : [`${unseen} of ${bounds.length} bounds were not measured in this run`]),
  ].join('\n');
}

/** Figures mean something on their machine only. */
export function machine(): Readonly<Record<string, string | number>> {
  return {
    processor: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 1024 ** 3),
    system: `${platform()} ${release()}`,
    node: process.version,
  };
}

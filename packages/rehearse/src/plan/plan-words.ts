import { joinRows } from '@drydock/apimachinery';
import type { RehearsalSummary } from '@drydock/core/plan';
import { columns } from '@drydock/utils';
import { barsPicture } from '../report/picture.ts';
import { durationText, forecastSections } from '../report/words.ts';
import type { AvailabilityDip } from '../simulate/record.ts';
import type { PlanForecast, PlanSetting } from './rehearse-plan.ts';

/** The forecast of a plan as text. */

/** Limit of lines of one kind; no user reads more. */
const limit = 10;

export function settingText({ maxInFlight }: PlanSetting): string {
  return maxInFlight === undefined ? 'as planned' : String(maxInFlight);
}

function timeAt(snapshotTime: string, ms: number): string {
  return Temporal.Instant.from(snapshotTime)
    .add({ milliseconds: Math.round(ms) })
    .toString({ smallestUnit: 'second' });
}

/** Returns the nodes that are done in no run. */
function stuckNodes({ nodes }: PlanForecast): readonly string[] {
  return nodes.filter(({ drainedIn }) => drainedIn === 0).map(({ node }) => node);
}

function phasesText({ plan: { phases }, runs }: PlanForecast): string {
  return Object.entries(phases)
    .map(([phase, count]) => (count === runs ? phase : `${phase} in ${count} of ${runs} runs`))
    .join(', ');
}

function headline(forecast: PlanForecast): string {
  const { plan, nodes, snapshotTime, finishes } = forecast;
  const { complete, openings } = plan;
  const many = `${nodes.length} ${nodes.length === 1 ? 'node' : 'nodes'}`;
  if (finishes && nodes.length === 0)
    return `Plan ${plan.name} is complete at once: none of its nodes is due.`;
  if (finishes && complete !== undefined) {
    const windows = openings > 1 ? `, in ${openings} openings of its windows` : '';
    const when = `(9 of 10 times within ${durationText(complete.p90Ms)}); begun now, at ${timeAt(snapshotTime, complete.medianMs)}`;
    return `Plan ${plan.name} is done with ${many} in ${durationText(complete.medianMs)} ${when}${windows}.`;
  }
  const left = plan.left > 0 ? `, ${plan.left} ${plan.left === 1 ? 'is' : 'are'} never begun` : '';
  return `Plan ${plan.name} does not finish (${phasesText(forecast)}): ${stuckNodes(forecast).length} of ${many} not done${left}. ${plan.message}`;
}

function sourceText(nodes: number, flag: string): string {
  return nodes === 0
    ? `no run has recorded it: ${flag}`
    : `learned from ${nodes} ${nodes === 1 ? 'node' : 'nodes'} of earlier runs`;
}

function timesText({ plan: { times, reboots } }: PlanForecast): string {
  const { workMs, rebootMs, learnedFrom = { work: 0, reboots: 0 } } = times;
  const reboot = reboots
    ? `, a reboot ${durationText(rebootMs)} (${sourceText(learnedFrom.reboots, '--reboot-time')})`
    : '';
  return `  the work takes ${durationText(workMs)} a node (${sourceText(learnedFrom.work, '--work-time')})${reboot}`;
}

function waitingLines({ plan: { waiting } }: PlanForecast): readonly string[] {
  return waiting
    .slice(0, limit)
    .map(
      ({ reason: word, message: who, node }) =>
        `  ${node === undefined ? '' : `${node}: `}${who} (${word})`,
    );
}

function failureLines({ plan: { failures } }: PlanForecast): readonly string[] {
  return [
    ...failures.slice(0, limit).map(({ node, message }) => `  ${node}: ${message}`),
    ...(failures.length > limit ? [`  and ${failures.length - limit} more`] : []),
  ];
}

function titled(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', title, ...lines];
}

/** Returns the whole forecast as bounded lines, the same for the same forecast. */
export function planForecastText(forecast: PlanForecast): string {
  return joinRows([
    headline(forecast),
    ...forecastSections(forecast, { end: 'DONE AFTER', notes: [timesText(forecast)] }),
    ...titled('What fails:', failureLines(forecast)),
    ...titled('What it waits for at the end:', waitingLines(forecast)),
  ]);
}

function lowestText(levels: readonly AvailabilityDip[]): string {
  const [worst] = levels;
  return worst === undefined ? '' : `${worst.workload} ${worst.lowest} of ${worst.desired}`;
}

function rowOf(forecast: PlanForecast): readonly string[] {
  const { plan, moves, levels, nodes } = forecast;
  const { complete } = plan;
  return [
    settingText(plan.setting),
    complete === undefined ? 'never' : durationText(complete.medianMs),
    complete === undefined ? '' : durationText(complete.p90Ms),
    String(plan.openings),
    `${nodes.length - stuckNodes(forecast).length}/${nodes.length + plan.left}`,
    String(moves.gone),
    String(moves.again),
    lowestText(levels),
  ];
}

/** Returns several settings of one plan, side by side. */
export function comparisonText(all: readonly PlanForecast[]): string {
  const head = [
    'AT ONCE',
    'COMPLETE AFTER',
    '9 OF 10',
    'OPENINGS',
    'NODES',
    'PODS',
    'MOVED AGAIN',
    'LOWEST AVAILABILITY',
  ];
  return joinRows(columns([head, ...all.map(rowOf)], 2));
}

/** Summary of a rehearsal for the status of a plan. */

function blockedNodes({
  nodes,
  blockers,
  plan: { failures },
}: PlanForecast): RehearsalSummary['blocked'] {
  const blockedBy = (name: string): string | undefined => {
    const blocker = blockers.find(({ node }) => node === name);
    return blocker && [...(blocker.budgets ?? []), blocker.message].join(': ');
  };
  const messageOf = (name: string, otherwise: string): string =>
    failures.find(({ node }) => node === name)?.message ?? blockedBy(name) ?? otherwise;
  return nodes
    .filter(({ drainedIn }) => drainedIn === 0)
    .map(({ node, otherwise = 'stuck' }) => ({ node, message: messageOf(node, otherwise) }));
}

/** Returns the summary of the forecast; times count from the time of the copy. */
export function planSummary(forecast: PlanForecast): RehearsalSummary {
  const { nodes, finishes, moves, levels, snapshotTime, plan } = forecast;
  const begin = Temporal.Instant.from(snapshotTime);
  const after = (ms: number): Temporal.Instant => begin.add({ milliseconds: Math.round(ms) });
  const blocked = blockedNodes(forecast);
  return {
    snapshotTime: begin,
    finishes,
    ...(plan.complete && {
      end: after(plan.complete.medianMs),
      latestEnd: after(plan.complete.p90Ms),
    }),
    nodes: nodes.length,
    windows: plan.openings,
    podsMoved: moves.gone,
    podsMovedAgain: moves.again,
    blocked,
    blockedNodes: blocked.length,
    lowest: levels.map(({ workload, lowest, desired }) => ({
      workload,
      ready: lowest,
      replicas: desired,
    })),
    firstNodes: plan.firstNodes,
  };
}

/**
 * Returns a picture of several settings of one plan: a bar each, until half of the runs are
 * complete and until nine in ten are.
 */
export function comparisonPicture(all: readonly PlanForecast[]): string {
  return barsPicture(
    `Plan ${all[0]?.plan.name ?? ''}: nodes at once, and when it is complete`,
    all.map(({ plan, moves }) => ({
      name: settingText(plan.setting),
      ...(plan.complete && { toMs: plan.complete.medianMs, lateMs: plan.complete.p90Ms }),
      label:
        plan.complete === undefined
          ? 'does not finish'
          : `${durationText(plan.complete.medianMs)}, ${moves.again} moved again`,
    })),
  );
}

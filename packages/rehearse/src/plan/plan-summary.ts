import type { RehearsalSummary } from '@drydock/core/plan';
import type { PlanForecast } from './rehearse-plan.ts';

/** Summary of a rehearsal for the status of a plan. */

function stuckIn({
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
  const blocked = stuckIn(forecast);
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

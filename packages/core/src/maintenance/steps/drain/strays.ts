import { isBefore, secondsAfter } from '@drydock/apimachinery';
import { type BlockerInfo, knownSince } from '../../../drain/blockers/blocker.ts';
import type { Lookup } from '../../decision.ts';
import type { ReconcileContext } from '../../reconcile-context.ts';

/**
 * Seconds for which a budget has to block a pod before the missing pods are looked up: most budgets
 * allow it earlier.
 */
const patience = 10;

/** Seconds between two lists of the pods of a namespace that are on no node. */
const lookEvery = 30;

/** Number of namespaces that are listed in one pass. */
const maxNamespaces = 3;

function waitsForOthers({ reason }: BlockerInfo): boolean {
  return reason === 'DisruptionBudget' || reason === 'ReplacementUnschedulable';
}

/**
 * Returns lookups for pods on no node. A budget that blocks for a while may miss a pod that has no
 * node: only the scheduler reports which pods and why, in the pods themselves. Nothing waits for
 * the response.
 */
export function strayLookups(
  { snapshot, now }: ReconcileContext,
  blockerInfos: readonly BlockerInfo[],
): { readonly lookups: readonly Lookup[]; readonly moments: readonly Temporal.Instant[] } {
  const { unscheduled, memo: notes } = snapshot;
  if (unscheduled === undefined) return { lookups: [], moments: [] };
  const due = new Map<string, Temporal.Instant>();
  for (const one of blockerInfos.filter(waitsForOthers)) {
    const namespace = one.pod?.namespace ?? '';
    const since = knownSince(one, notes.blockedSince) ?? now;
    const readAt = unscheduled.get(namespace)?.readAt;
    const at =
      readAt === undefined ? secondsAfter(since, patience) : secondsAfter(readAt, lookEvery);
    const before = due.get(namespace);
    if (before === undefined || isBefore(at, before)) due.set(namespace, at);
  }
  const isDue = (at: Temporal.Instant): boolean => !isBefore(now, at);
  const namespaces = [...due].filter(([, at]) => isDue(at)).map(([namespace]) => namespace);
  return {
    lookups: namespaces.slice(0, maxNamespaces).map(key => ({ kind: 'UnscheduledPods', key })),
    moments: [...due.values()].filter(at => !isDue(at)),
  };
}

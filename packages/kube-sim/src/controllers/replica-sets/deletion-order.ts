import type { Stored } from '../../object.ts';
import { at } from '../../object.ts';
import { isReady, nodeOf, phaseOf, readySince } from '../pods.ts';

/**
 * Order in which surplus replicas are deleted (ActivePodsWithRanks in
 * pkg/controller/controller_utils.go).
 */

const ordinals: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };

function costOf({ metadata }: Stored): number {
  const cost = Number(metadata.annotations?.['controller.kubernetes.io/pod-deletion-cost'] ?? 0);
  return Number.isInteger(cost) ? cost : 0;
}

/**
 * Returns the magnitude of an age: only a difference of a power of two counts
 * (LogarithmicScaleDown); otherwise the UID decides.
 */
function magnitude(sinceMs: number, nowMs: number): number {
  const age = nowMs - sinceMs;
  return age <= 0 ? -1 : Math.floor(Math.log2(age * 1e6));
}

function restartsOf(pod: Stored): number {
  const statuses = at(pod, 'status', 'containerStatuses');
  const counts = Array.isArray(statuses)
    ? statuses.map(status => Number(at(status, 'restartCount') ?? 0))
    : [];
  return Math.max(0, ...counts);
}

function comparison(one: number, other: number): number {
  return one - other;
}

/** Returns the number of related pods on each node. */
function ranksOf(pods: readonly Stored[]): ReadonlyMap<string, number> {
  const onNode = new Map<string, number>();
  for (const pod of pods) onNode.set(nodeOf(pod), (onNode.get(nodeOf(pod)) ?? 0) + 1);
  return onNode;
}

/**
 * Returns the pods in the order of their deletion; `related` are the active pods of all sets of the
 * same owner.
 */
export function deletionOrder(
  pods: readonly Stored[],
  nowMs: number,
  related = pods,
): readonly Stored[] {
  const ranks = ranksOf(related);
  const readyAge = (pod: Stored): number => magnitude(readySince(pod) ?? nowMs, nowMs);
  const age = ({ metadata }: Stored): number =>
    magnitude(Date.parse(metadata.creationTimestamp), nowMs);
  return pods.toSorted(
    (one, other) =>
      comparison(Number(nodeOf(one) !== ''), Number(nodeOf(other) !== '')) ||
      comparison(ordinals[phaseOf(one)] ?? 0, ordinals[phaseOf(other)] ?? 0) ||
      comparison(Number(isReady(one)), Number(isReady(other))) ||
      comparison(costOf(one), costOf(other)) ||
      comparison(ranks.get(nodeOf(other)) ?? 0, ranks.get(nodeOf(one)) ?? 0) ||
      comparison(readyAge(one), readyAge(other)) ||
      comparison(restartsOf(other), restartsOf(one)) ||
      comparison(age(one), age(other)) ||
      (one.metadata.uid < other.metadata.uid ? -1 : 1),
  );
}

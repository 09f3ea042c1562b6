import type { JsonObject } from '@drydock/apimachinery';
import { maxFirstNodes } from '@drydock/core/plan';
import { at, items, strings, text } from '@drydock/kube-sim';
import { type ClusterSnapshot, ofKind } from '../snapshot/cluster-snapshot.ts';
import { controllerRef } from '../snapshot/workloads.ts';

/**
 * Candidates for the first nodes of a plan with `order.by: Cost`, so that fewer pods are moved more
 * than once.
 */

const zoneLabel = 'topology.kubernetes.io/zone';

const staying = new Set(['DaemonSet', 'Node']);

function moves(pod: JsonObject): boolean {
  return (
    !staying.has(text(controllerRef(pod), 'kind')) &&
    !['Succeeded', 'Failed'].includes(text(pod, 'status', 'phase'))
  );
}

function orderOf(plan: JsonObject): readonly string[] {
  return items(at(plan, 'spec', 'order', 'by')).map(String);
}

/** Returns whether the plan orders by cost. */
export function isByCost(plan: JsonObject): boolean {
  return orderOf(plan).includes('Cost');
}

/**
 * Returns the nodes with the fewest pods to move: pods of a run's first node land on nodes whose
 * turn is still to come; those of later ones land mostly on nodes that are empty by then. As many
 * of each zone where zones come before the cost.
 */
export function minPodsFirst(
  plan: JsonObject,
  copy: ClusterSnapshot,
  nodes: ReadonlySet<string>,
): readonly string[] {
  const pods = Map.groupBy(ofKind(copy.objects, 'Pod').filter(moves), pod =>
    text(pod, 'spec', 'nodeName'),
  );
  const countOf = (node: string): number => pods.get(node)?.length ?? 0;
  const by = orderOf(plan);
  const isZoned = by.includes('Zone') && by.indexOf('Zone') < by.indexOf('Cost');
  const zoneOf = new Map(
    ofKind(copy.objects, 'Node').map(node => [
      text(node, 'metadata', 'name'),
      strings(at(node, 'metadata', 'labels'))[zoneLabel] ?? '',
    ]),
  );
  const zones = Map.groupBy(nodes, node => (isZoned ? (zoneOf.get(node) ?? '') : ''));
  const ofEach = Math.max(1, Math.floor(maxFirstNodes / Math.max(1, zones.size)));
  return [...zones.values()]
    .flatMap(inside =>
      inside
        .toSorted((one, other) => countOf(one) - countOf(other) || (one < other ? -1 : 1))
        .slice(0, ofEach),
    )
    .slice(0, maxFirstNodes);
}

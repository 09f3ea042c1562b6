import { matches, readSelector } from '@drydock/apimachinery';
import { labelPlace } from '../kinds/kind.ts';
import { at, byName, type Stored } from '../object.ts';
import type { Store } from '../store/store.ts';

/**
 * Returns the PodDisruptionBudgets whose selectors match a pod, in the order of their names; checks
 * only those with a label of the pod.
 */
export function budgetsOver(
  store: Store,
  { metadata: { namespace, labels = {} } }: Stored,
): readonly Stored[] {
  const places = [
    labelPlace(namespace),
    ...Object.entries(labels).map(label => labelPlace(namespace, label)),
  ];
  const found = places.flatMap(place =>
    store.indexed('poddisruptionbudgets.policy', 'wanted', place),
  );
  return found
    .filter(budget => matches(readSelector(at(budget, 'spec', 'selector')), labels))
    .sort(byName);
}

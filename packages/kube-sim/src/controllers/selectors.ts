import type { Json } from '@drydock/apimachinery';
import { isObject, matches } from '@drydock/apimachinery';
import { labelPlace } from '../kinds/kind.ts';
import { at, byName, type Stored, strings } from '../object.ts';
import type { Store } from '../store/store.ts';

/**
 * Returns whether a label selector (metav1.LabelSelector) matches the object; a missing one matches
 * nothing.
 */
export function picks(selector: Json | undefined, { metadata }: Stored): boolean {
  return matches(isObject(selector) ? selector : undefined, strings(metadata.labels));
}

/**
 * Returns the pods of a namespace that a selector matches, in the order of their names: checks only
 * those with its rarest label.
 */
export function pickedPods(
  store: Store,
  selector: Json | undefined,
  namespace: string,
): readonly Stored[] {
  const labels = Object.entries(strings(at(selector, 'matchLabels')));
  if (labels.length === 0) return store.list('pods', namespace).filter(pod => picks(selector, pod));
  const found = labels.map(label => store.indexed('pods', 'label', labelPlace(namespace, label)));
  const rarest = found.reduce((one, other) => (other.length < one.length ? other : one));
  return rarest.filter(pod => picks(selector, pod)).toSorted(byName);
}

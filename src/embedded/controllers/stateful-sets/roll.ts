import { at, type Stored } from '../../object.ts';
import { scaled } from '../budgets/scaled.ts';

/** A pod of the set by its place, or the place of one that is missing. */
export type OrdinalPod = {
  readonly pod: Stored | undefined;
  /** Of another revision than the one to update to, and not terminating yet. */
  readonly isOld: boolean;
  /** Missing, terminating or not available. */
  readonly isOff: boolean;
};

const mayBeOff = (set: Stored, replicas: number): number =>
  Math.max(1, scaled(at(set, 'spec', 'updateStrategy', 'rollingUpdate', 'maxUnavailable') ?? 1, replicas, 'down') ?? 1);

const podsOf = (places: readonly OrdinalPod[]): readonly Stored[] => places.flatMap(({ pod }) => pod ?? []);

/**
 * The pods that a rolling update deletes now, the highest ordinal first, so that no more than maxUnavailable are off at a time
 * (updateStatefulSetAfterInvariantEstablished, the default since 1.37). `places` are all ordinals of the set, the lowest first.
 */
export const podsToReplace = (set: Stored, places: readonly OrdinalPod[], inOrder: boolean): readonly Stored[] => {
  const partition = Number(at(set, 'spec', 'updateStrategy', 'rollingUpdate', 'partition') ?? 0);
  const left = mayBeOff(set, places.length) - places.filter(({ isOff }) => isOff).length;
  const old = places
    .slice(partition)
    .toReversed()
    .filter(({ isOld }) => isOld);
  if (inOrder) return left > 0 ? podsOf(old.slice(0, left)) : [];
  if (left <= 0 && !places.some(({ isOld, isOff }) => isOld && isOff)) return [];
  // Without an order those that are off anyway go first, and cost nothing.
  return podsOf([...old.filter(({ isOff }) => isOff), ...old.filter(({ isOff }) => !isOff).slice(0, Math.max(0, left))]);
};

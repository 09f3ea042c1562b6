import { at, type Stored } from '../../object.ts';
import { scaled } from '../budgets/scaled.ts';

/** A pod of the set with its position. */
type OrdinalPod = {
  readonly pod: Stored;
  /** Position counted from the first ordinal. */
  readonly index: number;
  /** Whether it has another revision than the update's, and is not yet terminating. */
  readonly isOld: boolean;
  /** Whether it is terminating or unavailable. */
  readonly isOff: boolean;
};

function mayBeOff(set: Stored, replicas: number): number {
  return Math.max(
    1,
    scaled(
      at(set, 'spec', 'updateStrategy', 'rollingUpdate', 'maxUnavailable') ?? 1,
      replicas,
      'down',
    ) ?? 1,
  );
}

function podsOf(places: readonly OrdinalPod[]): readonly Stored[] {
  return places.map(({ pod }) => pod);
}

/** Existing pods, the lowest first, and the wanted number: missing ones are counted, not listed. */
type Places = {
  readonly places: readonly OrdinalPod[];
  readonly replicas: number;
  readonly inOrder: boolean;
};

/**
 * Returns the pods that a rolling update deletes now, the highest ordinal first, so that at most
 * maxUnavailable are unavailable at a time (updateStatefulSetAfterInvariantEstablished, the default
 * since 1.37).
 */
export function podsToReplace(
  set: Stored,
  { places, replicas, inOrder }: Places,
): readonly Stored[] {
  const partition = Number(at(set, 'spec', 'updateStrategy', 'rollingUpdate', 'partition') ?? 0);
  const missing = replicas - places.length;
  const left = mayBeOff(set, replicas) - missing - places.filter(({ isOff }) => isOff).length;
  const old = places.filter(({ isOld, index }) => isOld && index >= partition).toReversed();
  if (inOrder) return left > 0 ? podsOf(old.slice(0, left)) : [];
  if (left <= 0 && !places.some(({ isOld, isOff }) => isOld && isOff)) return [];
  // Without an order, unavailable pods go first, and do not count against the limit.
  return podsOf([
    ...old.filter(({ isOff }) => isOff),
    ...old.filter(({ isOff }) => !isOff).slice(0, Math.max(0, left)),
  ]);
}

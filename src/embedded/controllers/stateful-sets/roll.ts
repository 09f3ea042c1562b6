import { at, type Stored } from '../../object.ts';
import { scaled } from '../budgets/scaled.ts';

/** A pod of the set by its place. */
type OrdinalPod = {
  readonly pod: Stored;
  /** Counted from the first ordinal. */
  readonly index: number;
  /** Of another revision than the one to update to, and not terminating yet. */
  readonly isOld: boolean;
  /** Terminating or not available. */
  readonly isOff: boolean;
};

const mayBeOff = (set: Stored, replicas: number): number =>
  Math.max(1, scaled(at(set, 'spec', 'updateStrategy', 'rollingUpdate', 'maxUnavailable') ?? 1, replicas, 'down') ?? 1);

const podsOf = (places: readonly OrdinalPod[]): readonly Stored[] => places.map(({ pod }) => pod);

/** The pods that are there, the lowest first, of so many that are wanted: those that are missing are counted, not listed. */
type Places = { readonly places: readonly OrdinalPod[]; readonly replicas: number; readonly inOrder: boolean };

/**
 * The pods that a rolling update deletes now, the highest ordinal first, so that no more than maxUnavailable are off at a time
 * (updateStatefulSetAfterInvariantEstablished, the default since 1.37).
 */
export const podsToReplace = (set: Stored, { places, replicas, inOrder }: Places): readonly Stored[] => {
  const partition = Number(at(set, 'spec', 'updateStrategy', 'rollingUpdate', 'partition') ?? 0);
  const missing = replicas - places.length;
  const left = mayBeOff(set, replicas) - missing - places.filter(({ isOff }) => isOff).length;
  const old = places.filter(({ isOld, index }) => isOld && index >= partition).toReversed();
  if (inOrder) return left > 0 ? podsOf(old.slice(0, left)) : [];
  if (left <= 0 && !places.some(({ isOld, isOff }) => isOld && isOff)) return [];
  // Without an order those that are off anyway go first, and cost nothing.
  return podsOf([...old.filter(({ isOff }) => isOff), ...old.filter(({ isOff }) => !isOff).slice(0, Math.max(0, left))]);
};

import { timeText } from '@drydock/apimachinery';
import type { MaintenanceStatus } from './schema/maintenance.ts';

/** metav1.Condition. */
export type Condition = NonNullable<MaintenanceStatus['conditions']>[number];

/** A condition as it is at this moment; the time and the generation are added from the object. */
export type SaidCondition = Omit<Condition, 'observedGeneration' | 'lastTransitionTime'>;

/**
 * Returns conditions as they are stored: the time of a transition changes only when the status does
 * (metav1.Condition).
 */
export function withTransitions(
  said: readonly SaidCondition[],
  stored: readonly Condition[] | undefined,
  generation: number,
  now: Temporal.Instant,
): readonly Condition[] {
  return said.map(one => {
    const before = stored?.find(({ type }) => type === one.type);
    const lastTransitionTime =
      before?.status === one.status ? before.lastTransitionTime : timeText(now);
    return { ...one, observedGeneration: generation, lastTransitionTime };
  });
}

import { isBefore, secondsAfter } from '@drydock/apimachinery';
import type { VmPolicy } from './policy.ts';
import { isStranded, type VmPod } from './vm-pod.ts';

/** Returns when a VM that cannot move is shut down by the policy: now, later, or never. */
export function shutDownAt(
  vmPod: VmPod,
  { notMigratable, shutDownAfterSeconds }: VmPolicy,
  drainStartedAt: Temporal.Instant,
  now: Temporal.Instant,
): 'now' | Temporal.Instant | undefined {
  if (notMigratable !== 'ShutDown' || !isStranded(vmPod, now)) return undefined;
  const at = secondsAfter(drainStartedAt, shutDownAfterSeconds);
  return isBefore(now, at) ? at : 'now';
}

import type { EvictionCandidate } from '../../../drain/plan.ts';
import type { DrainPolicy } from '../../../drain/policy.ts';
import { isTerminating, type Pod } from '../../../pod/pod.ts';
import type { VmPod } from '../../../vm/vm-pod.ts';
import { escalationFor } from './escalation.ts';
import { type DrainView, isStopped } from './view.ts';
import type { VmAssessment } from './vms.ts';

/** Returns the grace period in seconds to send; undefined means the pod's own. */
function graceOf(
  pod: Pod,
  { gracePeriodSeconds, maxGracePeriodSeconds: most }: DrainPolicy,
): number | undefined {
  const wanted = gracePeriodSeconds >= 0 ? gracePeriodSeconds : undefined;
  const own = isTerminating(pod) ? pod.deletionGraceSeconds : pod.graceSeconds;
  return most !== undefined && (wanted ?? own) > most ? most : wanted;
}

function candidateOf(
  view: DrainView,
  pod: Pod,
  wave: number,
  vmPod: VmPod | undefined,
  now: Temporal.Instant,
): EvictionCandidate {
  const { policy } = view.progress.request;
  const past = escalationFor(view, vmPod, now);
  const grace = past.escalated === true ? undefined : graceOf(pod, policy);
  return {
    pod,
    wave,
    method: policy.disableEviction ? 'delete' : 'evict',
    escalated: false,
    ...(policy.virtualMachines.notMigrated === 'Evict' && { mayStopVm: true }),
    ...(grace !== undefined && { gracePeriodSeconds: grace }),
    ...past,
  };
}

/** Returns a candidate whose end is only waited for. */
function goingByItself(pod: Pod, wave: number): EvictionCandidate {
  return { pod, wave, method: 'evict', escalated: false };
}

/** Wave after all others: the operator's own pod leaves when its work is done. */
const lastWave = Number.MAX_SAFE_INTEGER;

function isMorePermissive(one: EvictionCandidate, other: EvictionCandidate): boolean {
  return one.method === other.method
    ? one.mayStopVm === true && other.mayStopVm === undefined
    : one.method === 'delete';
}

/**
 * Returns every pod that at least one request wants gone, once; the request with the most powers
 * decides the method.
 */
export function candidatesOf(
  views: readonly DrainView[],
  self: string | undefined,
  { vmPods }: VmAssessment,
  now: Temporal.Instant,
): readonly EvictionCandidate[] {
  const candidates = new Map<string, EvictionCandidate>();
  for (const view of views) {
    const stopped = isStopped(view);
    for (const { pod, behavior } of view.behaviors) {
      if (behavior.behavior !== 'evict' || (stopped && !isTerminating(pod))) continue;
      const known = candidates.get(pod.uid);
      const wave = pod.key === self ? lastWave : behavior.wave;
      const candidate = stopped
        ? goingByItself(pod, wave)
        : candidateOf(view, pod, wave, vmPods.get(pod.uid), now);
      if (known === undefined || isMorePermissive(candidate, known))
        candidates.set(pod.uid, candidate);
    }
  }
  return [...candidates.values()];
}

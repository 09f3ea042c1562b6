import { isAsked, type NodeVms, type VmPod } from '../../vm/vm-pod.ts';
import type { InFlightEviction } from '../budgets/in-flight-eviction.ts';
import type { Attempt } from '../outcome/retry.ts';

/** Reports whether this is the eviction of a VM's pod. */
export function isLauncher({ podName }: InFlightEviction): boolean {
  return podName.startsWith('virt-launcher-');
}

/**
 * Reports whether we have requested its move, and KubeVirt's mark on the VM has not been observed
 * yet.
 */
function isBeingAsked(
  uid: string,
  inFlight: readonly InFlightEviction[],
  attempts: ReadonlyMap<string, Attempt>,
): boolean {
  return (
    attempts.get(uid)?.outcome.kind === 'evacuating' ||
    inFlight.some(inFlightEviction => inFlightEviction.uid === uid)
  );
}

/**
 * Returns how many more VMs may be evicted now: one more than KubeVirt migrates at a time, so that
 * it always has a next one. Newer versions begin a migration of high priority for every VM that is
 * marked, and two hundred of them would delay all other migrations. One is always allowed, however
 * many migrations others have in progress. `vmPods`: by the uid of the pod.
 */
export function roomFor(
  nodeName: string,
  known: NodeVms,
  vmPods: ReadonlyMap<string, VmPod>,
  {
    inFlight,
    attempts,
  }: {
    readonly inFlight: readonly InFlightEviction[];
    readonly attempts: ReadonlyMap<string, Attempt>;
  },
): number {
  const { parallelPerNode, parallelPerCluster } = known.settings;
  const asked = [...vmPods].filter(
    ([uid, vmPod]) =>
      vmPod.stay === 'here' && (isAsked(vmPod) || isBeingAsked(uid, inFlight, attempts)),
  ).length;
  const elsewhere =
    known.askedElsewhere +
    inFlight.filter(
      inFlightEviction => inFlightEviction.nodeName !== nodeName && isLauncher(inFlightEviction),
    ).length;
  const onNode = parallelPerNode + 1 - asked;
  const inCluster = Math.max(1, parallelPerCluster + 1 - known.othersUnderWay) - elsewhere - asked;
  return Math.max(0, Math.min(onNode, inCluster));
}

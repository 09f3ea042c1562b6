import type { Flight } from '../drain/in-flight-eviction.ts';
import type { Attempt } from '../drain/retry.ts';
import { type Guest, isAsked, type VmsKnown } from './vm-pod.ts';

const isLauncher = ({ podName }: Flight): boolean => podName.startsWith('virt-launcher-');

/** Asked for by us, and not yet marked as far as can be seen. */
const isBeingAsked = (uid: string, flights: readonly Flight[], attempts: ReadonlyMap<string, Attempt>): boolean =>
  attempts.get(uid)?.outcome.kind === 'evacuating' || flights.some(flight => flight.uid === uid);

/**
 * How many more VMs may be asked to move now. One more than KubeVirt migrates at a time, so that it always has a next one: newer versions
 * begin a migration of high priority for every VM that is marked, and two hundred of them would keep everybody else's waiting. One is
 * always asked for, however many migrations others have under way. `guests`: by the uid of the pod.
 */
export const roomFor = (
  nodeName: string,
  known: VmsKnown,
  guests: ReadonlyMap<string, Guest>,
  { flights, attempts }: { readonly flights: readonly Flight[]; readonly attempts: ReadonlyMap<string, Attempt> },
): number => {
  const { parallelPerNode, parallelPerCluster } = known.settings;
  const asked = [...guests].filter(
    ([uid, guest]) => guest.stay === 'here' && (isAsked(guest) || isBeingAsked(uid, flights, attempts)),
  ).length;
  const elsewhere = known.askedElsewhere + flights.filter(flight => flight.nodeName !== nodeName && isLauncher(flight)).length;
  const onNode = parallelPerNode + 1 - asked;
  const inCluster = Math.max(1, parallelPerCluster + 1 - known.othersUnderWay) - elsewhere - asked;
  return Math.max(0, Math.min(onNode, inCluster));
};

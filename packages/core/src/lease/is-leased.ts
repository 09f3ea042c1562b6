import { type LeaseName, leaseKey } from '../request/request.ts';
import { isTaken, type Lease } from './lease.ts';

/** Reports whether one of these leases exists and its holder has the node. */
export function isLeased(
  names: readonly LeaseName[],
  leases: { readonly get: (key: string) => Lease | undefined },
): boolean {
  return names.some(name => {
    const lease = leases.get(leaseKey(name));
    return lease !== undefined && isTaken(lease, name.holder);
  });
}

import type { LeaseName } from '../core/request/request.ts';

/** Who holds the node leases of all operators that Drydock replaces, and so of Drydock. */
const holder = 'node-maintenance';

/** The Lease that medik8s' operators agree on: `node-<name>`, in the namespace that LEASE_NAMESPACE names. */
export const sharedLease =
  (namespace: string) =>
  (nodeName: string): LeaseName => ({ namespace, name: `node-${nodeName.toLowerCase()}`, holder, released: 'deleted' });

/** The Lease of the KubeVirt operator: named like the node, in the operator's own namespace, left behind blank (seed contract, chapter 10.4). */
export const ownLease =
  (namespace: string) =>
  (nodeName: string): LeaseName => ({ namespace, name: nodeName, holder, released: 'blanked' });

import type { KindAdapter } from '@drydock/core/request';
import { sharedLease } from '../leases.ts';
import { nodeMaintenance } from './node-maintenance.ts';

/**
 * Returns the adapter of nodemaintenance.medik8s.io/v1beta1: the operator of medik8s, copied byte
 * for byte (seed contract, chapters 0 to 9).
 */
export function medik8s(leaseNamespace: string): KindAdapter {
  return nodeMaintenance({
    name: 'nodemaintenances.nodemaintenance.medik8s.io',
    apiVersion: 'nodemaintenance.medik8s.io/v1beta1',
    finalizer: 'foregroundDeleteNodeMaintenance',
    statusSubresource: true,
    statusFields: [
      'phase',
      'drainProgress',
      'lastUpdate',
      'lastError',
      'pendingPods',
      'pendingPodsRefs',
      'totalpods',
      'evictionPods',
      'errorOnLeaseCount',
    ],
    failedPhase: 'Failed',
    drainTaint: 'medik8s.io/drain',
    labels: { 'remediation.medik8s.io/exclude-from-remediation': 'true' },
    lease: sharedLease(leaseNamespace),
    nameIsNode: false,
  });
}

import type { KindAdapter } from '@drydock/core/request';
import { ownLease } from '../leases.ts';
import { nodeMaintenance } from './node-maintenance.ts';

/** Generations of KubeVirt's operator, before it moved to medik8s (seed contract, chapter 10). */

const drainTaint = 'kubevirt.io/drain';
const finalizer = 'foregroundDeleteNodeMaintenance';

/**
 * Returns the adapter of nodemaintenance.kubevirt.io/v1beta1. Its leases are in the operator's own
 * namespace (OPERATOR_NAMESPACE).
 */
export function kubevirt(operatorNamespace: string): KindAdapter {
  return nodeMaintenance({
    name: 'nodemaintenances.nodemaintenance.kubevirt.io',
    apiVersion: 'nodemaintenance.kubevirt.io/v1beta1',
    finalizer,
    statusSubresource: true,
    statusFields: [
      'phase',
      'lastError',
      'pendingPods',
      'totalpods',
      'evictionPods',
      'errorOnLeaseCount',
    ],
    failedPhase: 'Failed',
    drainTaint,
    labels: {},
    lease: ownLease(operatorNamespace),
    nameIsNode: false,
  });
}

/**
 * Form in which the cluster serves `kubevirt.io` NodeMaintenances. The CRD that Drydock installs
 * has both versions; the one of the very first operator had v1alpha3 only, the next ones v1alpha1
 * only, both namespaced at first and not all with a status subresource.
 */
export type KubevirtAlpha = {
  readonly version: 'v1alpha1' | 'v1alpha3';
  readonly statusSubresource: boolean;
};

/** Form of the kind in this project's CRD. */
export const kubevirtAlphaOfOurs: KubevirtAlpha = { version: 'v1alpha1', statusSubresource: true };

/**
 * Returns the adapter of kubevirt.io NodeMaintenances: the name is the node's, unless spec.nodeName
 * is set. This generation has no leases. The first operator knew no finalizer and would never
 * remove ours, so an object that exists as v1alpha3 only gets none: the record on the node replaces
 * it.
 */
export function kubevirtAlpha({ version, statusSubresource }: KubevirtAlpha): KindAdapter {
  return nodeMaintenance({
    name: 'nodemaintenances.kubevirt.io',
    apiVersion: `kubevirt.io/${version}`,
    ...(version === 'v1alpha1' && { finalizer }),
    statusSubresource,
    statusFields: ['phase', 'lastError', 'pendingPods', 'totalpods', 'evictionPods'],
    failedPhase: 'Running',
    drainTaint,
    labels: {},
    lease: () => undefined,
    nameIsNode: true,
  });
}

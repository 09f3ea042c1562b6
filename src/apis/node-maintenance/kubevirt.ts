import type { KindAdapter } from '../../core/request/request.ts';
import { ownLease } from '../leases.ts';
import { nodeMaintenance } from './node-maintenance.ts';

/** The generations of KubeVirt's operator, before it moved to medik8s (seed contract, chapter 10). */

const drainTaint = 'kubevirt.io/drain';
const finalizer = 'foregroundDeleteNodeMaintenance';

/** nodemaintenance.kubevirt.io/v1beta1. Its leases are in the operator's own namespace (OPERATOR_NAMESPACE). */
export const kubevirt = (operatorNamespace: string): KindAdapter =>
  nodeMaintenance({
    name: 'nodemaintenances.nodemaintenance.kubevirt.io',
    apiVersion: 'nodemaintenance.kubevirt.io/v1beta1',
    finalizer,
    statusSubresource: true,
    statusFields: ['phase', 'lastError', 'pendingPods', 'totalpods', 'evictionPods', 'errorOnLeaseCount'],
    failedPhase: 'Failed',
    drainTaint,
    labels: {},
    lease: ownLease(operatorNamespace),
    nameIsNode: false,
  });

/**
 * How the cluster serves `kubevirt.io` NodeMaintenances. The CRD that Drydock brings has both versions; the one of the very first operator
 * had v1alpha3 only, the next ones v1alpha1 only, both namespaced at first and not all with a status subresource.
 */
export type KubevirtAlpha = { readonly version: 'v1alpha1' | 'v1alpha3'; readonly statusSubresource: boolean };

/** As the CRD of this project has it. */
export const kubevirtAlphaOfOurs: KubevirtAlpha = { version: 'v1alpha1', statusSubresource: true };

/**
 * kubevirt.io NodeMaintenances: the name is the node's, unless spec.nodeName says otherwise. There were no leases yet. The first operator
 * knew no finalizer and would never take ours off, so an object of v1alpha3 alone gets none: the record on the node does its work.
 */
export const kubevirtAlpha = ({ version, statusSubresource }: KubevirtAlpha): KindAdapter =>
  nodeMaintenance({
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

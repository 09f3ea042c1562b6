import type { KindAdapter } from '@drydock/core/request';
import { maintenance } from './maintenance/maintenance.ts';
import {
  type KubevirtAlpha,
  kubevirt,
  kubevirtAlpha,
  kubevirtAlphaOfOurs,
  medik8s,
} from './node-maintenance/node-maintenance.ts';

/** Terms that the kinds depend on beside themselves. */
export type Terms = {
  /**
   * Namespace of the node leases that all operators of today agree on; `medik8s-leases` unless
   * LEASE_NAMESPACE sets another one.
   */
  readonly leaseNamespace: string;
  /** Namespace of the operator: the KubeVirt generation has its node leases there. */
  readonly operatorNamespace: string;
  /** Form in which the cluster serves the oldest kind; that of Drydock's own CRD if left out. */
  readonly kubevirtAlpha?: KubevirtAlpha;
};

/** Returns every served kind. A further generation is one file and one line here. */
export function served({
  leaseNamespace,
  operatorNamespace,
  kubevirtAlpha: alpha = kubevirtAlphaOfOurs,
}: Terms): readonly KindAdapter[] {
  return [
    maintenance(leaseNamespace),
    medik8s(leaseNamespace),
    kubevirt(operatorNamespace),
    kubevirtAlpha(alpha),
  ];
}

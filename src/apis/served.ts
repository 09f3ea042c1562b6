import type { KindAdapter } from '../core/request/request.ts';
import { maintenance } from './maintenance/maintenance.ts';
import { type KubevirtAlpha, kubevirt, kubevirtAlpha, kubevirtAlphaOfOurs } from './node-maintenance/kubevirt.ts';
import { medik8s } from './node-maintenance/medik8s.ts';

/** What the kinds depend on beside themselves. */
export type Terms = {
  /** Of the node leases that all operators of today agree on; `medik8s-leases` unless LEASE_NAMESPACE says otherwise. */
  readonly leaseNamespace: string;
  /** Where the operator runs: the KubeVirt generation has its node leases there. */
  readonly operatorNamespace: string;
  /** How the cluster serves the oldest kind; as Drydock's own CRD does when left out. */
  readonly kubevirtAlpha?: KubevirtAlpha;
};

/** Every kind that is served. A further generation is one file and one word here. */
export const served = ({
  leaseNamespace,
  operatorNamespace,
  kubevirtAlpha: alpha = kubevirtAlphaOfOurs,
}: Terms): readonly KindAdapter[] => [
  maintenance(leaseNamespace),
  medik8s(leaseNamespace),
  kubevirt(operatorNamespace),
  kubevirtAlpha(alpha),
];

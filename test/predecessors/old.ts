/** The operators that Drydock replaces, as far as they differ in what they leave behind. */

type Field =
  | 'phase'
  | 'drainProgress'
  | 'lastUpdate'
  | 'lastError'
  | 'pendingPods'
  | 'pendingPodsRefs'
  | 'totalpods'
  | 'evictionPods'
  | 'errorOnLeaseCount';

/** Where an operator keeps the Lease of a node, and what it does with it at the end. */
type OldLease = {
  readonly namespace: string;
  readonly nameFor: (nodeName: string) => string;
  readonly released: 'deleted' | 'blanked';
  /** A lease of its own is renewed when it ends before so many seconds from now. */
  readonly renewedWithin: number;
};

/** One generation of the older operators. */
export type Old = {
  /** Of the folder with its recordings: operator and version. */
  readonly name: string;
  /** Begins the names of its nodes, so that several can be looked at in one cluster. */
  readonly short: string;
  readonly apiVersion: string;
  readonly drainTaint: string;
  /** Put on the node with the value "true". */
  readonly label?: string;
  readonly lease: OldLease;
  /**
   * Of the status. Everything else in it is lost at its first write: the object goes through a Go
   * struct.
   */
  readonly fields: readonly Field[];
};

const seconds = 3600;

const medik8sMain: Old = {
  name: 'medik8s-main',
  short: 'main',
  apiVersion: 'nodemaintenance.medik8s.io/v1beta1',
  drainTaint: 'medik8s.io/drain',
  label: 'remediation.medik8s.io/exclude-from-remediation',
  lease: {
    namespace: 'medik8s-leases',
    nameFor: nodeName => `node-${nodeName.toLowerCase()}`,
    released: 'deleted',
    renewedWithin: seconds,
  },
  fields: [
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
};

const ownLease: OldLease = {
  namespace: 'node-maintenance',
  nameFor: nodeName => nodeName,
  released: 'blanked',
  renewedWithin: 60,
};

/** medik8s before 0.16: KubeVirt's operator under a new group. */
const medik8s15: Old = {
  name: 'medik8s-0.15.0',
  short: 'm15',
  apiVersion: 'nodemaintenance.medik8s.io/v1beta1',
  drainTaint: 'medik8s.io/drain',
  lease: ownLease,
  fields: [
    'phase',
    'drainProgress',
    'lastUpdate',
    'lastError',
    'pendingPods',
    'totalpods',
    'evictionPods',
    'errorOnLeaseCount',
  ],
};

const kubevirt: Old = {
  name: 'kubevirt-0.11.3',
  short: 'k11',
  apiVersion: 'nodemaintenance.kubevirt.io/v1beta1',
  drainTaint: 'kubevirt.io/drain',
  lease: ownLease,
  fields: ['phase', 'lastError', 'pendingPods', 'totalpods', 'evictionPods', 'errorOnLeaseCount'],
};

export const allOld: readonly Old[] = [medik8sMain, medik8s15, kubevirt];

export function collectionOfOld({ apiVersion }: Old): string {
  return `/apis/${apiVersion}/nodemaintenances`;
}

export function leasesOf({ lease }: Old): string {
  return `/apis/coordination.k8s.io/v1/namespaces/${lease.namespace}/leases`;
}

export function leasePathOf(old: Old, nodeName: string): string {
  return `${leasesOf(old)}/${old.lease.nameFor(nodeName)}`;
}

export const finalizer = 'foregroundDeleteNodeMaintenance';

/** In the order in which all of them put them on a node: before what is there already. */
export function taintsOf({
  drainTaint,
}: Old): readonly { readonly key: string; readonly effect: string }[] {
  return ['node.kubernetes.io/unschedulable', drainTaint].map(key => ({
    key,
    effect: 'NoSchedule',
  }));
}

import { short } from '@drydock/apimachinery';
import type { LeaseName } from '@drydock/core/request';
import type { Env } from '@drydock/utils';

/** Holder of the node leases of all operators that Drydock replaces, and so of Drydock. */
const holder = 'node-maintenance';

/** Characters of the name of an object (RFC 1123 subdomain). */
const maxNameLength = 253;

/**
 * Returns the name, or its beginning with a hash of the whole if it does not fit: node names may
 * have 253 characters themselves.
 */
function fitting(name: string): string {
  return name.length <= maxNameLength
    ? name
    : `${name.slice(0, maxNameLength - 17).replace(/[-.]+$/, '')}-${short(name)}`;
}

/**
 * Returns the Lease that medik8s' operators agree on: `node-<name>`, in the namespace that
 * LEASE_NAMESPACE names.
 */
export function sharedLease(namespace: string) {
  return (nodeName: string): LeaseName => ({
    namespace,
    name: fitting(`node-${nodeName.toLowerCase()}`),
    holder,
    released: 'deleted',
  });
}

/**
 * Returns the Lease of the KubeVirt operator: named like the node, in the operator's own namespace,
 * left behind blank (seed contract, chapter 10.4).
 */
export function ownLease(namespace: string) {
  return (nodeName: string): LeaseName => ({
    namespace,
    name: nodeName,
    holder,
    released: 'blanked',
  });
}

function given(value: string | undefined, fallback: string): string {
  return value === undefined || value === '' ? fallback : value;
}

/**
 * Returns the namespaces of node leases, from the variables of the replaced operators. An empty
 * variable counts as unset.
 */
export function leaseNamespaces(env: Env): {
  readonly leaseNamespace: string;
  readonly operatorNamespace: string;
} {
  return {
    leaseNamespace: given(env['LEASE_NAMESPACE'], 'medik8s-leases'),
    operatorNamespace: given(env['OPERATOR_NAMESPACE'], 'node-maintenance'),
  };
}

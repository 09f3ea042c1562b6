import type { Env } from '@drydock/utils';

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

import { pathSegment, statusMessage } from '@drydock/apimachinery';
import { type KindAdapter, leaseNames } from '@drydock/core/request';
import type { Api, ApiResponse } from '@drydock/kube-client';
import type { Log } from '@drydock/utils';
import type { DiscoveryOptions } from '../discovery/served-kinds.ts';

/**
 * Namespaces in which the operators of a cluster coordinate by leases on nodes; created at the
 * start where they are missing, as medik8s' operator does.
 */

function lease(namespace: string) {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'drydock-is-asking', namespace },
  };
}

/**
 * Sends a dry run: it shows whether the namespace exists, and whether leases may be created in it.
 */
function tryLease(api: Api, namespace: string, signal: AbortSignal): Promise<ApiResponse> {
  return api.call(
    {
      method: 'POST',
      path: `/apis/coordination.k8s.io/v1/namespaces/${pathSegment(namespace)}/leases`,
      query: { dryRun: 'All' },
      body: lease(namespace),
    },
    signal,
  );
}

function make(api: Api, name: string, signal: AbortSignal): Promise<ApiResponse> {
  return api.call(
    {
      method: 'POST',
      path: '/api/v1/namespaces',
      body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
    },
    signal,
  );
}

async function prepare(api: Api, namespace: string, log: Log, signal: AbortSignal): Promise<void> {
  const tried = await tryLease(api, namespace, signal);
  if (tried.status === 403) {
    const command = `kubectl create rolebinding drydock-node-leases --namespace ${namespace} --clusterrole drydock-node-leases --serviceaccount drydock-system:drydock`;
    return log.warn('not allowed to write node leases, so no node can be held: bind the role', {
      namespace,
      command,
      error: statusMessage(tried),
    });
  }
  if (tried.status !== 404) return;
  const made = await make(api, namespace, signal);
  if (made.status === 201)
    return log.info('created the namespace of the node leases', { namespace });
  if (made.status === 409) return;
  const command = `kubectl create namespace ${namespace}`;
  log.warn(
    'the namespace of the node leases is missing and may not be created, so no node can be held: create it',
    {
      namespace,
      command,
      error: statusMessage(made),
    },
  );
}

/** Creates missing namespaces. Never rejects: a failure shows again with the first lease. */
export async function prepareLeaseNamespaces(
  { api, log, defects, signal }: Omit<DiscoveryOptions, 'clock'>,
  adapters: readonly KindAdapter[],
): Promise<void> {
  for (const namespace of new Set(leaseNames(adapters, 'x').map(one => one.namespace))) {
    try {
      await prepare(api, namespace, log, signal);
    } catch (error) {
      const why = defects.textOf('Process', namespace, error);
      if (!signal.aborted)
        log.debug('failed to read the namespace of the node leases', { namespace, error: why });
    }
  }
}

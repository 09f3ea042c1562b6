import { pathSegment } from '@drydock/apimachinery';
import { leaderLease } from '@drydock/operator/discovery';
import { haltAnnotation } from '@drydock/operator/plans';
import { UsageError } from '@drydock/utils';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { plainOutput } from '../shared/output.ts';
import { ApiError, refusedError } from '../shared/requests.ts';
import { withCluster } from '../shared/with-cluster.ts';
import { changed } from './why-plans.ts';

export type HaltFlags = ConnectionFlags & {
  readonly namespace: string;
  readonly reason?: string;
  readonly release?: boolean;
};

type LeaseObject = {
  readonly metadata: {
    readonly uid: string;
    readonly resourceVersion: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
};

/**
 * `drydock plan halt --reason R|--release`: stops all plans, or lets them continue. Throws an
 * ApiError with the server's message.
 */
export async function halt(
  flags: HaltFlags,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const { namespace, reason, release } = flags;
  if ((reason === undefined || reason === '') === (release !== true)) {
    throw new UsageError(
      'give a reason with --reason to stop all plans, or let them continue with --release',
    );
  }
  const path = `/apis/coordination.k8s.io/v1/namespaces/${pathSegment(namespace)}/leases/${leaderLease}`;
  await withCluster(flags, env, async api => {
    const before = await changed(`Lease ${leaderLease}`, api, async () => {
      const response = await api.call({ method: 'GET', path });
      if (response.status === 404) {
        throw new ApiError(
          `error: no operator has its Lease ${leaderLease} in namespace ${namespace}; name the namespace of the operator with --namespace`,
        );
      }
      if (response.status !== 200) throw refusedError(response);
      const { metadata } = response.body as LeaseObject;
      const { uid, resourceVersion, annotations = {} } = metadata;
      const wanted = release === true ? undefined : reason;
      if (annotations[haltAnnotation] === wanted) return { read: annotations };
      const body = {
        metadata: { uid, resourceVersion, annotations: { [haltAnnotation]: wanted ?? null } },
      };
      const query = { fieldManager: 'drydock-halt' };
      return {
        read: annotations,
        call: { method: 'PATCH', path, query, contentType: 'application/merge-patch+json', body },
      };
    });
    const was = before[haltAnnotation];
    if (release !== true)
      plainOutput.line(
        `all plans are halted: ${reason}; work that has begun is finished, other nodes are released`,
      );
    else
      plainOutput.line(
        was === undefined ? 'plans were not halted' : `plans continue; they were halted: ${was}`,
      );
  });
}

import type { MaintenanceRequest } from '@drydock/core/request';
import { notServed, removal } from '@drydock/core/request';
import type { Connection } from '@drydock/kube-client';
import { isAnyServed, kindsOf } from '@drydock/operator/discovery';
import type { Env } from '@drydock/utils';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { type Output, plainOutput } from '../shared/output.ts';
import { ApiError, follow, refusedError, requestsOf, titleOf } from '../shared/requests.ts';
import { withCluster } from '../shared/with-cluster.ts';

export type ReleaseFlags = ConnectionFlags & {
  readonly name?: string;
  readonly all?: boolean;
  readonly wait: boolean;
};

/**
 * Returns the maintenances to delete. With several on the node, only the user knows which is over.
 */
function chosen(
  node: string,
  requests: readonly MaintenanceRequest[],
  { name, all }: ReleaseFlags,
): readonly MaintenanceRequest[] {
  const named = name === undefined ? requests : requests.filter(request => request.name === name);
  if (named.length === 0) {
    throw new ApiError(
      name === undefined
        ? `error: no maintenance holds node "${node}"`
        : `error: no maintenance "${name}" on node "${node}"`,
    );
  }
  if (named.length > 1 && all !== true) {
    throw new ApiError(
      `error: node "${node}" is held by ${named.length} maintenances: ${named.map(titleOf).join(', ')}; choose one with --name, or end them with --all`,
    );
  }
  return named;
}

async function remove(connection: Connection, request: MaintenanceRequest): Promise<void> {
  const response = await connection.call(removal(request));
  if (response.status !== 200 && response.status !== 202 && response.status !== 404)
    throw refusedError(response);
}

/** Prints what blocks the object's deletion, whenever that changes. */
function untilGone(
  connection: Connection,
  request: MaintenanceRequest,
  output: Output,
): Promise<void> {
  let lastText = '';
  return follow(
    connection,
    request,
    now => {
      if (now === undefined) return 'done';
      const others = now.finalizers.filter(finalizer => finalizer !== now.adapter.finalizer);
      const text =
        others.length === 0
          ? ''
          : `${titleOf(now)} is kept by the finalizers of others: ${others.join(', ')}`;
      if (text !== lastText && text !== '') output.note(text);
      lastText = text;
      return 'continue';
    },
    new AbortController().signal,
  );
}

/**
 * `drydock release NODE`: deletes the node's maintenance, of whatever kind, and waits until the
 * node has been released.
 */
export function release(node: string, flags: ReleaseFlags, env: Env): Promise<void> {
  return withCluster(flags, env, async connection => {
    const adapters = await kindsOf(connection, env);
    const here = await requestsOf(connection, adapters, node);
    if (here.length === 0 && !(await isAnyServed(connection, adapters)))
      throw new ApiError(notServed);
    for (const request of chosen(node, here, flags)) {
      await remove(connection, request);
      if (flags.wait) await untilGone(connection, request, plainOutput);
      plainOutput.line(
        `${request.adapter.kind.toLowerCase()}.${request.adapter.apiVersion.split('/')[0] ?? ''}/${request.name} deleted`,
      );
    }
    const left = flags.wait ? await requestsOf(connection, adapters, node) : [];
    if (left.length > 0)
      plainOutput.note(`node/${node} stays held by ${left.map(titleOf).join(', ')}`);
    else if (flags.wait) plainOutput.line(`node/${node} released`);
  });
}

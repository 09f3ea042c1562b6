import type { JsonObject } from '@drydock/apimachinery';
import type { Api } from '../control-plane/objects/api.ts';
import { evict, nodePath, podPath, podsOn } from '../control-plane/objects/cluster.ts';
import type { Node, Pod } from '../control-plane/objects/objects.ts';
import { until } from '../control-plane/wait.ts';
import { leasePathOf, leasesOf, type Old, taintsOf } from './old.ts';

/** The requests of the older operators, in the shapes that they have on the wire. */

type StoredLease = { readonly metadata: JsonObject; readonly spec: JsonObject };

const mergePatchType = 'application/merge-patch+json';
const strategicPatchType = 'application/strategic-merge-patch+json';
const jsonPatchType = 'application/json-patch+json';

function microNow(): string {
  return new Date().toISOString().replace('Z', '000Z');
}

export async function ask<T>(
  api: Api,
  ...[method, path, body, type]: Parameters<Api['call']>
): Promise<T> {
  const reply = await api.call(method, path, body, type);
  if (reply.status > 299)
    throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
  return reply.body as T;
}

type Taints = NonNullable<Node['spec']['taints']>;

/** The node's taints without those of a maintenance. */
export function otherTaints(old: Old, node: Node): Taints {
  return (node.spec.taints ?? []).filter(
    taint => !taintsOf(old).some(({ key, effect }) => taint.key === key && taint.effect === effect),
  );
}

/** The whole list at once, guarded by the one that was read. */
export async function setTaints(api: Api, node: Node, taints: Taints): Promise<void> {
  const before = node.spec.taints;
  if (taints.length === (before ?? []).length) return;
  const body = [
    { op: 'test', path: '/spec/taints', value: before ?? null },
    {
      op: before === undefined ? 'add' : 'replace',
      path: '/spec/taints',
      value: taints.length === 0 ? null : taints,
    },
  ];
  await ask(api, 'PATCH', nodePath(node.metadata.name), body, jsonPatchType);
}

export async function setCordon(api: Api, node: Node, unschedulable: boolean): Promise<void> {
  if ((node.spec.unschedulable ?? false) === unschedulable) return;
  await ask(
    api,
    'PATCH',
    nodePath(node.metadata.name),
    { spec: { unschedulable: unschedulable || null } },
    strategicPatchType,
  );
}

export async function setLabel(
  api: Api,
  node: Node,
  label: string | undefined,
  value: 'true' | null,
): Promise<void> {
  if (label === undefined || (node.metadata.labels?.[label] === 'true') === (value === 'true'))
    return;
  await ask(
    api,
    'PATCH',
    nodePath(node.metadata.name),
    { metadata: { labels: { [label]: value } } },
    mergePatchType,
  );
}

/** Pods that would have to go: all but those of DaemonSets. */
export async function pendingOn(api: Api, nodeName: string): Promise<readonly Pod[]> {
  return (await podsOn(api, nodeName)).filter(
    ({ metadata }) => !metadata.ownerReferences?.some(({ kind }) => kind === 'DaemonSet'),
  );
}

export async function requestLease(api: Api, old: Old, node: Node): Promise<void> {
  const { name, uid } = node.metadata;
  const now = microNow();
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name, uid }];
  const fresh = { holderIdentity: 'node-maintenance', leaseDurationSeconds: 3600, renewTime: now };
  const found = await api.call('GET', leasePathOf(old, name));
  if (found.status === 404) {
    await ask(api, 'POST', leasesOf(old), {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: old.lease.nameFor(name), namespace: old.lease.namespace, ownerReferences },
      spec: { ...fresh, acquireTime: now, leaseTransitions: 0 },
    });
    return;
  }
  const { metadata, spec } = found.body as StoredLease;
  const { holderIdentity, renewTime, leaseDurationSeconds, leaseTransitions } = spec;
  if (holderIdentity !== 'node-maintenance')
    throw new Error(`lease of ${name} is held by ${JSON.stringify(holderIdentity)}`);
  const isBlank = typeof renewTime !== 'string' || typeof leaseDurationSeconds !== 'number';
  if (
    !isBlank &&
    Date.parse(renewTime) + leaseDurationSeconds * 1000 >
      Date.now() + old.lease.renewedWithin * 1000
  )
    return;
  const transitions = typeof leaseTransitions === 'number' ? leaseTransitions + 1 : 1;
  const next = {
    ...spec,
    ...fresh,
    ...(isBlank && { acquireTime: now, leaseTransitions: transitions }),
  };
  await ask(api, 'PUT', leasePathOf(old, name), {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { ...metadata, ownerReferences },
    spec: next,
  });
}

export async function releaseLease(api: Api, old: Old, nodeName: string): Promise<void> {
  const path = leasePathOf(old, nodeName);
  if (old.lease.released === 'deleted') return api.delete(path);
  const found = await api.call('GET', path);
  if (found.status === 404) return;
  const { metadata, spec } = found.body as StoredLease;
  const { holderIdentity } = spec;
  await ask(api, 'PUT', path, {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata,
    spec: { holderIdentity },
  });
}

/**
 * Evicts what may go and waits until it has gone; answers what the operators say of the rest after
 * the 30 s of an attempt.
 */
export async function drain(api: Api, nodeName: string): Promise<string | undefined> {
  const refused: string[] = [];
  for (const { metadata } of await pendingOn(api, nodeName)) {
    const { name, namespace = '' } = metadata;
    const { status } = await evict(api, namespace, name);
    if (status === 429)
      refused.push(
        `error when evicting pods/"${name}" -n "${namespace}": global timeout reached: 30s`,
      );
    else
      await until(
        `${name} to go`,
        async () => (await api.call('GET', podPath(namespace, name))).status === 404,
      );
  }
  return refused.length > 1 ? `[${refused.join(', ')}]` : refused[0];
}

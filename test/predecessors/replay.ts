import type { JsonObject } from '@drydock/apimachinery';
import type { Api } from '../control-plane/objects/api.ts';
import { create, getNode, nodePath } from '../control-plane/objects/cluster.ts';
import { namespace } from '../control-plane/objects/manifests.ts';
import type { Node } from '../control-plane/objects/objects.ts';
import { makeNode, untilPods } from '../operator/harness/look.ts';
import { collectionOfOld, leasePathOf, leasesOf, type Old, taintsOf } from './old.ts';
import { type Left, readRecording, withTimes } from './recording.ts';
import { guardedPod, nodeOf, pathOfOld, type Situation } from './situations.ts';

/** Puts a recording back into a cluster, as if its operator had been stopped a while ago. */

/** Its leases are nearly over by then: they have to be renewed, and must not be lost. */
const stoppedForMs = 50 * 60_000;

export type Replayed = {
  readonly old: Old;
  readonly nodeName: string;
  /** The node as it was before the maintenance. */
  readonly face: object;
  readonly maintenances: readonly Left[];
  readonly lease?: Left;
};

async function putObject(api: Api, old: Old, object: Left): Promise<void> {
  const { status, ...rest } = object;
  const { deletionTimestamp, ...metadata } = rest.metadata;
  await api.post(collectionOfOld(old), { ...rest, metadata });
  const path = pathOfOld(old, metadata.name);
  if (status !== undefined) await api.patch(`${path}/status`, { status });
  if (deletionTimestamp !== undefined) await api.delete(path);
}

async function putLease(api: Api, old: Old, lease: Left, node: Node): Promise<void> {
  const ownerReferences = lease.metadata.ownerReferences?.map(owner => ({
    ...owner,
    uid: node.metadata.uid,
  }));
  await api.post(leasesOf(old), { ...lease, metadata: { ...lease.metadata, ownerReferences } });
}

/** Makes node, pods, objects and lease as the recording has them; answers what there was before. */
export async function replay(api: Api, old: Old, situation: Situation): Promise<Replayed> {
  const recording = readRecording(old, situation);
  const shift = Date.now() - stoppedForMs - Date.parse(recording.recordedAt);
  const { node, maintenances, lease } = withTimes(recording, time => {
    const moved = new Date(Date.parse(time) + shift).toISOString();
    return time.includes('.') ? moved.replace('Z', '000Z') : `${moved.slice(0, 19)}Z`;
  });
  const nodeName = nodeOf(old, situation);
  const face = await makeNode(api, nodeName, recording.before);
  if (situation === 'running') {
    await guardedPod(api, nodeName);
    await untilPods(api, nodeName, 1);
  } else await create(api, namespace(nodeName));
  const { labels, annotations } = node.metadata;
  await api.patch(nodePath(nodeName), { metadata: { labels, annotations }, spec: node.spec });
  for (const object of maintenances) await putObject(api, old, object);
  if (lease !== undefined) await putLease(api, old, lease, await getNode(api, nodeName));
  return { old, nodeName, face, maintenances, ...(lease && { lease }) };
}

/** The lease of the older operator, or nothing. */
export async function oldLease(
  api: Api,
  old: Old,
  nodeName: string,
): Promise<JsonObject | undefined> {
  const { status, body } = await api.call('GET', leasePathOf(old, nodeName));
  return status === 200 ? (body as Left).spec : undefined;
}

/**
 * Kubernetes' own node controller puts it on cordoned nodes, and takes off what somebody else has
 * put there before the node was cordoned.
 */
const cordonTaint = 'node.kubernetes.io/unschedulable';

/**
 * Nobody new can come to it. The taint of cordoned nodes follows the cordon by itself, on a busy
 * machine some seconds later.
 */
export function isClosedFor(old: Old, node: Node): boolean {
  return (
    node.spec.unschedulable === true &&
    taintsOf(old).every(
      ({ key }) => key === cordonTaint || (node.spec.taints ?? []).some(taint => taint.key === key),
    ) &&
    (old.label === undefined || node.metadata.labels?.[old.label] === 'true')
  );
}

/** Nobody new can come to it, and everybody can see why. */
export function isHeldFor(old: Old, node: Node): boolean {
  return (
    node.spec.unschedulable === true &&
    taintsOf(old).every(({ key, effect }) =>
      (node.spec.taints ?? []).some(taint => taint.key === key && taint.effect === effect),
    ) &&
    (old.label === undefined || node.metadata.labels?.[old.label] === 'true')
  );
}

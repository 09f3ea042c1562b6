import { isObject, type JsonObject, pathSegment, sameJson } from '@drydock/apimachinery';
import type { AdmissionKind } from '@drydock/apis/admission-rules';
import { type Node, readNode } from '@drydock/core/node';
import { isControlPlane, mayLoseQuorum } from '@drydock/core/quorum';
import type { Api } from '@drydock/kube-client';
import { type Found, getLive, listFirst } from './live.ts';
import { operatorWarnings } from './operator-check.ts';
import { quorumCheck } from './quorum-check.ts';
import { type AdmissionVerdict, allowed, denied, type Review } from './review.ts';

/**
 * Rules for one request, in the order of the contract; the first one that is violated determines
 * the verdict.
 */

/** Access for the rules. `namespace` is the operator's own. */
export type AdmissionContext = {
  readonly api: Api;
  readonly openShift: boolean;
  readonly namespace: string;
};

/** Verdict from the request alone, or the checks that need reads. */
export type AdmissionTask =
  | { readonly kind: 'answered'; readonly verdict: AdmissionVerdict }
  /** A new object, or one that begins to want its node: `rules` names the due checks. */
  | {
      readonly kind: 'review';
      readonly rules: 'all' | 'quorum';
      readonly object: JsonObject;
      readonly nodeName: string;
    };

/**
 * Result of a check. `scope`: requests of one scope depend on each other, and must be stored one
 * after the other.
 */
export type AdmissionCheck = {
  readonly verdict: AdmissionVerdict;
  readonly scope?: ReservationScope;
};
export type ReservationScope =
  | { readonly kind: 'controlPlane' }
  | { readonly kind: 'node'; readonly name: string };

function answered(verdict: AdmissionVerdict): AdmissionTask {
  return { kind: 'answered', verdict };
}

/** Returns the metadata of an object; empty if it has none. */
export function metadataOf(object: JsonObject): JsonObject {
  return isObject(object['metadata']) ? object['metadata'] : {};
}

function taskOfUpdate(
  kind: AdmissionKind,
  object: JsonObject,
  oldObject: JsonObject,
): AdmissionTask {
  // Finalizers, labels, statuses: above all, the operator's own writes must not depend on the
  // webhook.
  if (sameJson(object['spec'], oldObject['spec'])) return answered(allowed);
  const nodeName = kind.nodeNameOf(object);
  if (kind.node !== undefined && nodeName !== kind.nodeNameOf(oldObject))
    return answered(denied(kind.node.moved));
  const begins =
    kind.wants(object) &&
    !kind.wants(oldObject) &&
    metadataOf(object)['deletionTimestamp'] === undefined;
  return begins ? { kind: 'review', rules: 'quorum', object, nodeName } : answered(allowed);
}

/** Returns the task of a request, without any read. */
export function taskOf(
  kind: AdmissionKind,
  { operation, kind: asked, subresource, object, oldObject }: Review,
): AdmissionTask {
  if (object === undefined || subresource !== '') return answered(allowed);
  if (asked !== kind.kind) return answered(denied(`expected a ${kind.kind} but got a ${asked}`));
  if (operation === 'UPDATE' && oldObject !== undefined)
    return taskOfUpdate(kind, object, oldObject);
  if (operation !== 'CREATE') return answered(allowed);
  if (kind.node === undefined && !kind.wants(object)) return answered(allowed);
  return {
    kind: 'review',
    rules: kind.node === undefined ? 'quorum' : 'all',
    object,
    nodeName: kind.nodeNameOf(object),
  };
}

/** Reports whether this can be the name of a node. No node with any other name is looked up. */
function isNodeName(name: string): boolean {
  return /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name);
}

async function nodeOf(api: Api, name: string, signal: AbortSignal): Promise<Found<Node>> {
  if (!isNodeName(name)) return { kind: 'missing' };
  const found = await getLive(api, `/api/v1/nodes/${pathSegment(name)}`, signal);
  return found.kind === 'found' ? { kind: 'found', value: readNode(found.value) } : found;
}

async function isTaken(
  api: Api,
  kind: AdmissionKind,
  nodeName: string,
  signal: AbortSignal,
): Promise<AdmissionVerdict> {
  const list = await listFirst(api, kind.collections, signal);
  if (kind.node === undefined || list.kind === 'missing') return allowed;
  if (list.kind === 'unreadable') return denied(kind.node.unlistable(list.why));
  return list.value.some(other => kind.nodeNameOf(other) === nodeName)
    ? denied(kind.node.taken(nodeName))
    : allowed;
}

/** Returns the verdict without a node: rule 1, or the part of rule 3 that it shares. */
function withoutNode(
  kind: AdmissionKind,
  nodeName: string,
  found: Exclude<Found<Node>, { readonly kind: 'found' }>,
): AdmissionVerdict {
  if (found.kind === 'unreadable')
    return denied((kind.node?.unreadable ?? kind.quorum.nodeUnreadable)(found.why));
  // A Maintenance may be created before its node; its status reports that the node is missing.
  return kind.node === undefined ? allowed : denied(kind.node.missing(nodeName));
}

function warned(
  verdict: Extract<AdmissionVerdict, { readonly kind: 'allowed' }>,
  more: readonly string[],
): AdmissionVerdict {
  const warnings = [...(verdict.warnings ?? []), ...more];
  return warnings.length === 0 ? verdict : { kind: 'allowed', warnings };
}

/** Runs all checks, with reads straight from the API server. Rejects for defects only. */
export async function look(
  { api, openShift, namespace }: AdmissionContext,
  kind: AdmissionKind,
  { rules, object, nodeName }: Extract<AdmissionTask, { readonly kind: 'review' }>,
  signal: AbortSignal,
): Promise<AdmissionCheck> {
  const found = await nodeOf(api, nodeName, signal);
  if (found.kind !== 'found') return { verdict: withoutNode(kind, nodeName, found) };
  if (rules === 'all') {
    const taken = await isTaken(api, kind, nodeName, signal);
    if (taken.kind === 'denied') return { verdict: taken };
  }
  const node = found.value;
  const takesRisk = mayLoseQuorum(
    metadataOf(object)['annotations'] as Readonly<Record<string, string>> | undefined,
  );
  const quorum = takesRisk
    ? allowed
    : await quorumCheck({ api, openShift, kind, node, object, signal });
  const verdict =
    quorum.kind === 'denied'
      ? quorum
      : warned(quorum, await operatorWarnings({ api, object, signal }, namespace, nodeName));
  // Possibly a member of the quorum: requests for its members are checked one after the other.
  if (isControlPlane(node)) return { verdict, scope: { kind: 'controlPlane' } };
  return rules === 'all' ? { verdict, scope: { kind: 'node', name: nodeName } } : { verdict };
}

import { isObject, type JsonObject, pathSegment, sameJson } from '@drydock/apimachinery';
import { type AdmissionKind, admissionKinds } from '@drydock/apis/admission-rules';
import { type Budget, readBudget } from '@drydock/core/drain';
import { operatorPods, readOperatorPod, stayingOn } from '@drydock/core/maintenance';
import { type Node, readNode } from '@drydock/core/node';
import { readPod } from '@drydock/core/pod';
import {
  etcdAllows,
  etcdGuardName,
  etcdNamespace,
  guardVerdict,
  isControlPlane,
  isWarnedOnly,
  mayLoseQuorum,
  memberLabels,
  membersOf,
  namedGuardAllows,
  quorumAllows,
} from '@drydock/core/quorum';
import type { Api } from '@drydock/kube-client';
import {
  type AdmissionVerdict,
  allowed,
  denied,
  type Found,
  getLive,
  listFirst,
  listLive,
  type Review,
} from './review.ts';

/** The rules about etcd, read live. */

/** A question to the quorum rules. */
type QuorumQuestion = {
  readonly api: Api;
  readonly openShift: boolean;
  readonly kind: AdmissionKind;
  readonly node: Node;
  /** The object itself: if it is stored already, it does not block itself. */
  readonly object: JsonObject;
  readonly signal: AbortSignal;
};

const budgetsPath = `/apis/policy/v1/namespaces/${etcdNamespace}/poddisruptionbudgets`;
const podsPath = `/api/v1/namespaces/${etcdNamespace}/pods`;

async function anyGuard({ api, kind, node, signal }: QuorumQuestion): Promise<AdmissionVerdict> {
  const { denied: no, guardUnreadable } = kind.quorum;
  const budgets = await listLive(api, budgetsPath, {}, signal);
  if (budgets.kind === 'unreadable') return denied(guardUnreadable(budgets.why));
  const seen = budgets.kind === 'found' ? budgets.value.map(readBudget) : [];
  const verdict = guardVerdict(seen);
  if (verdict.kind === 'allowed') return allowed;
  if (verdict.kind === 'denied') return denied(no(node.name));
  if (verdict.kind === 'unclear') return denied(guardUnreadable(verdict.why));
  const labelSelector = Object.entries(verdict.labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
  const pods = await listLive(api, podsPath, { labelSelector }, signal);
  if (pods.kind === 'unreadable') return denied(guardUnreadable(pods.why));
  const guardPods = pods.kind === 'found' ? pods.value.map(readPod) : [];
  return etcdAllows({ budgets: seen, guardPods, nodeName: node.name }).kind === 'allowed'
    ? allowed
    : denied(no(node.name));
}

async function namedGuard({ api, kind, node, signal }: QuorumQuestion): Promise<AdmissionVerdict> {
  const found = await getLive(api, `${budgetsPath}/${etcdGuardName}`, signal);
  if (found.kind === 'unreadable') return denied(kind.quorum.guardUnreadable(found.why));
  const budget: Budget | undefined = found.kind === 'found' ? readBudget(found.value) : undefined;
  return namedGuardAllows(budget) ? allowed : denied(kind.quorum.denied(node.name));
}

/**
 * Applies the rule of the replaced operator: medik8s checks on OpenShift only, KubeVirt's wherever
 * the budget exists.
 */
async function guardCheck(question: QuorumQuestion): Promise<AdmissionVerdict> {
  const { guard, labels } = question.kind.quorum;
  if (!labels.some(label => question.node.labels[label] !== undefined)) return allowed;
  if (guard === 'named') return namedGuard(question);
  return question.openShift ? anyGuard(question) : allowed;
}

/**
 * Lists nodes with one of the labels: a selector cannot express "or", so there is one list for each
 * label.
 */
async function possibleMembers(api: Api, signal: AbortSignal): Promise<Found<readonly Node[]>> {
  const lists = await Promise.all(
    memberLabels.map(labelSelector => listLive(api, '/api/v1/nodes', { labelSelector }, signal)),
  );
  const nodes = new Map<string, Node>();
  for (const list of lists) {
    if (list.kind !== 'found') return list;
    for (const node of list.value.map(readNode)) nodes.set(node.name, node);
  }
  return { kind: 'found', value: [...nodes.values()] };
}

function uidOf({ metadata }: JsonObject): unknown {
  return (metadata as JsonObject | undefined)?.['uid'];
}

/** Returns the nodes that stored maintenances of any kind want, except the one of the question. */
async function wantedNodes({
  api,
  object,
  signal,
}: Pick<QuorumQuestion, 'api' | 'object' | 'signal'>): Promise<Found<ReadonlySet<string>>> {
  const kinds = admissionKinds();
  const lists = await Promise.all(kinds.map(kind => listFirst(api, kind.collections, signal)));
  const wanted = new Set<string>();
  for (const [index, kind] of kinds.entries()) {
    const list = lists[index];
    if (list === undefined || list.kind === 'missing') continue;
    if (list.kind === 'unreadable') return list;
    for (const other of list.value)
      if (kind.wants(other) && uidOf(other) !== uidOf(object)) wanted.add(kind.nodeNameOf(other));
  }
  return { kind: 'found', value: wanted };
}

/**
 * Denies if more members would be out than the rest can bear, including the maintenances that have
 * not reached their nodes yet.
 */
async function countCheck(question: QuorumQuestion): Promise<AdmissionVerdict> {
  const { api, kind, node, openShift, signal } = question;
  const [nodes, wanted] = await Promise.all([possibleMembers(api, signal), wantedNodes(question)]);
  if (nodes.kind !== 'found')
    return denied(
      kind.quorum.nodeUnreadable(nodes.kind === 'missing' ? 'nodes are not served' : nodes.why),
    );
  if (wanted.kind !== 'found')
    return denied(
      kind.quorum.nodeUnreadable(wanted.kind === 'missing' ? 'no kind is served' : wanted.why),
    );
  const leave = quorumAllows(node.name, membersOf(nodes.value), wanted.value);
  if (leave.allowed) return allowed;
  if (isWarnedOnly(leave, kind.quorum.counted, openShift))
    return { kind: 'allowed', warnings: [leave.stake] };
  // On OpenShift the text is the contract's, to the byte; elsewhere the replaced operator allowed
  // everything and had none.
  return denied(
    openShift ? kind.quorum.denied(node.name) : `${kind.quorum.denied(node.name)}: ${leave.why}`,
  );
}

/** Applies both rules, the one of the replaced operator first. Rejects for defects only. */
async function quorumCheck(question: QuorumQuestion): Promise<AdmissionVerdict> {
  if (!isControlPlane(question.node)) return allowed;
  const guard = await guardCheck(question);
  return guard.kind === 'denied' ? guard : countCheck(question);
}

/**
 * Returns a warning if a drain of the node would leave the operator itself on it. The request is
 * not refused for that, so an unreadable list gives no warning. Rejects for defects only.
 */
async function operatorWarnings(
  { api, object, signal }: Parameters<typeof wantedNodes>[0],
  namespace: string,
  nodeName: string,
): Promise<readonly string[]> {
  const found = await listLive(
    api,
    `/api/v1/namespaces/${pathSegment(namespace)}/pods`,
    operatorPods,
    signal,
  );
  const pods = found.kind === 'found' ? found.value.map(readOperatorPod) : [];
  // There are many nodes: they are listed only for the few that run the operator.
  if (!pods.some(pod => pod.nodeName === nodeName)) return [];
  const [nodes, wanted] = await Promise.all([
    listLive(api, '/api/v1/nodes', {}, signal),
    wantedNodes({ api, object, signal }),
  ]);
  if (nodes.kind !== 'found') return [];
  const others = wanted.kind === 'found' ? wanted.value : new Set<string>();
  const stays = stayingOn(nodeName, { pods, nodes: nodes.value.map(readNode), wanted: others });
  return stays === undefined ? [] : [stays];
}

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

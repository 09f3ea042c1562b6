import type { JsonObject } from '@drydock/apimachinery';
import { type AdmissionKind, admissionKinds } from '@drydock/apis/admission-rules';
import { type Budget, readBudget } from '@drydock/core/drain';
import { type Node, readNode } from '@drydock/core/node';
import { readPod } from '@drydock/core/pod';
import {
  etcdAllows,
  etcdGuardName,
  etcdNamespace,
  guardVerdict,
  isControlPlane,
  isWarnedOnly,
  memberLabels,
  membersOf,
  namedGuardAllows,
  quorumAllows,
} from '@drydock/core/quorum';
import type { Api } from '@drydock/kube-client';
import { type Found, getLive, listFirst, listLive } from './live.ts';
import { type AdmissionVerdict, allowed, denied } from './review.ts';

/** The rules about etcd, read live. */

/** A question to the quorum rules. */
export type QuorumQuestion = {
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
  const said = guardVerdict(seen);
  if (said.kind === 'allowed') return allowed;
  if (said.kind === 'denied') return denied(no(node.name));
  if (said.kind === 'unclear') return denied(guardUnreadable(said.why));
  const labelSelector = Object.entries(said.labels)
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
export async function wantedNodes({
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
export async function quorumCheck(question: QuorumQuestion): Promise<AdmissionVerdict> {
  if (!isControlPlane(question.node)) return allowed;
  const guard = await guardCheck(question);
  return guard.kind === 'denied' ? guard : countCheck(question);
}

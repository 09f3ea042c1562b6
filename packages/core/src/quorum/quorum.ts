import { joinLimited, type LabelSelector, type Labels } from '@drydock/apimachinery';
import type { Budget } from '../drain/budgets/budget.ts';
import { isReady, type Node } from '../node/node.ts';
import type { Pod } from '../pod/pod.ts';

/**
 * The rule that never lets more control-plane nodes out than etcd can do without, wherever etcd
 * runs.
 */

/**
 * Annotation on a maintenance object. With the value "true" it may cost the control plane its
 * quorum.
 */
export const allowQuorumLossAnnotation = 'drydock.dev/allow-quorum-loss';

/** Reports whether the creator of the object accepts the loss of quorum. */
export function mayLoseQuorum(annotations: Labels | undefined): boolean {
  return annotations?.[allowQuorumLossAnnotation] === 'true';
}

/** Returns the message of medik8s' webhook, on OpenShift byte for byte. */
export function quorumMessage(nodeName: string): string {
  return `can not put master/control-plane node into maintenance at this moment, disrupting node ${nodeName} will violate etcd quorum`;
}

const etcdLabel = 'node-role.kubernetes.io/etcd';
const controlPlaneLabels = [
  'node-role.kubernetes.io/control-plane',
  'node-role.kubernetes.io/master',
];

/** Label keys that make a node a member; callers that list nodes by label need these lists. */
export const memberLabels: readonly string[] = [etcdLabel, ...controlPlaneLabels];

/** Reports whether it is a node of the control plane. */
export function isControlPlane({ labels }: Pick<Node, 'labels'>): boolean {
  return memberLabels.some(label => labels[label] !== undefined);
}

/** A node that may be a member, with the fields of the rule. */
export type Member = {
  readonly name: string;
  /** True if its Ready condition is True; any other value counts as out. */
  readonly ready: boolean;
  /**
   * True if it carries the record of a hold: a maintenance has it out of service at this moment.
   */
  readonly held: boolean;
};

/**
 * Returns the members of the quorum: the nodes labelled as etcd's own if there are any, otherwise
 * the control-plane nodes. Label values do not matter. Callers must pass all nodes with one of
 * `memberLabels`, and may pass others.
 */
export function membersOf(nodes: readonly Node[]): readonly Member[] {
  const own = nodes.filter(({ labels }) => labels[etcdLabel] !== undefined);
  const chosen =
    own.length > 0
      ? own
      : nodes.filter(({ labels }) => controlPlaneLabels.some(label => labels[label] !== undefined));
  return chosen.map(node => ({
    name: node.name,
    ready: isReady(node),
    held: node.holdRecord !== undefined,
  }));
}

/**
 * Scope of a kind's quorum rule: everywhere, or on OpenShift only, as in the replaced operators,
 * which accept every node of a plain cluster.
 */
export type QuorumRule = 'everywhere' | 'on OpenShift';

/**
 * Verdict of the rule. `why` contains the arithmetic and the override; `message` is the contract's
 * text with it; `stake` is the consequence if the node goes all the same.
 */
export type QuorumVerdict =
  | { readonly allowed: true }
  | {
      readonly allowed: false;
      readonly message: string;
      readonly why: string;
      readonly stake: string;
      readonly alone: boolean;
    };

/**
 * Reports whether a node may go although the quorum cannot spare it. The only member of a plain
 * cluster keeps no quorum that could be lost, and has to be patched at some time (kubeadm's own
 * upgrade drains it). On OpenShift etcd's own operator has the last word.
 */
export function isWarnedOnly(
  { alone }: Extract<QuorumVerdict, { readonly allowed: false }>,
  rule: QuorumRule,
  openShift: boolean,
): boolean {
  return !openShift && (alone || rule === 'on OpenShift');
}

function stakeOf(nodeName: string, count: number, needed: number): string {
  return count === 1
    ? `${nodeName} is the only control-plane node: while it is out of service, the API server may not respond, and the maintenance ends only when the node is back`
    : `${nodeName} is one of ${count} control-plane nodes, of which ${needed} must stay: without it etcd loses its quorum, and the API server stops responding until the node is back`;
}

const override = `the annotation ${allowQuorumLossAnnotation}: "true" on the maintenance object overrides this`;

function arithmetic(count: number, needed: number, out: readonly string[]): string {
  if (count === needed) {
    return count === 1
      ? 'the only control-plane node cannot be spared'
      : `of ${count} control-plane nodes none can be spared`;
  }
  return `${needed} of ${count} control-plane nodes must stay; out of service or about to be: ${joinLimited(out)}`;
}

/**
 * Decides whether one more node may go: of n members, floor(n/2)+1 have to stay. Members count as
 * out if they are held, not Ready, or in `wanted`, the nodes that other maintenances are to take
 * out. A repeated check for the same node may leave the node itself in `wanted`. A node that is no
 * member, or that is not Ready already, changes nothing and may go.
 *
 * Admission passes in `wanted` the nodes of all stored maintenances. A later check, when several
 * that exclude each other are stored, must pass only those that go first, or none of them would
 * ever begin.
 */
export function quorumAllows(
  nodeName: string,
  members: readonly Member[],
  wanted: ReadonlySet<string>,
): QuorumVerdict {
  const member = members.find(({ name }) => name === nodeName);
  if (member === undefined || !member.ready) return { allowed: true };
  const needed = Math.floor(members.length / 2) + 1;
  const out = members.filter(
    ({ name, ready, held }) => name !== nodeName && (!ready || held || wanted.has(name)),
  );
  if (out.length + 1 <= members.length - needed) return { allowed: true };
  const names = out.map(({ name }) => name).toSorted();
  const why = `${arithmetic(members.length, needed, names)}; ${override}`;
  const stake = stakeOf(nodeName, members.length, needed);
  return {
    allowed: false,
    message: `${quorumMessage(nodeName)}: ${why}`,
    why,
    stake,
    alone: members.length === 1,
  };
}

/**
 * Budget with which OpenShift's etcd operator guards its members (medik8s/common v1.17.0,
 * pkg/etcd).
 */

/** Namespace of etcd, its guard pods and their budget. */
export const etcdNamespace = 'openshift-etcd';

/** Name of the budget that KubeVirt's operator reads. */
export const etcdGuardName = 'etcd-quorum-guard';

/**
 * Verdict of the guard. `unclear`: the budget cannot be interpreted by the rule; the text is the
 * error of apimachinery's LabelSelectorAsMap.
 */
export type GuardVerdict =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'denied' }
  | { readonly kind: 'unclear'; readonly why: string }
  /**
   * The verdict depends on the guard pod of the node: the pods of `etcdNamespace` with these
   * labels.
   */
  | { readonly kind: 'checkPods'; readonly labels: Labels };

const allowed: GuardVerdict = { kind: 'allowed' };
const denied: GuardVerdict = { kind: 'denied' };

function refusal(operator: string, values: readonly string[]): string | undefined {
  switch (operator) {
    case 'In':
      if (values.length === 1) return undefined;
      return `operator "${operator}" without a single value cannot be converted into the old label selector format`;
    case 'NotIn':
    case 'Exists':
    case 'DoesNotExist':
      return `operator "${operator}" cannot be converted into the old label selector format`;
    default:
      return `"${operator}" is not a valid selector operator`;
  }
}

/**
 * Returns the labels of a selector. A missing selector matches every pod here, unlike everywhere
 * else.
 */
function equalities(selector: LabelSelector | undefined): Labels | string {
  const labels: Record<string, string> = { ...selector?.matchLabels };
  for (const { key, operator, values = [] } of selector?.matchExpressions ?? []) {
    const problem = refusal(operator, values);
    if (problem !== undefined) return problem;
    labels[key] = values[0] ?? '';
  }
  return labels;
}

/**
 * Returns the verdict of the budgets of `etcdNamespace` alone: without exactly one, no node may go.
 */
export function guardVerdict(budgets: readonly Budget[]): GuardVerdict {
  const [budget, another] = budgets;
  if (budget === undefined || another !== undefined) return denied;
  if (budget.disruptionsAllowed >= 1) return allowed;
  const labels = equalities(budget.selector);
  return typeof labels === 'string'
    ? { kind: 'unclear', why: labels }
    : { kind: 'checkPods', labels };
}

/**
 * Decides whether etcd can do without the node: its budget allows a disruption, or the node has no
 * guard pod, or one that is not Ready, which makes it the disrupted one already. `budgets` and
 * `guardPods` are those of `etcdNamespace`; pods that the budget does not select do no harm.
 */
export function etcdAllows(seen: {
  readonly budgets: readonly Budget[];
  readonly guardPods: readonly Pod[];
  readonly nodeName: string;
}): Exclude<GuardVerdict, { readonly kind: 'checkPods' }> {
  const verdict = guardVerdict(seen.budgets);
  if (verdict.kind !== 'checkPods') return verdict;
  const wanted = Object.entries(verdict.labels);
  const guard = seen.guardPods.find(
    ({ nodeName, labels }) =>
      nodeName === seen.nodeName && wanted.every(([key, value]) => labels[key] === value),
  );
  return guard !== undefined && (guard.ready || guard.readyUnknown === true)
    ? { kind: 'denied' }
    : { kind: 'allowed' };
}

/**
 * Applies the rule of KubeVirt's operator: not allowed if `etcdGuardName` allows no disruption.
 * Without that budget everything is allowed.
 */
export function namedGuardAllows(budget: Budget | undefined): boolean {
  return budget === undefined || budget.disruptionsAllowed !== 0;
}

import type { Labels } from '@drydock/apimachinery';
import { joinLimited } from '@drydock/apimachinery';
import { isReady, type Node } from '../node/node.ts';

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
  const asked = members.find(({ name }) => name === nodeName);
  if (asked === undefined || !asked.ready) return { allowed: true };
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

import { isReady, type Node } from '../node/node.ts';
import type { Labels } from '../pod/selector.ts';
import { joinLimited } from '../text.ts';

/** The rule that never lets more control-plane nodes out than etcd can do without, wherever etcd runs. */

/** On a maintenance object, with the value "true": it may cost the control plane its quorum. */
export const allowQuorumLossAnnotation = 'drydock.dev/allow-quorum-loss';

/** Whoever made the object takes the loss of quorum upon himself. */
export const mayLoseQuorum = (annotations: Labels | undefined): boolean => annotations?.[allowQuorumLossAnnotation] === 'true';

/** What medik8s' webhook says, on OpenShift byte for byte. */
export const quorumMessage = (nodeName: string): string =>
  `can not put master/control-plane node into maintenance at this moment, disrupting node ${nodeName} will violate etcd quorum`;

const etcdLabel = 'node-role.kubernetes.io/etcd';
const controlPlaneLabels = ['node-role.kubernetes.io/control-plane', 'node-role.kubernetes.io/master'];

/** The label keys that make a node a member; whoever lists nodes by label needs these lists. */
export const memberLabels: readonly string[] = [etcdLabel, ...controlPlaneLabels];

/** A node of the control plane. */
export const isControlPlane = ({ labels }: Pick<Node, 'labels'>): boolean => memberLabels.some(label => labels[label] !== undefined);

/** A node that may be a member, as far as the rule looks at it. */
export type Member = {
  readonly name: string;
  /** Its Ready condition is True; anything else counts as out. */
  readonly ready: boolean;
  /** It carries the record of a hold: some maintenance has it out of service at this moment. */
  readonly held: boolean;
};

/**
 * The members of the quorum: the nodes labelled as etcd's own if there are any, else the control-plane nodes. Label values do not matter.
 * All nodes with one of `memberLabels` must be given, others may be.
 */
export const membersOf = (nodes: readonly Node[]): readonly Member[] => {
  const own = nodes.filter(({ labels }) => labels[etcdLabel] !== undefined);
  const chosen = own.length > 0 ? own : nodes.filter(({ labels }) => controlPlaneLabels.some(label => labels[label] !== undefined));
  return chosen.map(node => ({
    name: node.name,
    ready: isReady(node),
    held: node.holdRecord !== undefined,
  }));
};

/**
 * Where a kind keeps the quorum: everywhere, or on OpenShift only, as the replaced operators do, which accept every node of a plain cluster.
 */
export type QuorumRule = 'everywhere' | 'on OpenShift';

/** `why` tells the arithmetic and the way past it; `message` is the contract's text with it; `stake` what happens when it goes all the same. */
export type QuorumVerdict =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly message: string; readonly why: string; readonly stake: string; readonly alone: boolean };

/**
 * Whether a node may go although the quorum cannot spare it. The only member of a plain cluster keeps no quorum that could be lost, and has to be patched at some
 * time (kubeadm's own upgrade drains it). On OpenShift etcd's own operator has the last word.
 */
export const isWarnedOnly = (
  { alone }: Extract<QuorumVerdict, { readonly allowed: false }>,
  rule: QuorumRule,
  openShift: boolean,
): boolean => !openShift && (alone || rule === 'on OpenShift');

const stakeOf = (nodeName: string, count: number, needed: number): string =>
  count === 1
    ? `${nodeName} is the only control-plane node: while it is out of service, the API server may not respond, and the maintenance ends only when the node is back`
    : `${nodeName} is one of ${count} control-plane nodes, of which ${needed} must stay: without it etcd loses its quorum, and the API server stops responding until the node is back`;

const override = `the annotation ${allowQuorumLossAnnotation}: "true" on the maintenance object overrides this`;

const arithmetic = (count: number, needed: number, out: readonly string[]): string => {
  if (count === needed) {
    return count === 1 ? 'the only control-plane node cannot be spared' : `of ${count} control-plane nodes none can be spared`;
  }
  return `${needed} of ${count} control-plane nodes must stay; out of service or about to be: ${joinLimited(out)}`;
};

/**
 * Whether one more node may go: of n members, floor(n/2)+1 have to stay. Out are the members that are held, not Ready, or in `wanted`, the
 * nodes that other maintenances are to take out. Who is asked twice for the same node need not leave the node itself out of `wanted`.
 * A node that is no member, or that is not Ready already, changes nothing and may go.
 *
 * Admission passes in `wanted` the nodes of all maintenances that are stored. Whoever checks again later, when several are stored that
 * cannot all have their way, must pass only those that go first, or none of them would ever begin.
 */
export const quorumAllows = (nodeName: string, members: readonly Member[], wanted: ReadonlySet<string>): QuorumVerdict => {
  const asked = members.find(({ name }) => name === nodeName);
  if (asked === undefined || !asked.ready) return { allowed: true };
  const needed = Math.floor(members.length / 2) + 1;
  const out = members.filter(({ name, ready, held }) => name !== nodeName && (!ready || held || wanted.has(name)));
  if (out.length + 1 <= members.length - needed) return { allowed: true };
  const names = out.map(({ name }) => name).toSorted();
  const why = `${arithmetic(members.length, needed, names)}; ${override}`;
  const stake = stakeOf(nodeName, members.length, needed);
  return { allowed: false, message: `${quorumMessage(nodeName)}: ${why}`, why, stake, alone: members.length === 1 };
};

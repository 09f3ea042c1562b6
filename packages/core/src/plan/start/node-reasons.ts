import { unsoundness } from '../in-service.ts';
import type { PlanNode, PlanSnapshot, WaitReason } from '../snapshot.ts';
import { type NodeUnavailability, outageBy } from '../unavailability.ts';
import type { PlanView } from '../view.ts';

/** Reasons of a node itself not to begin, regardless of limits and times. */

/**
 * Returns the plan that has left the node held without having it in flight: the work of that plan
 * has failed on it, and its state is unknown.
 */
function leftBy(
  node: PlanNode['node'],
  { plan, outages, others }: PlanSnapshot,
): string | undefined {
  const isFlying = (by: string): boolean =>
    others.some(
      ({ name, inFlight }) => outageBy(name) === by && inFlight.some(one => one.node === node.name),
    );
  const found = (outages.get(node.name) ?? []).find(
    ({ reason, by }) => reason === 'Plan' && by !== outageBy(plan.name) && !isFlying(by),
  );
  return found?.by;
}

/**
 * Returns who else has the node out of service, or that it is about to be gone: nothing works on it
 * beside that. Plans share a node, one after the other.
 */
function heldBy({ node }: PlanNode, { snapshot }: PlanView): WaitReason | undefined {
  const { foreignCordon } = snapshot.plan.concurrency;
  const outages = snapshot.outages.get(node.name) ?? [];
  const isShared = ({ reason }: NodeUnavailability): boolean =>
    reason === 'Plan' ||
    reason === 'NotReady' ||
    (reason === 'ForeignCordon' && foreignCordon !== 'Wait');
  const held = outages.find(outage => !isShared(outage));
  if (held !== undefined) return { reason: 'HeldBy', message: held.by, node: node.name };
  const left = leftBy(node, snapshot);
  if (left === undefined) return undefined;
  const message = `${left} has failed on it and left it held: retry or release it there, or leave it out with drydock plan skip ${snapshot.plan.name} ${node.name}`;
  return { reason: 'HeldBy', message, node: node.name };
}

/**
 * Returns why the node cannot be worked on: it costs no limit and gets no slot, and has its turn
 * when it is back.
 */
export function notReady({ node }: PlanNode, { snapshot }: PlanView): WaitReason | undefined {
  const lack = unsoundness(node);
  if (lack === undefined || snapshot.plan.work.kind === 'external') return undefined;
  const helps = `it begins when that is over, or leave it out with drydock plan skip ${snapshot.plan.name} ${node.name}`;
  return { reason: 'NotReady', message: `Node ${node.name} ${lack}: ${helps}`, node: node.name };
}

/** Returns why nothing would replace a node without a Machine. */
function noReplacement(
  { node, machine, noMachine }: PlanNode,
  { snapshot }: PlanView,
): WaitReason | undefined {
  return snapshot.plan.work.kind !== 'replace' || machine !== undefined
    ? undefined
    : {
        reason: 'NoMachine',
        message: `nothing would replace node ${node.name}: ${noMachine ?? 'no Machine is known'}`,
        node: node.name,
      };
}

/**
 * Returns why the built-in reboot does not apply: it is for Linux; the kubelet that registers the
 * node sets its operating system (kubernetes.io/os).
 */
function unbootable(
  { node: { name, labels } }: PlanNode,
  { snapshot: { plan } }: PlanView,
): WaitReason | undefined {
  const os = labels['kubernetes.io/os'] ?? 'linux';
  if (plan.work.kind !== 'reboot' || os === 'linux') return undefined;
  const helps = `reboot it by a pod of your own (spec.work.job), or leave it out with drydock plan skip ${plan.name} ${name}`;
  return {
    reason: 'NotLinux',
    message: `Node ${name} runs ${os}, and spec.work.reboot is for Linux: ${helps}`,
    node: name,
  };
}

/** Returns the first reason; undefined if the node could be worked on. */
export function ownReason(one: PlanNode, view: PlanView): WaitReason | undefined {
  return (
    notReady(one, view) ?? noReplacement(one, view) ?? unbootable(one, view) ?? heldBy(one, view)
  );
}

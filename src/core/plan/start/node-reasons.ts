import { unsoundness } from '../in-service.ts';
import type { PlanNode, PlanSnapshot, Waiting } from '../snapshot.ts';
import { type NodeUnavailability, outageBy } from '../unavailability.ts';
import type { PlanView } from '../view.ts';

/** Why a node itself cannot be begun with, whatever limits and times say. */

/** A plan that has left it held, and has it not in flight: the work of that plan has failed on it, and what is on it nobody knows. */
const leftBy = (node: PlanNode['node'], { plan, outages, others }: PlanSnapshot): string | undefined => {
  const isFlying = (by: string): boolean =>
    others.some(({ name, inFlight }) => outageBy(name) === by && inFlight.some(one => one.node === node.name));
  const found = (outages.get(node.name) ?? []).find(({ cause, by }) => cause === 'Plan' && by !== outageBy(plan.name) && !isFlying(by));
  return found?.by;
};

/** Nobody works on a node beside whoever else has it out of service, or when it is about to be gone. Plans share it, one after the other. */
const heldBy = ({ node }: PlanNode, { snapshot }: PlanView): Waiting | undefined => {
  const { foreignCordon } = snapshot.plan.concurrency;
  const outages = snapshot.outages.get(node.name) ?? [];
  const isShared = ({ cause }: NodeUnavailability): boolean =>
    cause === 'Plan' || cause === 'NotReady' || (cause === 'ForeignCordon' && foreignCordon !== 'Wait');
  const held = outages.find(outage => !isShared(outage));
  if (held !== undefined) return { word: 'HeldBy', who: held.by, node: node.name };
  const left = leftBy(node, snapshot);
  if (left === undefined) return undefined;
  const who = `${left} has failed on it and left it held: retry or release it there, or leave it out with drydock plan skip ${snapshot.plan.name} ${node.name}`;
  return { word: 'HeldBy', who, node: node.name };
};

/** A node that cannot be worked on costs no limit and gets no slot: it has its turn when it is back. */
export const notReady = ({ node }: PlanNode, { snapshot }: PlanView): Waiting | undefined => {
  const lack = unsoundness(node);
  if (lack === undefined || snapshot.plan.work.kind === 'external') return undefined;
  const helps = `it begins when that is over, or leave it out with drydock plan skip ${snapshot.plan.name} ${node.name}`;
  return { word: 'NotReady', who: `Node ${node.name} ${lack}: ${helps}`, node: node.name };
};

/** Nothing would come in the place of a node without a Machine. */
const noReplacement = ({ node, machine, noMachine }: PlanNode, { snapshot }: PlanView): Waiting | undefined =>
  snapshot.plan.work.kind !== 'replace' || machine !== undefined
    ? undefined
    : { word: 'NoMachine', who: `nothing would replace node ${node.name}: ${noMachine ?? 'no Machine is known'}`, node: node.name };

/** The program of the built-in reboot is one for Linux; whoever registers the node says what it runs (kubernetes.io/os). */
const unbootable = ({ node: { name, labels } }: PlanNode, { snapshot: { plan } }: PlanView): Waiting | undefined => {
  const os = labels['kubernetes.io/os'] ?? 'linux';
  if (plan.work.kind !== 'reboot' || os === 'linux') return undefined;
  const helps = `reboot it by a pod of your own (spec.work.job), or leave it out with drydock plan skip ${plan.name} ${name}`;
  return { word: 'NotLinux', who: `Node ${name} runs ${os}, and spec.work.reboot is for Linux: ${helps}`, node: name };
};

/** The first that keeps it; undefined where it could be worked on. */
export const ownReason = (one: PlanNode, view: PlanView): Waiting | undefined =>
  notReady(one, view) ?? noReplacement(one, view) ?? unbootable(one, view) ?? heldBy(one, view);

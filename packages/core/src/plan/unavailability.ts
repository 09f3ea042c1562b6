import { isBefore, timeText } from '@drydock/apimachinery';
import { conditionOf, type Node, removalTaint, taintId, unreadyTaint } from '../node/node.ts';
import type { MaintenanceRequest } from '../request/request.ts';
import type { InFlight } from './in-flight.ts';

/** The one ledger of the cluster: which nodes are out of service, and why. */

/** A reason why a node is out of service. */
export type NodeUnavailability = {
  readonly reason: 'Plan' | 'Maintenance' | 'ForeignCordon' | 'NotReady' | 'Deleting';
  /** Text for people: `plan firmware`, `Maintenance disks`, `a cordon that is not ours`. */
  readonly by: string;
};

/** Returns how an outage names its plan. */
export function outageBy(plan: string): string {
  return `plan ${plan}`;
}

/** A Machine that is being deleted, and its Node by identity. */
export type DeletedMachine = { readonly name: string; readonly nodeName: string };

type Inputs = {
  readonly nodes: Iterable<Node>;
  readonly requests: Iterable<MaintenanceRequest>;
  readonly plans: Iterable<{ readonly name: string; readonly inFlight: readonly InFlight[] }>;
  readonly machines: Iterable<DeletedMachine>;
};

/** Reports whether it waits for its time, or was given up: the node is in service. */
function isIdle({ level, history, status }: MaintenanceRequest): boolean {
  return (
    level === 'Announce' ||
    history.failure === 'Released' ||
    history.failure === 'NodeNotFound' ||
    ((history.state ?? 'Pending') === 'Pending' && typeof status['scheduledTime'] === 'string')
  );
}

function ofNode(node: Node, claimed: boolean): readonly NodeUnavailability[] {
  const found: NodeUnavailability[] = [];
  const ready = conditionOf(node, 'Ready');
  if (ready?.status !== 'True')
    found.push({ reason: 'NotReady', by: `Node ${node.name} is not Ready` });
  if (node.deleting) found.push({ reason: 'Deleting', by: `Node ${node.name} is being deleted` });
  const [removal, unready] = [removalTaint(node), unreadyTaint(node)];
  if (removal !== undefined)
    found.push({
      reason: 'Deleting',
      by: `taint ${taintId(removal)} of ${node.name}, which is being removed`,
    });
  else if (unready !== undefined && ready?.status === 'True')
    found.push({
      reason: 'NotReady',
      by: `taint ${taintId(unready)} of ${node.name}, on which no pod can run`,
    });
  if (node.unschedulable && !claimed) {
    const by =
      node.holdRecord === undefined
        ? `a cordon of ${node.name} that is not ours`
        : `a hold of ${node.name} that is being released`;
    found.push({ reason: node.holdRecord === undefined ? 'ForeignCordon' : 'Maintenance', by });
  }
  return found;
}

/**
 * Returns the reasons that take nodes out of service now, by the node's name; nodes in service are
 * left out. A node that a plan has begun with counts from the moment that its slot is written,
 * before anything is done to it.
 */
export function outagesOf({
  nodes,
  requests,
  plans,
  machines,
}: Inputs): ReadonlyMap<string, readonly NodeUnavailability[]> {
  const all = new Map<string, NodeUnavailability[]>();
  const add = (name: string, outage: NodeUnavailability): void => {
    const list = all.get(name);
    if (list === undefined) all.set(name, [outage]);
    else if (!list.some(({ by }) => by === outage.by)) list.push(outage);
  };
  for (const { name, inFlight } of plans)
    for (const { node } of inFlight) add(node, { reason: 'Plan', by: outageBy(name) });
  for (const request of requests) {
    if (isIdle(request)) continue;
    const outage: NodeUnavailability =
      request.plan === undefined
        ? { reason: 'Maintenance', by: `${request.adapter.kind} ${request.name}` }
        : { reason: 'Plan', by: outageBy(request.plan) };
    add(request.nodeName, outage);
  }
  for (const node of nodes)
    for (const outage of ofNode(node, all.has(node.name))) add(node.name, outage);
  // A rollout deletes the old Machines: their nodes are drained and gone soon, and are still Ready.
  for (const { name, nodeName } of machines)
    add(nodeName, { reason: 'Deleting', by: `Machine ${name}, which is being deleted` });
  return all;
}

/** Returns the names of nodes that are out of service. */
export function unavailableOf(
  names: Iterable<string>,
  outages: ReadonlyMap<string, readonly NodeUnavailability[]>,
): readonly string[] {
  return [...names].filter(name => outages.has(name));
}

/**
 * A pause of a plan: by `paused`, which stays until a user removes it, or by `pause`, which may
 * have a reason and an end.
 */

export type Pause = { readonly reason?: string; readonly until?: Temporal.Instant };

type Paused = { readonly paused: boolean; readonly pause?: Pause };

function isPast({ until }: Pause, now: Temporal.Instant): boolean {
  return until !== undefined && !isBefore(now, until);
}

/** Returns the pause that holds now. A pause with an end never ends one without. */
export function pauseNow({ paused, pause }: Paused, now: Temporal.Instant): Pause | undefined {
  const known = pause === undefined || isPast(pause, now) ? undefined : pause;
  if (!paused) return known;
  return known?.reason === undefined ? {} : { reason: known.reason };
}

/** Returns the pause that has reached its end, and is still in the spec. */
export function pauseOver(plan: Paused, now: Temporal.Instant): Pause | undefined {
  return plan.pause !== undefined && pauseNow(plan, now) === undefined ? plan.pause : undefined;
}

/** Returns the time at which the paused plan continues on its own. */
export function pauseEnd(plan: Paused, now: Temporal.Instant): Temporal.Instant | undefined {
  return pauseNow(plan, now)?.until;
}

/** Returns the text of a pause, with its end and reason around the rest of the message. */
export function pauseText({ until, reason }: Pause, rest = ''): string {
  return `Paused${until === undefined ? '' : ` until ${timeText(until)}`}${rest}${reason === undefined ? '' : `: ${reason}`}`;
}

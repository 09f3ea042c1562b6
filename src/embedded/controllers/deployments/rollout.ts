import { at, part, type Stored } from '../../object.ts';
import { scaled } from '../budgets/scaled.ts';
import { counted, replicasOf } from '../workload.ts';

/** The arithmetic of a Deployment's rollout (k8s.io/kubernetes/pkg/controller/deployment), pure. */

export type RollingUpdateLimits = { readonly maxSurge: number; readonly maxUnavailable: number };

/** A rolling update always has room to move: when both are nothing, one may be unavailable (ResolveFenceposts). */
export const limitsOf = (deployment: Stored): RollingUpdateLimits => {
  if (at(deployment, 'spec', 'strategy', 'type') === 'Recreate') return { maxSurge: 0, maxUnavailable: 0 };
  const rolling = part(deployment, 'spec', 'strategy', 'rollingUpdate');
  const replicas = replicasOf(deployment);
  const maxSurge = scaled(rolling['maxSurge'] ?? '25%', replicas, 'up') ?? 0;
  const share = scaled(rolling['maxUnavailable'] ?? '25%', replicas, 'down') ?? 0;
  const maxUnavailable = maxSurge === 0 && share === 0 ? 1 : share;
  return { maxSurge, maxUnavailable: Math.min(maxUnavailable, replicas) };
};

/** A replica set as the arithmetic sees it: what it is told to have, and what it has. */
export type Share = { readonly set: Stored; readonly wanted: number; readonly available: number };

export const shareOf = (set: Stored): Share => ({ set, wanted: replicasOf(set), available: counted(set, 'availableReplicas') });

/** How many replicas the new set is to have now: as many as fit under the surge. */
export const newReplicas = (replicas: number, limits: RollingUpdateLimits, fresh: number, all: number): number => {
  if (fresh > replicas) return replicas;
  const room = replicas + limits.maxSurge - all;
  return room <= 0 ? fresh : Math.min(fresh + room, replicas);
};

/** What the old sets may lose now, the ones without available pods first; by set, in the order given (oldest first). */
export const oldReplicas = (
  replicas: number,
  limits: RollingUpdateLimits,
  fresh: Share | undefined,
  old: readonly Share[],
): ReadonlyMap<Stored, number> => {
  const minAvailable = replicas - limits.maxUnavailable;
  const all = old.reduce((sum, { wanted }) => sum + wanted, fresh?.wanted ?? 0);
  const freshUnavailable = fresh === undefined ? 0 : fresh.wanted - fresh.available;
  let mayGo = all - minAvailable - freshUnavailable;
  const left = new Map(old.map(({ set, wanted }) => [set, wanted] as const));
  // A set that still has more than it is told to have is on its way down: the controller waits for it.
  if (mayGo <= 0 || old.some(({ wanted, available }) => wanted > 0 && available > wanted)) return left;
  for (const { set, wanted, available } of old) {
    const unhealthy = Math.min(mayGo, wanted - available);
    left.set(set, wanted - unhealthy);
    mayGo -= unhealthy;
  }
  const available = old.reduce((sum, one) => sum + one.available, fresh?.available ?? 0);
  let spare = available - minAvailable;
  for (const { set } of old) {
    const gone = Math.max(0, Math.min(spare, left.get(set) ?? 0));
    left.set(set, (left.get(set) ?? 0) - gone);
    spare -= gone;
  }
  return left;
};

/** A set in a rollout whose Deployment gets another size. */
export type RolloutMember = {
  readonly wanted: number;
  readonly createdMs: number;
  /** The most pods there might be when it was scaled last. */
  readonly most: number | undefined;
};

/** Half away from zero, as Go rounds. */
const rounded = (value: number): number => (value < 0 ? -Math.round(-value) : Math.round(value));

const fraction = ({ wanted, most }: RolloutMember, replicas: number, allowed: number, total: number): number => {
  if (replicas === 0) return -wanted;
  const before = most || total;
  return before === 0 ? 0 : rounded((wanted * allowed) / before) - wanted;
};

/**
 * A new size is shared out among all sets of a rollout in proportion to theirs, so that it neither hastens nor delays it (the proportional
 * scaling of sync.go). The answer keeps the order of the members. `total` is what the Deployment has.
 */
export const proportions = (members: readonly RolloutMember[], replicas: number, maxSurge: number, total: number): readonly number[] => {
  const allowed = replicas > 0 ? replicas + maxSurge : 0;
  const toAdd = allowed - members.reduce((sum, { wanted }) => sum + wanted, 0);
  const sizes = members.map(({ wanted }) => wanted);
  const order = [...members.keys()].toSorted((one, other) => {
    const [a, b] = [members[one], members[other]];
    if (a === undefined || b === undefined) return 0;
    return b.wanted - a.wanted || (toAdd > 0 ? b.createdMs - a.createdMs : a.createdMs - b.createdMs);
  });
  let added = 0;
  for (const index of order) {
    const member = members[index];
    if (member === undefined || member.wanted === 0 || toAdd === added) continue;
    const share = fraction(member, replicas, replicas + maxSurge, total);
    const part = toAdd > 0 ? Math.min(share, toAdd - added) : Math.max(share, toAdd - added);
    sizes[index] = member.wanted + part;
    added += part;
  }
  const [largest] = order;
  if (largest !== undefined && toAdd !== 0) sizes[largest] = Math.max(0, (sizes[largest] ?? 0) + toAdd - added);
  return sizes;
};

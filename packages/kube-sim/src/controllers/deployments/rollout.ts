import { at, part, type Stored } from '../../object.ts';
import { scaled } from '../budgets/disruption.ts';
import { counted, replicasOf } from '../workload.ts';

/** Arithmetic of a Deployment's rollout (k8s.io/kubernetes/pkg/controller/deployment), pure. */

export type RollingUpdateLimits = { readonly maxSurge: number; readonly maxUnavailable: number };

/**
 * Returns the limits of a rolling update; if both are zero, one pod may be unavailable
 * (ResolveFenceposts).
 */
export function limitsOf(deployment: Stored): RollingUpdateLimits {
  if (at(deployment, 'spec', 'strategy', 'type') === 'Recreate')
    return { maxSurge: 0, maxUnavailable: 0 };
  const rolling = part(deployment, 'spec', 'strategy', 'rollingUpdate');
  const replicas = replicasOf(deployment);
  const maxSurge = scaled(rolling['maxSurge'] ?? '25%', replicas, 'up') ?? 0;
  const share = scaled(rolling['maxUnavailable'] ?? '25%', replicas, 'down') ?? 0;
  const maxUnavailable = maxSurge === 0 && share === 0 ? 1 : share;
  return { maxSurge, maxUnavailable: Math.min(maxUnavailable, replicas) };
}

/** A ReplicaSet's wanted and available pods. */
export type Share = { readonly set: Stored; readonly wanted: number; readonly available: number };

export function shareOf(set: Stored): Share {
  return { set, wanted: replicasOf(set), available: counted(set, 'availableReplicas') };
}

/** Returns the new set's replicas: as many as the surge allows. */
export function newReplicas(
  replicas: number,
  limits: RollingUpdateLimits,
  fresh: number,
  all: number,
): number {
  if (fresh > replicas) return replicas;
  const room = replicas + limits.maxSurge - all;
  return room <= 0 ? fresh : Math.min(fresh + room, replicas);
}

/**
 * Returns the old sets' replicas after this step, those without available pods reduced first; by
 * set, in the order given (oldest first).
 */
export function oldReplicas(
  replicas: number,
  limits: RollingUpdateLimits,
  fresh: Share | undefined,
  old: readonly Share[],
): ReadonlyMap<Stored, number> {
  const minAvailable = replicas - limits.maxUnavailable;
  const all = old.reduce((sum, { wanted }) => sum + wanted, fresh?.wanted ?? 0);
  const freshUnavailable = fresh === undefined ? 0 : fresh.wanted - fresh.available;
  let mayGo = all - minAvailable - freshUnavailable;
  const left = new Map(old.map(({ set, wanted }) => [set, wanted] as const));
  // A set with more available pods than wanted is still scaling down: the controller waits for it.
  if (mayGo <= 0 || old.some(({ wanted, available }) => wanted > 0 && available > wanted))
    return left;
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
}

/** A set in a rollout whose Deployment is resized. */
export type RolloutMember = {
  readonly wanted: number;
  readonly createdMs: number;
  /** Maximum number of pods when it was scaled last. */
  readonly most: number | undefined;
};

/** Rounds half away from zero, as Go does. */
function rounded(value: number): number {
  return value < 0 ? -Math.round(-value) : Math.round(value);
}

function fraction(
  { wanted, most }: RolloutMember,
  replicas: number,
  allowed: number,
  total: number,
): number {
  if (replicas === 0) return -wanted;
  const before = most || total;
  return before === 0 ? 0 : rounded((wanted * allowed) / before) - wanted;
}

/**
 * Distributes a new size among all sets of a rollout in proportion to theirs, so that it neither
 * speeds up nor delays the rollout (the proportional scaling of sync.go). Returns sizes in the
 * order of the members. `total` is the Deployment's present number of pods.
 */
export function proportions(
  members: readonly RolloutMember[],
  replicas: number,
  maxSurge: number,
  total: number,
): readonly number[] {
  const allowed = replicas > 0 ? replicas + maxSurge : 0;
  const toAdd = allowed - members.reduce((sum, { wanted }) => sum + wanted, 0);
  const sizes = members.map(({ wanted }) => wanted);
  const order = [...members.keys()].toSorted((one, other) => {
    const [a, b] = [members[one], members[other]];
    if (a === undefined || b === undefined) return 0;
    return (
      b.wanted - a.wanted || (toAdd > 0 ? b.createdMs - a.createdMs : a.createdMs - b.createdMs)
    );
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
  if (largest !== undefined && toAdd !== 0)
    sizes[largest] = Math.max(0, (sizes[largest] ?? 0) + toAdd - added);
  return sizes;
}

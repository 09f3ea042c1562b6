import { at, part, type Stored } from '../object.ts';
import { replicasOf } from './replica-set.ts';
import { scaled } from './scaled.ts';

/** The arithmetic of a Deployment's rollout (k8s.io/kubernetes/pkg/controller/deployment), pure. */

export type Limits = { readonly maxSurge: number; readonly maxUnavailable: number };

/** A rolling update always has room to move: when both are nothing, one may be unavailable (ResolveFenceposts). */
export const limitsOf = (deployment: Stored): Limits => {
  const rolling = part(deployment, 'spec', 'strategy', 'rollingUpdate');
  const replicas = replicasOf(deployment);
  const maxSurge = scaled(rolling['maxSurge'] ?? '25%', replicas, 'up') ?? 0;
  const maxUnavailable = Math.min(scaled(rolling['maxUnavailable'] ?? '25%', replicas, 'down') ?? 0, replicas);
  return maxSurge === 0 && maxUnavailable === 0 ? { maxSurge, maxUnavailable: 1 } : { maxSurge, maxUnavailable };
};

/** A replica set as the arithmetic sees it: what it is told to have, and what it has. */
export type Share = { readonly set: Stored; readonly wanted: number; readonly available: number };

export const shareOf = (set: Stored): Share => ({
  set,
  wanted: replicasOf(set),
  available: Number(at(set, 'status', 'availableReplicas') ?? 0),
});

/** How many replicas the new set is to have now: as many as fit under the surge. */
export const newReplicas = (replicas: number, limits: Limits, fresh: number, all: number): number => {
  const room = replicas + limits.maxSurge - all;
  return room <= 0 ? fresh : Math.min(fresh + room, replicas);
};

/** What the old sets may lose now, the ones without available pods first; by set, in the order given (oldest first). */
export const oldReplicas = (
  replicas: number,
  limits: Limits,
  fresh: Share | undefined,
  old: readonly Share[],
): ReadonlyMap<Stored, number> => {
  const minAvailable = replicas - limits.maxUnavailable;
  const all = old.reduce((sum, { wanted }) => sum + wanted, fresh?.wanted ?? 0);
  const freshUnavailable = fresh === undefined ? 0 : fresh.wanted - fresh.available;
  let mayGo = all - minAvailable - freshUnavailable;
  const left = new Map(old.map(({ set, wanted }) => [set, wanted] as const));
  if (mayGo <= 0) return left;
  for (const { set, wanted, available } of old) {
    const unhealthy = Math.min(mayGo, Math.max(0, wanted - available));
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

import type { JsonObject } from '@drydock/apimachinery';
import { at, type Stored, text, without } from '../../object.ts';
import { timeText } from '../controller.ts';
import {
  conditionOf,
  conditionsOf,
  type Statement,
  withoutCondition,
  withStatement,
} from '../namespaces.ts';
import { counted, replicasOf } from '../workload.ts';
import { limitsOf } from './rollout.ts';
import { allOf, type Sets, wantedIn } from './sets.ts';

/** The status of a Deployment (sync.go, progress.go), as pure functions. */

const available: Statement = {
  type: 'Available',
  status: 'True',
  reason: 'MinimumReplicasAvailable',
  message: 'Deployment has minimum availability.',
};
const unavailable: Statement = {
  type: 'Available',
  status: 'False',
  reason: 'MinimumReplicasUnavailable',
  message: 'Deployment does not have minimum availability.',
};

export function progressing(status: string, reason: string, message: string): Statement {
  return {
    type: 'Progressing',
    status,
    reason,
    message,
  };
}

/**
 * Returns the seconds without progress after which a rollout counts as stuck; undefined without a
 * deadline.
 */
export function deadlineOf(deployment: Stored): number | undefined {
  const seconds = at(deployment, 'spec', 'progressDeadlineSeconds');
  return typeof seconds === 'number' && seconds !== 2 ** 31 - 1 ? seconds : undefined;
}

function sum(all: readonly Stored[], field: string): number {
  return all.reduce((total, set) => total + counted(set, field), 0);
}

/** Returns counts and availability, with the present conditions (calculateStatus). */
export function plainStatus(deployment: Stored, sets: Sets, nowMs: number): JsonObject {
  const all = allOf(sets);
  const ready = sum(all, 'availableReplicas');
  const enough = ready >= replicasOf(deployment) - limitsOf(deployment).maxUnavailable;
  const conditions = withStatement(
    conditionsOf(deployment),
    enough ? available : unavailable,
    timeText(nowMs),
  );
  return without({
    observedGeneration: deployment.metadata.generation ?? 0,
    replicas: sum(all, 'replicas') || undefined,
    updatedReplicas: counted(sets.fresh, 'replicas') || undefined,
    readyReplicas: sum(all, 'readyReplicas') || undefined,
    availableReplicas: ready || undefined,
    unavailableReplicas: Math.max(0, wantedIn(all) - ready) || undefined,
    terminatingReplicas: sum(all, 'terminatingReplicas'),
    collisionCount: at(deployment, 'status', 'collisionCount'),
    conditions: [...conditions],
  });
}

function numberIn(status: JsonObject, field: string): number {
  return Number(status[field] ?? 0);
}

/** Returns whether all of its pods are new and available, without old ones (DeploymentComplete). */
export function isComplete(deployment: Stored, status: JsonObject): boolean {
  const replicas = replicasOf(deployment);
  const full = ['updatedReplicas', 'replicas', 'availableReplicas'].every(
    field => numberIn(status, field) === replicas,
  );
  return full && numberIn(status, 'observedGeneration') >= (deployment.metadata.generation ?? 0);
}

/**
 * Returns whether there are more new pods, fewer old ones, or more ready ones
 * (DeploymentProgressing).
 */
function hasProgressed(before: JsonObject, status: JsonObject): boolean {
  const old = (of: JsonObject): number =>
    numberIn(of, 'replicas') - numberIn(of, 'updatedReplicas');
  const more = ['updatedReplicas', 'readyReplicas', 'availableReplicas'].some(
    field => numberIn(status, field) > numberIn(before, field),
  );
  return more || old(status) < old(before);
}

function hasTimedOut(current: JsonObject | undefined, seconds: number, nowMs: number): boolean {
  if (current === undefined || current['reason'] === 'NewReplicaSetAvailable') return false;
  if (current['reason'] === 'ProgressDeadlineExceeded') return true;
  return Date.parse(text(current, 'lastUpdateTime')) + seconds * 1000 < nowMs;
}

function withProgress(
  deployment: Stored,
  status: JsonObject,
  fresh: string,
  seconds: number,
  nowMs: number,
): readonly JsonObject[] {
  const conditions = conditionsOf({ ...deployment, status });
  const current = conditionOf(conditionsOf(deployment), 'Progressing');
  const now = timeText(nowMs);
  if (isComplete(deployment, status)) {
    return withStatement(
      conditions,
      progressing('True', 'NewReplicaSetAvailable', `${fresh} has successfully progressed.`),
      now,
    );
  }
  if (hasProgressed((at(deployment, 'status') ?? {}) as JsonObject, status)) {
    return withStatement(
      conditions,
      progressing('True', 'ReplicaSetUpdated', `${fresh} is progressing.`),
      now,
      true,
    );
  }
  if (!hasTimedOut(current, seconds, nowMs)) return conditions;
  return withStatement(
    conditions,
    progressing('False', 'ProgressDeadlineExceeded', `${fresh} has timed out progressing.`),
    now,
  );
}

/**
 * Copies the ReplicaFailure condition of a set to the Deployment, preferably that of the newest set
 * (getReplicaFailures).
 */
function withFailures(
  conditions: readonly JsonObject[],
  { fresh, old }: Sets,
): readonly JsonObject[] {
  const [failure] = [fresh, ...old].flatMap<JsonObject>(
    set => conditionOf(conditionsOf(set), 'ReplicaFailure') ?? [],
  );
  const before = conditionOf(conditions, 'ReplicaFailure');
  if (failure === undefined) return withoutCondition(conditions, 'ReplicaFailure');
  if (
    before !== undefined &&
    before['status'] === failure['status'] &&
    before['reason'] === failure['reason']
  )
    return conditions;
  return [
    ...withoutCondition(conditions, 'ReplicaFailure'),
    { ...failure, lastUpdateTime: failure['lastTransitionTime'] },
  ];
}

/**
 * Returns the status of a rollout: evaluates progress, unless it had already ended
 * (syncRolloutStatus).
 */
export function rolloutStatus(deployment: Stored, sets: Sets, nowMs: number): JsonObject {
  const status = plainStatus(deployment, sets, nowMs);
  const seconds = deadlineOf(deployment);
  const current = conditionOf(conditionsOf(deployment), 'Progressing');
  const isOver =
    numberIn(status, 'replicas') === numberIn(status, 'updatedReplicas') &&
    current?.['reason'] === 'NewReplicaSetAvailable';
  const fresh =
    sets.fresh === undefined
      ? `Deployment "${deployment.metadata.name}"`
      : `ReplicaSet "${sets.fresh.metadata.name}"`;
  const own = conditionsOf({ ...deployment, status });
  const judged =
    seconds === undefined
      ? withoutCondition(own, 'Progressing')
      : isOver
        ? own
        : withProgress(deployment, status, fresh, seconds, nowMs);
  return { ...status, conditions: [...withFailures(judged, sets)] };
}

/**
 * Returns milliseconds until the next check of a rollout without progress (requeueStuckDeployment).
 */
export function checkAgain(
  deployment: Stored,
  status: JsonObject,
  nowMs: number,
): number | undefined {
  const seconds = deadlineOf(deployment);
  const current = conditionOf(conditionsOf(deployment), 'Progressing');
  if (seconds === undefined || current === undefined) return undefined;
  // A rollout that had already ended never times out either, which upstream checks again every few
  // milliseconds.
  const isJudged =
    current['reason'] === 'ProgressDeadlineExceeded' ||
    current['reason'] === 'NewReplicaSetAvailable';
  if (isComplete(deployment, status) || isJudged) return undefined;
  const left = Date.parse(text(current, 'lastUpdateTime')) + seconds * 1000 - nowMs;
  return left < 1000 ? 100 : left + 1000;
}

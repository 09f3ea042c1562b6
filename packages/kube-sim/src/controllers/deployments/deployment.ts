import type { JsonObject } from '@drydock/apimachinery';
import { at, type Stored } from '../../object.ts';
import {
  type Cluster,
  type Controller,
  isFinished,
  split,
  timeText,
  type Written,
} from '../controller.ts';
import { conditionOf, conditionsOf, withStatement } from '../namespaces.ts';
import { concerned, counted, replicasOf, report } from '../workload.ts';
import { limitsOf, newReplicas, oldReplicas, proportions, shareOf } from './rollout.ts';
import {
  activeOf,
  allOf,
  by,
  desiredOf,
  forget,
  makeSet,
  maxOf,
  resource,
  revisionAnnotation,
  type Sets,
  scale,
  setsOf,
  syncFresh,
  wantedIn,
} from './sets.ts';
import {
  checkAgain,
  deadlineOf,
  isComplete,
  plainStatus,
  progressing,
  rolloutStatus,
} from './status.ts';

/**
 * Deployments (k8s.io/kubernetes/pkg/controller/deployment): roll out the newest template, a few
 * pods at a time, one step a round.
 */

function statusPart(deployment: Stored): JsonObject {
  return (at(deployment, 'status') ?? {}) as JsonObject;
}

function isPaused(deployment: Stored): boolean {
  return at(deployment, 'spec', 'paused') === true;
}

/** Requeue delay after a write to the Deployment itself. */
const anew = 0;

function againAfter(written: Written | undefined): number | undefined {
  if (written === undefined) return undefined;
  // A conflict with another write of the same round is retried. Any other error would repeat.
  return written.kind === 'stored' || written.code === 409 ? anew : undefined;
}

/**
 * Records a pause, or its end, so that the time in between does not count as a lack of progress
 * (checkPausedConditions). Returns whether it wrote that.
 */
function notePause(cluster: Cluster, deployment: Stored): boolean {
  const conditions = conditionsOf(deployment);
  const reason = conditionOf(conditions, 'Progressing')?.['reason'];
  if (deadlineOf(deployment) === undefined || reason === 'ProgressDeadlineExceeded') return false;
  if (isPaused(deployment) === (reason === 'DeploymentPaused')) return false;
  const said = isPaused(deployment)
    ? progressing('Unknown', 'DeploymentPaused', 'Deployment is paused')
    : progressing('Unknown', 'DeploymentResumed', 'Deployment is resumed');
  const status = {
    ...statusPart(deployment),
    conditions: [...withStatement(conditions, said, timeText(cluster.nowMs()))],
  };
  return cluster.writes.update(resource, { ...deployment, status }, 'status').kind === 'stored';
}

/** Records the revision of the newest set, with its condition. Returns whether it wrote that. */
function noteRevision(
  cluster: Cluster,
  deployment: Stored,
  set: string,
  revision: string,
  isMade: boolean,
): boolean {
  const annotations = { ...deployment.metadata.annotations, [revisionAnnotation]: revision };
  const conditions = conditionsOf(deployment);
  const isNew =
    deadlineOf(deployment) !== undefined &&
    (isMade || conditionOf(conditions, 'Progressing') === undefined);
  if (deployment.metadata.annotations?.[revisionAnnotation] === revision && !isNew) return false;
  const [reason, verb] = isMade
    ? ['NewReplicaSetCreated', 'Created']
    : ['FoundNewReplicaSet', 'Found'];
  const said = withStatement(
    conditions,
    progressing('True', reason, `${verb} new replica set "${set}"`),
    timeText(cluster.nowMs()),
  );
  const status = { ...statusPart(deployment), ...(isNew && { conditions: [...said] }) };
  const changed = { ...deployment, metadata: { ...deployment.metadata, annotations }, status };
  return cluster.writes.update(resource, changed, 'status').kind === 'stored';
}

/**
 * Updates the newest set and the Deployment's record of it; returns false after a write, which is
 * followed by another round.
 */
function settle(cluster: Cluster, deployment: Stored, sets: Sets): boolean {
  if (syncFresh(cluster, deployment, sets)) return false;
  const revision = sets.fresh?.metadata.annotations?.[revisionAnnotation];
  return (
    revision === undefined ||
    !noteRevision(cluster, deployment, sets.fresh?.metadata.name ?? '', revision, false)
  );
}

function begin(cluster: Cluster, deployment: Stored, sets: Sets): number | undefined {
  const wanted =
    at(deployment, 'spec', 'strategy', 'type') === 'Recreate'
      ? replicasOf(deployment)
      : newReplicas(replicasOf(deployment), limitsOf(deployment), 0, wantedIn(sets.old));
  const made = makeSet(cluster, deployment, sets, wanted);
  if (made.kind === 'made') {
    noteRevision(cluster, deployment, made.set.metadata.name, made.revision, true);
    return anew;
  }
  if (deadlineOf(deployment) === undefined) return undefined;
  const said = progressing('False', 'ReplicaSetCreateError', made.message);
  const conditions = [...withStatement(conditionsOf(deployment), said, timeText(cluster.nowMs()))];
  return againAfter(
    report(cluster, resource, deployment, { ...statusPart(deployment), conditions }),
  );
}

/** Takes one step of a rolling update; returns whether a set was scaled. */
function roll(cluster: Cluster, deployment: Stored, { fresh, old }: Sets): boolean {
  if (fresh === undefined) return false;
  const [replicas, limits] = [replicasOf(deployment), limitsOf(deployment)];
  const held = wantedIn(old);
  const mine = replicasOf(fresh);
  if (
    mine !== replicas &&
    scale(cluster, deployment, fresh, newReplicas(replicas, limits, mine, held + mine))
  )
    return true;
  if (held === 0) return false;
  const left = oldReplicas(replicas, limits, shareOf(fresh), activeOf(old).map(shareOf));
  return [...left].filter(([set, count]) => scale(cluster, deployment, set, count)).length > 0;
}

function hasOldPods(cluster: Cluster, old: readonly Stored[]): boolean {
  return (
    old.some(set => counted(set, 'replicas') > 0) ||
    old.some(({ metadata }) =>
      cluster.store.indexed('pods', 'owner', metadata.uid).some(pod => !isFinished(pod)),
    )
  );
}

/**
 * Takes one step of a recreation: all old pods are gone before the first new one. Returns false
 * when it is too early for a new set.
 */
function recreate(cluster: Cluster, deployment: Stored, { fresh, old }: Sets): boolean {
  const scaledDown = activeOf(old).filter(set => scale(cluster, deployment, set, 0)).length > 0;
  if (scaledDown || hasOldPods(cluster, old)) return false;
  if (fresh !== undefined) scale(cluster, deployment, fresh, replicasOf(deployment));
  return true;
}

/** Scales the sets after a resize, or while paused: in proportion to the size of each. */
function resize(cluster: Cluster, deployment: Stored, sets: Sets): void {
  const all = allOf(sets);
  const active = activeOf(all);
  const newest = sets.fresh ?? sets.old.at(-1);
  const only = active.length > 1 ? undefined : (active[0] ?? newest);
  const replicas = replicasOf(deployment);
  if (only !== undefined) return void scale(cluster, deployment, only, replicas);
  const { fresh } = sets;
  const saturated =
    fresh !== undefined &&
    [replicasOf(fresh), desiredOf(fresh), counted(fresh, 'availableReplicas')].every(
      count => count === replicas,
    );
  if (saturated) {
    for (const set of activeOf(sets.old)) scale(cluster, deployment, set, 0);
    return;
  }
  if (at(deployment, 'spec', 'strategy', 'type') === 'Recreate') return;
  const members = active.map(set => ({
    wanted: replicasOf(set),
    createdMs: Date.parse(set.metadata.creationTimestamp),
    most: maxOf(set),
  }));
  const sizes = proportions(
    members,
    replicas,
    limitsOf(deployment).maxSurge,
    counted(deployment, 'replicas'),
  );
  for (const [index, set] of active.entries())
    scale(cluster, deployment, set, sizes[index] ?? 0, true);
}

/** Returns whether a set was scaled for another size of the Deployment. */
function isResized(deployment: Stored, sets: Sets): boolean {
  return activeOf(allOf(sets)).some(
    set => (desiredOf(set) ?? replicasOf(deployment)) !== replicasOf(deployment),
  );
}

function reportPlainly(cluster: Cluster, deployment: Stored): number | undefined {
  return againAfter(
    report(
      cluster,
      resource,
      deployment,
      plainStatus(deployment, setsOf(cluster, deployment), cluster.nowMs()),
    ),
  );
}

function advance(cluster: Cluster, deployment: Stored, sets: Sets): number | undefined {
  const recreates = at(deployment, 'spec', 'strategy', 'type') === 'Recreate';
  const mayGoOn = recreates ? recreate(cluster, deployment, sets) : true;
  if (sets.fresh === undefined && mayGoOn) return begin(cluster, deployment, sets);
  const scaled = !recreates && roll(cluster, deployment, sets);
  if (mayGoOn && !scaled && isComplete(deployment, statusPart(deployment)))
    forget(cluster, deployment, sets);
  const status = rolloutStatus(deployment, setsOf(cluster, deployment), cluster.nowMs());
  const written = report(cluster, resource, deployment, status);
  if (written === undefined) return checkAgain(deployment, status, cluster.nowMs());
  // Once the rollout is complete, old sets may be deleted.
  if (written.kind === 'refused' || isComplete(written.object, status)) return againAfter(written);
  return checkAgain(written.object, status, cluster.nowMs());
}

function step(cluster: Cluster, deployment: Stored, sets: Sets): number | undefined {
  if (!settle(cluster, deployment, sets)) return anew;
  if (!isPaused(deployment) && !isResized(deployment, sets))
    return advance(cluster, deployment, sets);
  resize(cluster, deployment, sets);
  if (isPaused(deployment)) forget(cluster, deployment, sets);
  return reportPlainly(cluster, deployment);
}

function reconcile(key: string, cluster: Cluster): number | undefined {
  const [namespace, name] = split(key);
  const deployment = cluster.store.get(resource, namespace, name);
  if (deployment === undefined) return undefined;
  const sets = setsOf(cluster, deployment);
  if (deployment.metadata.deletionTimestamp !== undefined)
    return reportPlainly(cluster, deployment);
  // The changes of its sets take effect all the same; the rest of its status is refused as
  // outdated.
  const isNoted = notePause(cluster, deployment);
  const again = step(cluster, deployment, sets);
  return isNoted ? anew : again;
}

export const deploymentController: Controller = {
  name: by,
  settles: resource,
  keysOf: concerned(resource, 'Deployment', 'replicasets.apps'),
  reconcile,
};

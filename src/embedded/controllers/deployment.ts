import type { JsonObject } from '../../core/json.ts';
import { at, objects, part, type Stored, strings } from '../object.ts';
import { type Cluster, type Controller, keyOf, split, timeText } from './controller.ts';
import { controllerReference } from './pods.ts';
import { isOwnedBy, replicasOf, templateOf } from './replica-set.ts';
import { limitsOf, newReplicas, oldReplicas, shareOf } from './rollout.ts';
import { canonical, templateHash } from './template-hash.ts';
import { ownerKeys, report } from './workload.ts';

/** Deployments (k8s.io/kubernetes/pkg/controller/deployment): the newest template everywhere, a few pods at a time. */

const resource = 'deployments.apps';
const sets = 'replicasets.apps';
const hashLabel = 'pod-template-hash';
const revisionAnnotation = 'deployment.kubernetes.io/revision';

const withoutHash = (template: JsonObject): JsonObject => {
  const metadata = part(template, 'metadata');
  const { [hashLabel]: _hash, ...labels } = strings(metadata['labels']);
  return { ...template, metadata: { ...metadata, labels } };
};

const byAge = (one: Stored, other: Stored): number =>
  Date.parse(one.metadata.creationTimestamp) - Date.parse(other.metadata.creationTimestamp) ||
  (one.metadata.name < other.metadata.name ? -1 : 1);

/** Its replica sets, oldest first. */
const setsOf = (cluster: Cluster, { metadata }: Stored): readonly Stored[] =>
  cluster.store
    .indexed(sets, 'owner', metadata.uid)
    .filter(set => isOwnedBy(set, metadata.uid))
    .toSorted(byAge);

const revisionOf = ({ metadata }: Stored): number => Number(metadata.annotations?.[revisionAnnotation] ?? 0);

const makeSet = (cluster: Cluster, deployment: Stored, replicas: number, revision: number): void => {
  const template = templateOf(deployment);
  const hash = templateHash(withoutHash(template));
  const metadata = part(template, 'metadata');
  const labels = { ...strings(metadata['labels']), [hashLabel]: hash };
  const selector = part(deployment, 'spec', 'selector');
  const { maxSurge } = limitsOf(deployment);
  const wanted = replicasOf(deployment);
  const annotations = {
    [revisionAnnotation]: String(revision),
    'deployment.kubernetes.io/desired-replicas': String(wanted),
    'deployment.kubernetes.io/max-replicas': String(wanted + maxSurge),
  };
  const name = `${deployment.metadata.name}-${hash}`;
  const written = cluster.writes.create(sets, {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name,
      namespace: deployment.metadata.namespace ?? '',
      labels,
      annotations,
      ownerReferences: [controllerReference('apps/v1', 'Deployment', deployment)],
    },
    spec: {
      replicas,
      minReadySeconds: Number(at(deployment, 'spec', 'minReadySeconds') ?? 0),
      selector: { ...selector, matchLabels: { ...strings(selector['matchLabels']), [hashLabel]: hash } },
      template: { ...template, metadata: { ...metadata, labels } },
    },
  });
  if (written.kind === 'stored') sayScaled(cluster, deployment, name, 0, replicas);
};

const sayScaled = (cluster: Cluster, object: Stored, set: string, from: number, to: number): void => {
  if (from === to) return;
  const message = `Scaled ${to > from ? 'up' : 'down'} replica set ${set} from ${from} to ${to}`;
  cluster.record({ resource, object }, 'Normal', 'ScalingReplicaSet', message);
};

const scale = (cluster: Cluster, deployment: Stored, set: Stored, replicas: number): void => {
  const before = replicasOf(set);
  if (before === replicas) return;
  const written = cluster.writes.update(sets, { ...set, spec: { ...part(set, 'spec'), replicas } });
  if (written.kind === 'stored') sayScaled(cluster, deployment, set.metadata.name, before, replicas);
};

type Sets = { readonly fresh: Stored | undefined; readonly old: readonly Stored[] };

const sorted = (cluster: Cluster, deployment: Stored): Sets => {
  const all = setsOf(cluster, deployment);
  const wanted = canonical(withoutHash(templateOf(deployment)));
  const fresh = all.find(set => canonical(withoutHash(templateOf(set))) === wanted);
  return { fresh, old: all.filter(set => set !== fresh) };
};

const roll = (cluster: Cluster, deployment: Stored, { fresh, old }: Sets): void => {
  const replicas = replicasOf(deployment);
  const limits = limitsOf(deployment);
  const held = old.reduce((sum, set) => sum + replicasOf(set), 0);
  const recreates = at(deployment, 'spec', 'strategy', 'type') === 'Recreate';
  if (recreates) {
    for (const set of old) scale(cluster, deployment, set, 0);
    if (old.some(set => Number(at(set, 'status', 'replicas') ?? 0) > 0)) return;
  }
  const mine = fresh === undefined ? 0 : replicasOf(fresh);
  const wanted = recreates || old.length === 0 ? replicas : mine > replicas ? replicas : newReplicas(replicas, limits, mine, held + mine);
  if (fresh === undefined) makeSet(cluster, deployment, wanted, Math.max(0, ...old.map(revisionOf)) + 1);
  else scale(cluster, deployment, fresh, wanted);
  if (recreates || held === 0) return;
  const left = oldReplicas(
    replicas,
    limits,
    fresh && shareOf(cluster.store.get(sets, fresh.metadata.namespace ?? '', fresh.metadata.name) ?? fresh),
    old.map(shareOf),
  );
  for (const [set, count] of left) scale(cluster, deployment, set, count);
};

const condition = (
  deployment: Stored,
  type: string,
  status: 'True' | 'False',
  reason: string,
  message: string,
  nowMs: number,
): JsonObject => {
  const before = objects(at(deployment, 'status', 'conditions')).find(one => one['type'] === type);
  const now = timeText(nowMs);
  const same = before?.['status'] === status;
  const unchanged = same && before['reason'] === reason;
  return {
    type,
    status,
    reason,
    message,
    lastUpdateTime: unchanged ? before['lastUpdateTime'] : now,
    lastTransitionTime: same ? before['lastTransitionTime'] : now,
  };
};

const availability = (deployment: Stored, enough: boolean, nowMs: number): JsonObject =>
  enough
    ? condition(deployment, 'Available', 'True', 'MinimumReplicasAvailable', 'Deployment has minimum availability.', nowMs)
    : condition(deployment, 'Available', 'False', 'MinimumReplicasUnavailable', 'Deployment does not have minimum availability.', nowMs);

const progress = (deployment: Stored, done: boolean, set: string, nowMs: number): JsonObject =>
  done
    ? condition(deployment, 'Progressing', 'True', 'NewReplicaSetAvailable', `ReplicaSet "${set}" has successfully progressed.`, nowMs)
    : condition(deployment, 'Progressing', 'True', 'ReplicaSetUpdated', `ReplicaSet "${set}" is progressing.`, nowMs);

const statusOf = (cluster: Cluster, deployment: Stored): JsonObject => {
  const { fresh, old } = sorted(cluster, deployment);
  const all = fresh === undefined ? old : [...old, fresh];
  const sum = (field: string, among: readonly Stored[] = all): number =>
    among.reduce((total, set) => total + Number(at(set, 'status', field) ?? 0), 0);
  const replicas = replicasOf(deployment);
  const available = sum('availableReplicas');
  const updated = fresh === undefined ? 0 : sum('replicas', [fresh]);
  const enough = available >= replicas - limitsOf(deployment).maxUnavailable;
  const done = updated === replicas && sum('replicas') === replicas && available === replicas;
  const conditions = [
    availability(deployment, enough, cluster.nowMs()),
    progress(deployment, done, fresh?.metadata.name ?? '', cluster.nowMs()),
  ];
  return {
    observedGeneration: deployment.metadata.generation ?? 0,
    replicas: sum('replicas') || undefined,
    updatedReplicas: updated || undefined,
    readyReplicas: sum('readyReplicas') || undefined,
    availableReplicas: available || undefined,
    unavailableReplicas: Math.max(0, replicas - available) || undefined,
    terminatingReplicas: sum('terminatingReplicas'),
    conditions,
  };
};

const reconcile = (key: string, cluster: Cluster): number | undefined => {
  const [namespace, name] = split(key);
  const deployment = cluster.store.get(resource, namespace, name);
  if (deployment === undefined || deployment.metadata.deletionTimestamp !== undefined) return undefined;
  if (at(deployment, 'spec', 'paused') !== true) roll(cluster, deployment, sorted(cluster, deployment));
  const revision = sorted(cluster, deployment).fresh?.metadata.annotations?.[revisionAnnotation];
  let now = cluster.store.get(resource, namespace, name) ?? deployment;
  if (revision !== undefined && now.metadata.annotations?.[revisionAnnotation] !== revision) {
    const annotations = { ...now.metadata.annotations, [revisionAnnotation]: revision };
    const written = cluster.writes.update(resource, { ...now, metadata: { ...now.metadata, annotations } });
    if (written.kind === 'stored') now = written.object;
  }
  report(cluster, resource, now, statusOf(cluster, now));
  return undefined;
};

export const deploymentController: Controller = {
  name: 'deployment-controller',
  keysOf: (change, cluster) => {
    if (change.resource === resource) return change.type === 'removed' ? [] : [keyOf(change.object)];
    return change.resource === sets ? ownerKeys(cluster, resource, 'Deployment', change.object) : [];
  },
  reconcile,
};

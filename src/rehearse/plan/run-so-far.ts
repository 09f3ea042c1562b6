import type { JsonObject } from '../../core/json.ts';
import { planAnnotation, planApi } from '../../core/plan/plan.ts';
import { isNamedFor, podNameFor, preparePurpose } from '../../core/plan/writes.ts';
import { writesOn } from '../../embedded/controllers/writes.ts';
import { at, objects, part, type Stored, text } from '../../embedded/object.ts';
import { isStuck } from '../prepare/prepare.ts';
import type { Sandbox } from '../simulate/sandbox.ts';
import { type ClusterSnapshot, ofKind } from '../snapshot/cluster-snapshot.ts';

/** A run that is under way when it is rehearsed: what it is done with stays done, and what is in flight is begun with anew. */

export type RunSoFar = {
  /** As records have them, by the name of the node. */
  readonly verdicts: Readonly<Record<string, JsonObject>>;
  /** Names of nodes. */
  readonly inFlight: ReadonlySet<string>;
  /** Nodes that are prepared, or whose preparation has failed or refuses, as the plan's status has them. */
  readonly prepared: readonly JsonObject[];
  /** What pods of the plan that do not start say, by `task on node`: those that are made for the same do not start either. */
  readonly stuck: ReadonlyMap<string, JsonObject>;
};

/** The task and the node that a pod of the plan is for: to get it ready, or to work on it. */
const placeOf = (name: string, node: string): string => `${name.endsWith('-ready') ? 'prepare' : 'work'} on ${node}`;

/** The status of those pods of the plan that wait for what does not come: an image, a volume. Those of this run alone. */
const stuckPods = (plan: JsonObject, { objects: all, takenAt }: ClusterSnapshot): ReadonlyMap<string, JsonObject> => {
  const tasks = [...objects(at(plan, 'status', 'inFlight')), ...objects(at(plan, 'status', 'preparing'))];
  const uids = new Set(tasks.map(task => text(task, 'podUID')).filter(uid => uid !== ''));
  const found = ofKind(all, 'Pod').filter(pod => uids.has(text(pod, 'metadata', 'uid')) && isStuck(pod, takenAt));
  return new Map(found.map(pod => [placeOf(text(pod, 'metadata', 'name'), text(pod, 'spec', 'nodeName')), part(pod, 'status')]));
};

const runOf = (plan: JsonObject): Parameters<typeof preparePurpose>[0] => {
  const [name, uid, since] = [text(plan, 'metadata', 'name'), text(plan, 'metadata', 'uid'), text(plan, 'status', 'run', 'startTime')];
  return { name, uid, ...(since !== '' && { run: { startedAt: Temporal.Instant.from(since) } }) };
};

const isSettled = (one: JsonObject): boolean => ['Prepared', 'Refused', 'Failed'].includes(text(one, 'state'));

const preparedOf = (plan: JsonObject): readonly JsonObject[] => {
  const run = runOf(plan);
  return objects(at(plan, 'status', 'preparing')).filter(
    one => isSettled(one) && isNamedFor(text(one, 'pod'), preparePurpose(run, text(one, 'nodeUID'))),
  );
};

/** What the plan of a copy has done in its run. */
export const runSoFar = (plan: JsonObject, copy: ClusterSnapshot): RunSoFar => {
  const uid = text(plan, 'metadata', 'uid');
  const run = part(plan, 'status', 'run');
  const inFlight = new Set(objects(at(plan, 'status', 'inFlight')).map(one => text(one, 'node')));
  const isOfRun = (record: JsonObject): boolean => {
    const spec = part(record, 'spec');
    return uid !== '' && spec['planUID'] === uid && spec['runID'] === run['id'] && spec['revision'] === run['revision'];
  };
  const records = ofKind(copy.objects, 'MaintenancePlanRecord').filter(isOfRun);
  const verdicts = records.flatMap(record => Object.entries(part(record, 'spec', 'verdicts')) as [string, JsonObject][]);
  return {
    verdicts: Object.fromEntries(verdicts.filter(([node]) => !inFlight.has(node))),
    inFlight,
    prepared: preparedOf(plan),
    stuck: stuckPods(plan, copy),
  };
};

/** Whether there is something that the plan has to be told before it begins. */
export const isUnderWay = ({ verdicts, inFlight, prepared }: RunSoFar): boolean =>
  Object.keys(verdicts).length + inFlight.size + prepared.length > 0;

/** What the pod of the copy says that does not start, where this pod of the rehearsal is for the same. */
export const stuckAs = ({ stuck }: RunSoFar, plan: string, pod: Stored): JsonObject | undefined => {
  if (stuck.size === 0 || pod.metadata.annotations?.[planAnnotation] !== plan) return undefined;
  return stuck.get(placeOf(pod.metadata.name, text(pod, 'spec', 'nodeName')));
};

/** What of the run so far is played as it is, in sentences. */
export const notesOf = ({ verdicts, inFlight, prepared, stuck }: RunSoFar): readonly string[] => {
  const done = Object.keys(verdicts).length;
  const refused = prepared.filter(one => text(one, 'state') !== 'Prepared').length;
  return [
    ...(done === 0 ? [] : [`the run is under way: its ${done} ${done === 1 ? 'verdict stays' : 'verdicts stay'}`]),
    ...(inFlight.size === 0 ? [] : [`${inFlight.size} ${inFlight.size === 1 ? 'node is' : 'nodes are'} in flight: begun again here`]),
    ...(refused === 0 ? [] : [`the preparation of ${refused} ${refused === 1 ? 'node' : 'nodes'} has failed or refuses, and stays so`]),
    ...(stuck.size === 0 ? [] : [`${stuck.size} ${stuck.size === 1 ? 'pod' : 'pods'} of the plan cannot start now, and will not here`]),
  ];
};

/** The copy without the holds of the nodes that are in flight: the operator of the rehearsal releases them. */
export const withoutHolds = (copy: ClusterSnapshot, plan: string, { inFlight }: RunSoFar): ClusterSnapshot => ({
  ...copy,
  objects: copy.objects.filter(
    one =>
      text(one, 'kind') !== 'Maintenance' ||
      text(one, 'metadata', 'annotations', planAnnotation) !== plan ||
      !inFlight.has(text(one, 'spec', 'nodeName')),
  ),
});

const plans = 'maintenanceplans.drydock.dev';

/** A record holds no more. */
const sliceSize = 500;

const written = (outcome: { readonly kind: string; readonly message?: string }): void => {
  if (outcome.kind === 'refused') throw new Error(`a rehearsal could not take over what the plan has done: ${outcome.message ?? ''}`);
};

/** The same entries, of the pods that the plan of the sandbox would have made. */
const takenOver = (plan: Stored, prepared: readonly JsonObject[]): readonly JsonObject[] => {
  const run = runOf(plan);
  const nameFor = (one: JsonObject): string => podNameFor({ plan: run, nonce: 'sofar' }, preparePurpose(run, text(one, 'nodeUID')));
  return prepared.map(one => ({ ...one, pod: nameFor(one) }));
};

/**
 * Gives a paused plan of the sandbox what has been done in its run, and the nodes that it is to begin with by cost. The operator must have seen it: its run is in its
 * status.
 */
export const takeOver = ({ cluster }: Sandbox, name: string, { verdicts, prepared }: RunSoFar, firstNodes: readonly string[]): void => {
  const writes = writesOn(cluster.registry);
  const plan = cluster.registry.store.get(plans, '', name);
  const run = part(plan, 'status', 'run');
  if (plan === undefined || run['id'] === undefined) throw new Error(`plan ${name} has no run in its rehearsal`);
  const all = Object.entries(verdicts);
  for (let slice = 0; slice * sliceSize < all.length; slice += 1) {
    const some = Object.fromEntries(all.slice(slice * sliceSize, (slice + 1) * sliceSize));
    const spec = { planName: name, planUID: plan.metadata.uid, runID: run['id'], revision: run['revision'] ?? '', slice, verdicts: some };
    const record = { apiVersion: planApi, kind: 'MaintenancePlanRecord', metadata: { name: `${name}-so-far-${slice}` }, spec };
    written(writes.create('maintenanceplanrecords.drydock.dev', record));
  }
  if (firstNodes.length + prepared.length === 0) return;
  const about = { runID: run['id'], specHash: '', finishes: true, nodes: 0, windows: 0, podsMoved: 0, podsMovedAgain: 0, blockedNodes: 0 };
  const takenAt = text(run, 'startTime');
  const forecast = { ...about, takenAt, rehearsedAt: takenAt, firstNodes: [...firstNodes] };
  const status = {
    ...part(plan, 'status'),
    ...(firstNodes.length > 0 && { forecast }),
    ...(prepared.length > 0 && { preparing: [...takenOver(plan, prepared)] }),
  };
  written(writes.update(plans, { ...plan, status }, 'status'));
};

/** Lets a paused plan of the sandbox go on. */
export const resume = ({ cluster }: Sandbox, name: string): void => {
  const plan = cluster.registry.store.get(plans, '', name);
  if (plan === undefined) throw new Error(`plan ${name} is gone from its rehearsal`);
  written(writesOn(cluster.registry).update(plans, { ...plan, spec: { ...part(plan, 'spec'), paused: false } }));
};

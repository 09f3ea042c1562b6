import type { JsonObject } from '@drydock/apimachinery';
import {
  isNamedFor,
  planAnnotation,
  planApi,
  podNameFor,
  preparePurpose,
} from '@drydock/core/plan';
import { at, objects, part, type Stored, text } from '@drydock/kube-sim';
import { writesOn } from '@drydock/kube-sim/controllers';
import { isStuck } from '../prepare/prepare.ts';
import type { Sandbox } from '../simulate/sandbox.ts';
import { type ClusterSnapshot, ofKind } from '../snapshot/kept.ts';

/** The current run of a rehearsed plan: done nodes stay done, and nodes in flight start again. */

export type RunSoFar = {
  /** Verdicts in the records, by the name of the node. */
  readonly verdicts: Readonly<Record<string, JsonObject>>;
  /** Names of nodes in flight. */
  readonly inFlight: ReadonlySet<string>;
  /** Nodes whose preparation has succeeded, failed or refused, from the plan's status. */
  readonly prepared: readonly JsonObject[];
  /**
   * Status of the plan's pods that do not start, by `task on node`: pods for the same task do not
   * start either.
   */
  readonly stuck: ReadonlyMap<string, JsonObject>;
};

/** Returns the task and the node of a pod of the plan: preparation, or work. */
function placeOf(name: string, node: string): string {
  return `${name.endsWith('-ready') ? 'prepare' : 'work'} on ${node}`;
}

/**
 * Returns the status of this run's pods that wait for something that does not arrive: an image, a
 * volume.
 */
function stuckPods(
  plan: JsonObject,
  { objects: all, snapshotTime }: ClusterSnapshot,
): ReadonlyMap<string, JsonObject> {
  const tasks = [
    ...objects(at(plan, 'status', 'inFlight')),
    ...objects(at(plan, 'status', 'preparing')),
  ];
  const uids = new Set(tasks.map(task => text(task, 'podUID')).filter(uid => uid !== ''));
  const found = ofKind(all, 'Pod').filter(
    pod => uids.has(text(pod, 'metadata', 'uid')) && isStuck(pod, snapshotTime),
  );
  return new Map(
    found.map(pod => [
      placeOf(text(pod, 'metadata', 'name'), text(pod, 'spec', 'nodeName')),
      part(pod, 'status'),
    ]),
  );
}

function runOf(plan: JsonObject): Parameters<typeof preparePurpose>[0] {
  const [name, uid, since] = [
    text(plan, 'metadata', 'name'),
    text(plan, 'metadata', 'uid'),
    text(plan, 'status', 'run', 'startTime'),
  ];
  return { name, uid, ...(since !== '' && { run: { startedAt: Temporal.Instant.from(since) } }) };
}

function isSettled(one: JsonObject): boolean {
  return ['Prepared', 'Refused', 'Failed'].includes(text(one, 'state'));
}

function preparedOf(plan: JsonObject): readonly JsonObject[] {
  const run = runOf(plan);
  return objects(at(plan, 'status', 'preparing')).filter(
    one =>
      isSettled(one) && isNamedFor(text(one, 'pod'), preparePurpose(run, text(one, 'nodeUID'))),
  );
}

/** Returns the state of the plan's run in a copy. */
export function runSoFar(plan: JsonObject, copy: ClusterSnapshot): RunSoFar {
  const uid = text(plan, 'metadata', 'uid');
  const run = part(plan, 'status', 'run');
  const inFlight = new Set(objects(at(plan, 'status', 'inFlight')).map(one => text(one, 'node')));
  const isOfRun = (record: JsonObject): boolean => {
    const spec = part(record, 'spec');
    return (
      uid !== '' &&
      spec['planUID'] === uid &&
      spec['runID'] === run['id'] &&
      spec['revision'] === run['revision']
    );
  };
  const records = ofKind(copy.objects, 'MaintenancePlanRecord').filter(isOfRun);
  const verdicts = records.flatMap(
    record => Object.entries(part(record, 'spec', 'verdicts')) as [string, JsonObject][],
  );
  return {
    verdicts: Object.fromEntries(verdicts.filter(([node]) => !inFlight.has(node))),
    inFlight,
    prepared: preparedOf(plan),
    stuck: stuckPods(plan, copy),
  };
}

/** Returns whether there is state to transfer before the plan starts. */
export function isUnderWay({ verdicts, inFlight, prepared }: RunSoFar): boolean {
  return Object.keys(verdicts).length + inFlight.size + prepared.length > 0;
}

/**
 * Returns the status of the copy's pod that does not start, if this pod of the rehearsal is for the
 * same task.
 */
export function stuckAs({ stuck }: RunSoFar, plan: string, pod: Stored): JsonObject | undefined {
  if (stuck.size === 0 || pod.metadata.annotations?.[planAnnotation] !== plan) return undefined;
  return stuck.get(placeOf(pod.metadata.name, text(pod, 'spec', 'nodeName')));
}

/** Returns sentences about the state that the simulation keeps. */
export function notesOf({ verdicts, inFlight, prepared, stuck }: RunSoFar): readonly string[] {
  const done = Object.keys(verdicts).length;
  const refused = prepared.filter(one => text(one, 'state') !== 'Prepared').length;
  return [
    ...(done === 0
      ? []
      : [`the run is under way: its ${done} ${done === 1 ? 'verdict stays' : 'verdicts stay'}`]),
    ...(inFlight.size === 0
      ? []
      : [
          `${inFlight.size} ${inFlight.size === 1 ? 'node is' : 'nodes are'} in flight: begun again here`,
        ]),
    ...(refused === 0
      ? []
      : [
          `the preparation of ${refused} ${refused === 1 ? 'node' : 'nodes'} has failed or refuses, and stays so`,
        ]),
    ...(stuck.size === 0
      ? []
      : [
          `${stuck.size} ${stuck.size === 1 ? 'pod' : 'pods'} of the plan cannot start now, and will not here`,
        ]),
  ];
}

/**
 * Returns the copy without the Maintenances of nodes in flight, so that the operator of the
 * rehearsal releases these nodes.
 */
export function withoutHolds(
  copy: ClusterSnapshot,
  plan: string,
  { inFlight }: RunSoFar,
): ClusterSnapshot {
  return {
    ...copy,
    objects: copy.objects.filter(
      one =>
        text(one, 'kind') !== 'Maintenance' ||
        text(one, 'metadata', 'annotations', planAnnotation) !== plan ||
        !inFlight.has(text(one, 'spec', 'nodeName')),
    ),
  };
}

const plans = 'maintenanceplans.drydock.dev';

/** Limit of entries in a record. */
const sliceSize = 500;

function written(outcome: { readonly kind: string; readonly message?: string }): void {
  if (outcome.kind === 'refused')
    throw new Error(
      `a rehearsal could not take over what the plan has done: ${outcome.message ?? ''}`,
    );
}

/** Returns the entries with the names of the pods that the sandbox's plan would have created. */
function takenOver(plan: Stored, prepared: readonly JsonObject[]): readonly JsonObject[] {
  const run = runOf(plan);
  const nameFor = (one: JsonObject): string =>
    podNameFor({ plan: run, nonce: 'sofar' }, preparePurpose(run, text(one, 'nodeUID')));
  return prepared.map(one => ({ ...one, pod: nameFor(one) }));
}

/**
 * Transfers the state of the run to a paused plan of the sandbox, and the nodes that it should
 * start first by cost. The operator must have reconciled the plan: its run is in its status.
 */
export function takeOver(
  { cluster }: Sandbox,
  name: string,
  { verdicts, prepared }: RunSoFar,
  firstNodes: readonly string[],
): void {
  const writes = writesOn(cluster.registry);
  const plan = cluster.registry.store.get(plans, '', name);
  const run = part(plan, 'status', 'run');
  if (plan === undefined || run['id'] === undefined)
    throw new Error(`plan ${name} has no run in its rehearsal`);
  const all = Object.entries(verdicts);
  for (let slice = 0; slice * sliceSize < all.length; slice += 1) {
    const some = Object.fromEntries(all.slice(slice * sliceSize, (slice + 1) * sliceSize));
    const spec = {
      planName: name,
      planUID: plan.metadata.uid,
      runID: run['id'],
      revision: run['revision'] ?? '',
      slice,
      verdicts: some,
    };
    const record = {
      apiVersion: planApi,
      kind: 'MaintenancePlanRecord',
      metadata: { name: `${name}-so-far-${slice}` },
      spec,
    };
    written(writes.create('maintenanceplanrecords.drydock.dev', record));
  }
  if (firstNodes.length + prepared.length === 0) return;
  const about = {
    runID: run['id'],
    specHash: '',
    finishes: true,
    nodes: 0,
    windows: 0,
    podsMoved: 0,
    podsMovedAgain: 0,
    blockedNodes: 0,
  };
  const snapshotTime = text(run, 'startTime');
  const forecast = {
    ...about,
    snapshotTime,
    rehearsalTime: snapshotTime,
    firstNodes: [...firstNodes],
  };
  const status = {
    ...part(plan, 'status'),
    ...(firstNodes.length > 0 && { forecast }),
    ...(prepared.length > 0 && { preparing: [...takenOver(plan, prepared)] }),
  };
  written(writes.update(plans, { ...plan, status }, 'status'));
}

/** Resumes a paused plan of the sandbox. */
export function resume({ cluster }: Sandbox, name: string): void {
  const plan = cluster.registry.store.get(plans, '', name);
  if (plan === undefined) throw new Error(`plan ${name} is gone from its rehearsal`);
  written(
    writesOn(cluster.registry).update(plans, {
      ...plan,
      spec: { ...part(plan, 'spec'), state: 'Running' },
    }),
  );
}

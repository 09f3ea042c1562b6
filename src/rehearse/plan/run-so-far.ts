import type { JsonObject } from '../../core/json.ts';
import { planAnnotation, planApi } from '../../core/plan/plan.ts';
import { writesOn } from '../../embedded/controllers/writes.ts';
import { at, objects, part, text } from '../../embedded/object.ts';
import type { Sandbox } from '../simulate/sandbox.ts';
import { type ClusterSnapshot, ofKind } from '../snapshot/cluster-snapshot.ts';

/** A run that is under way when it is rehearsed: what it is done with stays done, and what is in flight is begun with anew. */

export type RunSoFar = {
  /** As records have them, by the name of the node. */
  readonly verdicts: Readonly<Record<string, JsonObject>>;
  /** Names of nodes. */
  readonly inFlight: ReadonlySet<string>;
};

/** What the plan of a copy has done in its run. */
export const runSoFar = (plan: JsonObject, { objects: all }: ClusterSnapshot): RunSoFar => {
  const uid = text(plan, 'metadata', 'uid');
  const run = part(plan, 'status', 'run');
  const inFlight = new Set(objects(at(plan, 'status', 'inFlight')).map(one => text(one, 'node')));
  const isOfRun = (record: JsonObject): boolean => {
    const spec = part(record, 'spec');
    return uid !== '' && spec['planUID'] === uid && spec['runID'] === run['id'] && spec['revision'] === run['revision'];
  };
  const records = ofKind(all, 'MaintenancePlanRecord').filter(isOfRun);
  const verdicts = records.flatMap(record => Object.entries(part(record, 'spec', 'verdicts')) as [string, JsonObject][]);
  return { verdicts: Object.fromEntries(verdicts.filter(([node]) => !inFlight.has(node))), inFlight };
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

/**
 * Gives a paused plan of the sandbox what has been done in its run, and the nodes that it is to begin with by cost. The operator must have seen it: its run is in its
 * status.
 */
export const takeOver = ({ cluster }: Sandbox, name: string, { verdicts }: RunSoFar, firstNodes: readonly string[]): void => {
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
  if (firstNodes.length === 0) return;
  const about = { runID: run['id'], specHash: '', finishes: true, nodes: 0, windows: 0, podsMoved: 0, podsMovedAgain: 0, blockedNodes: 0 };
  const takenAt = text(run, 'startTime');
  const forecast = { ...about, takenAt, rehearsedAt: takenAt, firstNodes: [...firstNodes] };
  written(writes.update(plans, { ...plan, status: { ...part(plan, 'status'), forecast } }, 'status'));
};

/** Lets a paused plan of the sandbox go on. */
export const resume = ({ cluster }: Sandbox, name: string): void => {
  const plan = cluster.registry.store.get(plans, '', name);
  if (plan === undefined) throw new Error(`plan ${name} is gone from its rehearsal`);
  written(writesOn(cluster.registry).update(plans, { ...plan, spec: { ...part(plan, 'spec'), paused: false } }));
};

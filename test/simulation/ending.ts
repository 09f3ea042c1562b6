import { planAnnotation } from '@drydock/core/plan';
import { at, objects, part, type Stored, text } from '@drydock/kube-sim';
import { conditionsSaid, drainTaints, idOf, isHeld, taintsOf } from './audit/marks.ts';
import { records, slotsOf } from './audit/plans.ts';
import { nodeOf, stageOf } from './audit/records.ts';
import { leaseNamespace, operatorNamespace } from './cluster/namespaces.ts';
import type { SimulatedCluster } from './cluster/simulated-cluster.ts';
import { maintenanceResources } from './story/story.ts';

/** What is still to come, in words; undefined when everything has come to its end. */

const machineMaintenances = 'machinemaintenances.machinemaintenance.managed.openshift.io';

function hasRung(object: Stored, ...actions: readonly string[]): boolean {
  return objects(at(object, 'spec', 'drain', 'ladder')).some(rung =>
    actions.includes(text(rung, 'action')),
  );
}

function failedWell(object: Stored): boolean {
  const failure = text(object, 'status', 'failure');
  if (failure === 'DeadlineExceeded') return hasRung(object, 'Fail');
  return failure === 'Released' && hasRung(object, 'Release');
}

const wordsOf: Readonly<Record<string, string>> = {
  Announce: 'Announced',
  Cordon: 'Cordoned',
  Drain: 'Drained',
};

function isFinished({ cluster }: SimulatedCluster, resource: string, object: Stored): boolean {
  const phase = text(object, 'status', 'phase');
  const isThere = cluster.registry.store.get('nodes', '', nodeOf(object)) !== undefined;
  if (object.metadata.deletionTimestamp !== undefined) return false;
  if (resource !== maintenanceResources.Maintenance) {
    if (isThere) return phase === 'Succeeded';
    return resource === maintenanceResources.alpha ? phase === 'Running' : phase === 'Failed';
  }
  if (!isThere) return phase === 'Failed' && text(object, 'status', 'failure') === 'NodeNotFound';
  return phase === wordsOf[stageOf(object)] || (phase === 'Failed' && failedWell(object));
}

const maintenancePlans = 'maintenanceplans.drydock.dev';

/**
 * Complete, or it says what it waits for: of a node that somebody has changed the maintenance of,
 * it waits for good.
 */
function isPlanDone(one: Stored): boolean {
  const phase = text(one, 'status', 'phase');
  if (phase === 'Complete' || phase === 'Halted') return true;
  return (
    (phase === 'Running' || phase === 'Deleting') &&
    objects(at(one, 'status', 'waiting')).some(waiting => lasting.has(text(waiting, 'reason')))
  );
}

/** Of these words only people make an end. */
const lasting = new Set([
  'HeldBy',
  'Draining',
  'Quorum',
  'LastHealthy',
  'NotReady',
  'MaxUnavailable',
  'OtherPlanLimit',
  'Topology',
  'Blocked',
  'Gate',
  'GateUnknown',
  'StageEmpty',
]);

/**
 * A hold of a plan that nobody would ever end: its node is not in flight, and no verdict says that
 * it stays held.
 */
function strayHold(stage: SimulatedCluster): string | undefined {
  const { store } = stage.cluster.registry;
  const allRecords = store.list(records);
  const isOwned = (child: Stored, plan: Stored): boolean => {
    const node = text(child, 'spec', 'nodeName');
    if (slotsOf(plan).some(slot => text(slot, 'node') === node)) return true;
    return allRecords
      .filter(record => text(record, 'spec', 'planUID') === plan.metadata.uid)
      .some(record => at(record, 'spec', 'verdicts', node, 'held') === true);
  };
  for (const child of store.list(maintenanceResources.Maintenance)) {
    const name = child.metadata.annotations?.[planAnnotation];
    if (name === undefined || text(child, 'spec', 'requester') !== planAnnotation) continue;
    const plan = store.get(maintenancePlans, '', name);
    // What a plan has left held when it was deleted is somebody's to release.
    if (plan !== undefined && !isOwned(child, plan))
      return `Maintenance ${child.metadata.name} of ${text(child, 'spec', 'nodeName')} belongs to plan ${name}, which knows nothing of it`;
  }
  return undefined;
}

function isOver(one: Stored): boolean {
  return ['Succeeded', 'Cancelled', 'Notified'].includes(text(one, 'status', 'phase'));
}

/** Everything that is asked for has come as far as it can. */
export function unfinished(stage: SimulatedCluster): string | undefined {
  const { store } = stage.cluster.registry;
  for (const resource of Object.values(maintenanceResources)) {
    const open = store.list(resource).find(object => !isFinished(stage, resource, object));
    if (open !== undefined) {
      const kept = JSON.stringify({
        metadata: open.metadata,
        spec: part(open, 'spec'),
        status: part(open, 'status'),
      });
      return `${resource} ${open.metadata.name} does not come to its end: ${kept}`;
    }
  }
  const plan = store.list(maintenancePlans).find(one => !isPlanDone(one));
  if (plan !== undefined)
    return `plan ${plan.metadata.name} does not come to its end: ${JSON.stringify(part(plan, 'status'))}`;
  const stray = strayHold(stage);
  if (stray !== undefined) return stray;
  const open =
    stage.cloud === undefined
      ? undefined
      : store.list(machineMaintenances).find(one => !isOver(one));
  return (
    open &&
    `machine maintenance ${open.metadata.name} does not come to its end: ${JSON.stringify({ spec: part(open, 'spec'), status: part(open, 'status') })}`
  );
}

function leftOn(node: Stored): string | undefined {
  const { name } = node.metadata;
  if (isHeld(node)) return `node ${name} is still held`;
  const taint = taintsOf(node)
    .map(idOf)
    .find(id => drainTaints.has(id));
  if (taint !== undefined) return `node ${name} still has the taint ${taint}`;
  const said = conditionsSaid(node);
  return said.length > 0 ? `node ${name} still says ${said.join(', ')}` : undefined;
}

/** Everything has been released. */
export function endOf(stage: SimulatedCluster): string | undefined {
  const { store } = stage.cluster.registry;
  for (const resource of [
    maintenancePlans,
    ...Object.values(maintenanceResources),
    machineMaintenances,
  ]) {
    const [left] = store.list(resource);
    if (left !== undefined)
      return `${resource} ${left.metadata.name} is still there: ${JSON.stringify(left)}`;
  }
  const [request] =
    stage.responders === undefined ? [] : store.list('evictionrequests.lifecycle.k8s.io');
  if (request !== undefined)
    return `EvictionRequest ${request.metadata.name} is still there: ${JSON.stringify(request)}`;
  for (const node of store.list('nodes')) {
    const left = leftOn(node);
    if (left !== undefined) return left;
  }
  const lease = store
    .list('leases.coordination.k8s.io')
    .filter(({ metadata }) =>
      [leaseNamespace, operatorNamespace].includes(metadata.namespace ?? ''),
    )
    .find(
      one =>
        text(one, 'spec', 'holderIdentity') === 'node-maintenance' &&
        text(one, 'spec', 'renewTime') !== '',
    );
  return lease && `lease ${lease.metadata.name} is still ours: ${JSON.stringify(lease)}`;
}

import assert from 'node:assert/strict';
import type { Api } from '../control-plane/api.ts';
import { budgetAllows, create } from '../control-plane/cluster.ts';
import { budget, namespace } from '../control-plane/manifests.ts';
import {
  attachment,
  isHeld,
  maintenance,
  maintenancePath,
  makeNode,
  ourTaints,
  podAt,
  remove,
  seed,
  seedPath,
  seedTaints,
  storage,
  takeLease,
  untilFace,
  untilHeld,
  untilMaintenance,
  untilPods,
  untilSeed,
} from './look.ts';

/** A maintenance in every phase that lasts, each on a node of its own: for whatever is upgraded below or around them. */

/** Nodes that are held, with their taints. */
export const heldNodes: ReadonlyMap<string, readonly string[]> = new Map([
  ['up-drained', seedTaints],
  ['up-blocked', ourTaints],
  ['up-failed', ourTaints],
  ['up-detaching', ourTaints],
  ['up-cordoned', ['node.kubernetes.io/unschedulable:NoSchedule']],
]);

const freeNodes = ['up-announced', 'up-waiting', 'up-leased'];
const seeds = ['up-drained', 'up-leased'];

/** Of all of them. */
export const phaseNodes: readonly string[] = [...heldNodes.keys(), ...freeNodes];

/** What each node looked like before. */
export type Faces = ReadonlyMap<string, object>;

const guarded = ['up-blocked', 'up-failed'];

/** The nodes, and what keeps some of their maintenances: budgets that allow nothing, an attached volume, somebody else's lease. */
export const makeSurroundings = async (api: Api): Promise<Faces> => {
  const faces = new Map<string, object>();
  for (const name of phaseNodes) faces.set(name, await makeNode(api, name));
  for (const name of guarded) {
    const inIt = { namespace: name };
    await create(api, namespace(name), podAt(name, 'stays', inIt), budget('stays', { ...inIt, minAvailable: 1 }));
    await untilPods(api, name, 1);
    await budgetAllows(api, name, 'stays', 0);
  }
  await create(api, namespace('up-detaching'), ...storage('up-detaching', 'up-volume'), attachment('up-volume', 'up-detaching'));
  await takeLease(api, 'up-leased');
  return faces;
};

export const makeMaintenances = async (api: Api): Promise<void> => {
  await create(
    api,
    ...seeds.map(name => seed(name)),
    maintenance('up-blocked', { drain: { force: true } }),
    maintenance('up-failed', { drain: { force: true, timeoutSeconds: 1 } }),
    maintenance('up-detaching'),
    maintenance('up-cordoned', { stage: 'Cordon' }),
    maintenance('up-announced', { stage: 'Announce' }),
    maintenance('up-waiting', { start: { notBefore: '2099-01-01T00:00:00Z' } }),
  );
};

/** Waits until each is in its phase, for its reason, and the nodes are held as they should be. */
export const untilInPhases = async (api: Api): Promise<void> => {
  assert.equal((await untilSeed(api, 'up-drained', 'Succeeded')).drainProgress, 100);
  await untilMaintenance(api, 'up-blocked', 'Draining', ({ blockers }) => blockers?.[0]?.cause === 'BudgetNeverAllows');
  await untilMaintenance(api, 'up-failed', 'Failed', ({ failure }) => failure === 'DeadlineExceeded');
  await untilMaintenance(api, 'up-detaching', 'Detaching', ({ blockers }) => blockers?.[0]?.volume === 'up-volume');
  await untilMaintenance(api, 'up-cordoned', 'Cordoned');
  await untilMaintenance(api, 'up-announced', 'Announced');
  await untilMaintenance(api, 'up-waiting', 'Pending', ({ scheduledTime }) => scheduledTime === '2099-01-01T00:00:00Z');
  await untilSeed(api, 'up-leased', 'Running', ({ lastError }) => (lastError ?? '').includes('not owned by us'));
  for (const [name, taints] of heldNodes) assert.ok(isHeld(await untilHeld(api, name, taints), taints), name);
};

/** What held them up goes; all are done and deleted, and the nodes look as before. */
export const endMaintenances = async (api: Api, faces: Faces): Promise<void> => {
  for (const name of guarded) await api.delete(`/apis/policy/v1/namespaces/${name}/poddisruptionbudgets/stays`);
  await api.delete('/apis/storage.k8s.io/v1/volumeattachments/attached-up-volume');
  for (const name of ['up-blocked', 'up-detaching']) await untilMaintenance(api, name, 'Drained');
  for (const name of phaseNodes) await remove(api, seeds.includes(name) ? seedPath(name) : maintenancePath(name));
  for (const [name, face] of faces) await untilFace(api, name, face);
};

import assert from 'node:assert/strict';
import type { MaintenanceStatus } from '@drydock/apis/schema';
import type { Api } from '../../control-plane/objects/api.ts';
import { budgetAllows, create } from '../../control-plane/objects/cluster.ts';
import { budget, namespace } from '../../control-plane/objects/manifests.ts';
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

/** What each node looked like before. */
type Faces = ReadonlyMap<string, object>;

const cordonTaint = 'node.kubernetes.io/unschedulable:NoSchedule';

/**
 * A maintenance in every phase that lasts, each on a node of its own, for whatever is upgraded
 * below or around them: `drained` and `leased` are
 * NodeMaintenances of medik8s, the others Maintenances.
 */
export class Phases {
  readonly #api: Api;
  readonly #prefix: string;
  #faces: Faces = new Map();

  /** The prefix tells nodes of several sets apart. */
  constructor(api: Api, prefix = 'up') {
    this.#api = api;
    this.#prefix = prefix;
  }

  #name = (phase: string): string => `${this.#prefix}-${phase}`;

  /** Nodes that are held, with their taints. */
  get held(): ReadonlyMap<string, readonly string[]> {
    const held = [
      ['drained', seedTaints],
      ['blocked', ourTaints],
      ['failed', ourTaints],
      ['detaching', ourTaints],
      ['cordoned', [cordonTaint]],
    ] as const;
    return new Map(held.map(([phase, taints]) => [this.#name(phase), taints]));
  }

  /** Names of all the nodes, which are those of the maintenances too. */
  get nodes(): readonly string[] {
    return [...this.held.keys(), ...['announced', 'waiting', 'leased'].map(this.#name)];
  }

  #pathOf(name: string): string {
    return ['drained', 'leased'].map(this.#name).includes(name)
      ? seedPath(name)
      : maintenancePath(name);
  }

  #until(
    phase: string,
    wanted: NonNullable<MaintenanceStatus['phase']>,
    isWanted?: (status: MaintenanceStatus) => boolean,
  ): Promise<unknown> {
    return untilMaintenance(this.#api, this.#name(phase), wanted, isWanted);
  }

  /**
   * Makes the nodes, and what keeps some of their maintenances: budgets that allow nothing, an
   * attached volume, somebody else's lease.
   */
  async makeSurroundings(): Promise<void> {
    const api = this.#api;
    const faces = new Map<string, object>();
    for (const name of this.nodes) faces.set(name, await makeNode(api, name));
    this.#faces = faces;
    for (const name of ['blocked', 'failed'].map(this.#name)) {
      const inIt = { namespace: name };
      await create(
        api,
        namespace(name),
        podAt(name, 'stays', inIt),
        budget('stays', { ...inIt, minAvailable: 1 }),
      );
      await untilPods(api, name, 1);
      await budgetAllows(api, name, 'stays', 0);
    }
    const detaching = this.#name('detaching');
    await create(
      api,
      namespace(detaching),
      ...storage(detaching, detaching),
      attachment(detaching, detaching),
    );
    await takeLease(api, this.#name('leased'));
  }

  async makeMaintenances(): Promise<void> {
    await create(
      this.#api,
      seed(this.#name('drained')),
      seed(this.#name('leased')),
      maintenance(this.#name('blocked'), { drain: { force: true } }),
      maintenance(this.#name('failed'), { drain: { force: true, timeoutSeconds: 1 } }),
      maintenance(this.#name('detaching')),
      maintenance(this.#name('cordoned'), { level: 'Cordon' }),
      maintenance(this.#name('announced'), { level: 'Announce' }),
      maintenance(this.#name('waiting'), { start: { notBefore: '2099-01-01T00:00:00Z' } }),
    );
  }

  /** Waits until each is in its phase, for its reason, and the nodes are held as they should be. */
  async untilReached(): Promise<void> {
    assert.equal(
      (await untilSeed(this.#api, this.#name('drained'), 'Succeeded')).drainProgress,
      100,
    );
    await this.#until(
      'blocked',
      'Draining',
      ({ blockers }) => blockers?.[0]?.reason === 'BudgetNeverAllows',
    );
    await this.#until('failed', 'Failed', ({ failure }) => failure === 'DeadlineExceeded');
    await this.#until(
      'detaching',
      'Detaching',
      ({ blockers }) => blockers?.[0]?.volume === this.#name('detaching'),
    );
    await this.#until('cordoned', 'Cordoned');
    await this.#until('announced', 'Announced');
    await this.#until(
      'waiting',
      'Pending',
      ({ scheduledTime }) => scheduledTime === '2099-01-01T00:00:00Z',
    );
    await untilSeed(this.#api, this.#name('leased'), 'Running', ({ lastError }) =>
      (lastError ?? '').includes('not owned by us'),
    );
    for (const [name, taints] of this.held)
      assert.ok(isHeld(await untilHeld(this.#api, name, taints), taints), name);
  }

  /** What held them up goes; all are done and deleted, and the nodes look as before. */
  async end(): Promise<void> {
    const api = this.#api;
    for (const name of ['blocked', 'failed'].map(this.#name))
      await api.delete(`/apis/policy/v1/namespaces/${name}/poddisruptionbudgets/stays`);
    await api.delete(
      `/apis/storage.k8s.io/v1/volumeattachments/attached-${this.#name('detaching')}`,
    );
    for (const phase of ['blocked', 'detaching']) await this.#until(phase, 'Drained');
    for (const name of this.nodes) await remove(api, this.#pathOf(name));
    for (const [name, face] of this.#faces) await untilFace(api, name, face);
  }
}

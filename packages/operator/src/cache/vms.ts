import type { Pod } from '@drydock/core/pod';
import type { NodeVms } from '@drydock/core/vm';
import {
  defaultSettings,
  type KubeVirtSettings,
  type MigrationLoad,
  migrationLoadOf,
  migrationsPath,
  nodeVmsFor,
  ownersOf,
  readMigration,
  readSettings,
  readTarget,
  readVmi,
  settingsPath,
  type UnplacedTarget,
  unplacedTargets,
  type Vmi,
  type VmMigration,
  vmisPath,
} from '@drydock/core/vm';
import type { Api, Change } from '@drydock/kube-client';
import type { Clock } from '@drydock/utils';
import { Cache } from './cache.ts';
import type { InformerSet } from './informer-set.ts';

const names = {
  vmis: 'virtualmachineinstances.kubevirt.io',
  migrations: 'virtualmachineinstancemigrations.kubevirt.io',
  settings: 'kubevirts.kubevirt.io',
  /** Pods of migrations that have no node, which are few. */
  targets: 'pods of migrations without a node',
} as const;

/**
 * Names of the collections that a cluster without KubeVirt does not have, or that can be left out.
 */
export const vmCollections: ReadonlySet<string> = new Set(Object.values(names));

/** Returns the parts of a VM that matter: the guest agents change VMs all the time. */
function fingerprint({
  uid,
  phase,
  deleting,
  nodeName,
  evacuatedFrom,
  strategy,
  migratable,
  notMigratable,
}: Vmi): string {
  return JSON.stringify([
    uid,
    phase,
    deleting,
    nodeName,
    evacuatedFrom,
    strategy,
    migratable,
    notMigratable,
  ]);
}

/**
 * A cache of KubeVirt's VMs, kept up to date by watches, and of the nodes that wait for them. It
 * only watches and notifies.
 */
export class Vms {
  readonly #vmis = new Cache<Vmi>(({ nodeName = '' }) => nodeName);
  readonly #migrations = new Cache<VmMigration>(({ vmi }) => vmi);
  readonly #settings = new Cache<KubeVirtSettings>();
  readonly #targets = new Cache<UnplacedTarget>();
  readonly #informers: InformerSet;
  readonly #touched: (nodeName: string) => void;
  /** Nodes whose VMs wait until KubeVirt has less to do. */
  readonly #waiting = new Set<string>();
  readonly #byUid = new Map<string, string>();
  /** Load by migrations; undefined after a change. */
  #traffic: MigrationLoad | undefined;

  /** Signal that is aborted when all watches end. */
  #following: AbortSignal | undefined;
  #isFollowingTargets = false;

  readonly #reach: { readonly api: Api; readonly clock: Clock };

  constructor(
    reach: { readonly api: Api; readonly clock: Clock },
    informers: InformerSet,
    touched: (nodeName: string) => void,
  ) {
    this.#reach = reach;
    this.#informers = informers;
    this.#touched = touched;
  }

  /** Watches until the signal is aborted. */
  async follow(signal: AbortSignal): Promise<void> {
    this.#following = signal;
    const informers = this.#informers;
    await Promise.all([
      informers.followOnceServed(
        this.#reach,
        names.vmis,
        { path: vmisPath },
        readVmi,
        change => this.#vmChanged(change),
        signal,
      ),
      informers.followOnceServed(
        this.#reach,
        names.migrations,
        { path: migrationsPath },
        readMigration,
        change => this.#migrationChanged(change),
        signal,
      ),
      informers.followOnceServed(
        this.#reach,
        names.settings,
        { path: settingsPath },
        readSettings,
        change => this.#settingsChanged(change),
        signal,
      ),
    ]);
  }

  /** Follows the targets from the first migration on: most clusters have none. */
  #followTargets(): void {
    const signal = this.#following;
    if (signal === undefined || this.#isFollowingTargets) return;
    this.#isFollowingTargets = true;
    const collection = { path: '/api/v1/pods', ...unplacedTargets };
    void this.#informers.followInto(
      this.#targets,
      names.targets,
      collection,
      readTarget,
      change => this.#targetChanged(change),
      signal,
    );
  }

  #targetChanged({ object }: Change<UnplacedTarget>): void {
    for (const { uid, vmi } of this.#migrations.values())
      if (uid === object.migration) this.#touch(this.#vmis.get(vmi));
  }

  #vmChanged(change: Change<Vmi>): void {
    const before = this.#vmis.apply(change);
    this.#traffic = undefined;
    const { uid, key } = change.object;
    if (change.type === 'removed') this.#byUid.delete(uid);
    else this.#byUid.set(uid, key);
    if (
      change.type !== 'changed' ||
      before === undefined ||
      fingerprint(before) !== fingerprint(change.object)
    )
      this.#touch(before, change.object);
  }

  #migrationChanged(change: Change<VmMigration>): void {
    this.#migrations.apply(change);
    this.#followTargets();
    this.#traffic = undefined;
    this.#touch(this.#vmis.get(change.object.vmi));
  }

  #settingsChanged(change: Change<KubeVirtSettings>): void {
    this.#settings.apply(change);
    this.#traffic = undefined;
    this.#touch(...this.#vmis.values());
  }

  /** Returns the VMs of one node; undefined without KubeVirt, or without permission to read it. */
  of(nodeName: string, pods: readonly Pod[], remembered: ReadonlySet<string>): NodeVms | undefined {
    if (!this.#informers.isKnown(names.vmis) || !this.#informers.isKnown(names.migrations))
      return undefined;
    const [settings = defaultSettings] = this.#settings.values();
    this.#traffic ??= migrationLoadOf({
      settings,
      vmis: [...this.#vmis.values()],
      migrations: [...this.#migrations.values()],
    });
    const own = [...ownersOf(pods), ...remembered].flatMap(
      uid => this.#vmis.get(this.#byUid.get(uid) ?? '') ?? [],
    );
    const asked = this.#traffic.asked.filter(({ evacuatedFrom }) => evacuatedFrom === nodeName);
    const vmis = [...new Set([...this.#vmis.in(nodeName), ...own, ...asked])];
    const unplaced = this.#informers.isKnown(names.targets)
      ? [...this.#targets.values()]
      : undefined;
    const migrations = vmis.flatMap(({ key }) => this.#migrations.in(key));
    return nodeVmsFor({ settings, vmis, migrations, ...(unplaced && { unplaced }) }, this.#traffic);
  }

  /** Sets whether the node waits until there is room for more migrations. */
  setWaiting(nodeName: string, waits: boolean): void {
    if (waits) this.#waiting.add(nodeName);
    else this.#waiting.delete(nodeName);
  }

  #touch(...vmis: readonly (Vmi | undefined)[]): void {
    const nodes = vmis
      .flatMap(vmi => [vmi?.nodeName, vmi?.evacuatedFrom])
      .filter(name => name !== undefined);
    for (const nodeName of new Set([...nodes, ...this.#waiting])) this.#touched(nodeName);
  }
}

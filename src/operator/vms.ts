import type { Pod } from '../core/pod/pod.ts';
import type { VmsKnown } from '../core/vm/guest.ts';
import { knownFor } from '../core/vm/known.ts';
import {
  defaultSettings,
  type KubeVirtSettings,
  type Migration,
  migrationsPath,
  readMigration,
  readSettings,
  readVmi,
  settingsPath,
  type Vmi,
  vmisPath,
} from '../core/vm/kubevirt.ts';
import { Cache } from './cache.ts';
import type { Following } from './following.ts';

const names = {
  vmis: 'virtualmachineinstances.kubevirt.io',
  migrations: 'virtualmachineinstancemigrations.kubevirt.io',
  settings: 'kubevirts.kubevirt.io',
} as const;

/** The collections that a cluster without KubeVirt does not have. */
export const vmCollections: ReadonlySet<string> = new Set(Object.values(names));

/** VMs change all the time by what their agents say; only this much of them matters. */
const essence = ({ uid, phase, deleting, nodeName, evacuatedFrom, strategy, migratable, notMigratable }: Vmi): string =>
  JSON.stringify([uid, phase, deleting, nodeName, evacuatedFrom, strategy, migratable, notMigratable]);

/** KubeVirt's VMs, kept up to date by watches, and the nodes that wait for them. It only watches and tells. */
export class Vms {
  readonly #vmis = new Cache<Vmi>(({ nodeName = '' }) => nodeName);
  readonly #migrations = new Cache<Migration>(({ vmi }) => vmi);
  readonly #settings = new Cache<KubeVirtSettings>(() => '');
  readonly #following: Following;
  readonly #touched: (nodeName: string) => void;
  /** Nodes whose VMs wait until KubeVirt has less to do. */
  readonly #waiting = new Set<string>();

  constructor(following: Following, touched: (nodeName: string) => void) {
    this.#following = following;
    this.#touched = touched;
  }

  /** Watches until the signal is aborted. */
  async follow(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#following.follow(
        names.vmis,
        { path: vmisPath },
        readVmi,
        change => {
          const before = this.#vmis.apply(change);
          if (change.type !== 'changed' || before === undefined || essence(before) !== essence(change.object)) {
            this.#touch(before, change.object);
          }
        },
        signal,
      ),
      this.#following.follow(
        names.migrations,
        { path: migrationsPath },
        readMigration,
        change => {
          this.#migrations.apply(change);
          this.#touch(this.#vmis.get(change.object.vmi));
        },
        signal,
      ),
      this.#following.follow(
        names.settings,
        { path: settingsPath },
        readSettings,
        change => {
          this.#settings.apply(change);
          this.#touch(...this.#vmis.values());
        },
        signal,
      ),
    ]);
  }

  /** What concerns one node; undefined where there is no KubeVirt, or where it may not be read. */
  of(nodeName: string, pods: readonly Pod[], remembered: ReadonlySet<string>): VmsKnown | undefined {
    if (!this.#following.isKnown(names.vmis) || !this.#following.isKnown(names.migrations)) return undefined;
    const [settings = defaultSettings] = this.#settings.values();
    return knownFor(nodeName, pods, remembered, { settings, vmis: [...this.#vmis.values()], migrations: [...this.#migrations.values()] });
  }

  /** Whether the node waits until there is room for more migrations. */
  setWaiting(nodeName: string, waits: boolean): void {
    if (waits) this.#waiting.add(nodeName);
    else this.#waiting.delete(nodeName);
  }

  #touch(...vmis: readonly (Vmi | undefined)[]): void {
    const nodes = vmis.flatMap(vmi => [vmi?.nodeName, vmi?.evacuatedFrom]).filter(name => name !== undefined);
    for (const nodeName of new Set([...nodes, ...this.#waiting])) this.#touched(nodeName);
  }
}

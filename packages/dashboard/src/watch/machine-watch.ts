import type { MachineAdapter, MachineRequest } from '@drydock/core/machine';
import { machineMaintenancesPath } from '@drydock/core/machine';
import { type MaintenanceWindow, windowsPath } from '@drydock/core/window';
import type { Change } from '@drydock/kube-client';
import type { MachineView, WindowView } from '../scene.ts';
import { machineView, windowView } from '../views/machine-views.ts';
import { ViewStore } from '../views/view-store.ts';
import type { Collections } from './collections.ts';

/** Readers of the kinds about machines. */
export type MachineClient = Pick<MachineAdapter, 'readMaintenance' | 'readWindow'>;

/** Events of machines, and the windows in which Drydock may act. */
export class MachineWatch {
  readonly machines = new ViewStore<MachineView>();
  readonly windows = new ViewStore<WindowView>();
  readonly #requests = new Map<string, MachineRequest>();
  readonly #touched: (node: string) => void;

  /** Creates the watch; `touched` receives the nodes whose machines have changed. */
  constructor(touched: (node: string) => void) {
    this.#touched = touched;
  }

  /** Returns a machine maintenance that exists now. */
  find(key: string): MachineRequest | undefined {
    return this.#requests.get(key);
  }

  /** Returns whether Drydock acts on the machine of this node, which may be gone. */
  isWorkedOn(node: string): boolean {
    return this.machines.values().some(machine => machine.node === node && !machine.over);
  }

  /** Watches until the signal is aborted. A cluster may lack both kinds. */
  async run(collections: Collections, read: MachineClient, signal: AbortSignal): Promise<void> {
    await Promise.all([
      collections.follow(
        {
          what: 'machine maintenances',
          collection: { path: machineMaintenancesPath },
          project: raw => requestIn(read.readMaintenance(raw)),
          told: change => this.#requestTold(change),
          mayLack: true,
        },
        signal,
      ),
      collections.follow(
        {
          what: 'maintenance windows',
          collection: { path: windowsPath },
          project: read.readWindow,
          told: change => this.#windowTold(change),
          mayLack: true,
        },
        signal,
      ),
    ]);
  }

  #requestTold({ type, object }: Change<MachineRequest>): void {
    const { node } = machineView(object);
    if (node !== undefined) this.#touched(node);
    if (type === 'removed') {
      this.#requests.delete(object.key);
      this.machines.drop(object.key);
      return;
    }
    this.#requests.set(object.key, object);
    this.machines.put(machineView(object));
  }

  #windowTold({ type, object }: Change<MaintenanceWindow>): void {
    if (type === 'removed') this.windows.drop(object.key);
    else this.windows.put(windowView(object));
  }
}

/** Returns the maintenance; undefined for an invalid one. */
function requestIn(read: MachineRequest | string): MachineRequest | undefined {
  return typeof read === 'string' ? undefined : read;
}

import { WindowKeeper } from '../window-keeper.ts';
import { Intake } from './intake.ts';
import { Machines, type MachinesOptions } from './machines.ts';
import { type EventScanner, type SignalReader, Sources } from './sources.ts';

export type MachineRoomOptions = MachinesOptions & {
  /** Where new MachineMaintenances are made. */
  readonly namespace: string;
  readonly scanner: EventScanner;
  readonly signals: SignalReader;
};

/** Everything about machines beside the loop of the nodes: what is announced, what is done about it, and when it may be. */
export class MachineRoom {
  readonly intake: Intake;
  readonly #machines: Machines;
  readonly #sources: Sources;
  readonly #windows: WindowKeeper;
  readonly #options: MachineRoomOptions;

  constructor(options: MachineRoomOptions) {
    this.#options = options;
    const { clock, world, tongue } = options;
    this.#machines = new Machines(options, {
      source: (source, change) => this.#sources.sourceChanged(source, change),
      notice: notice => this.#sources.noticed(notice),
      complete: () => this.#sources.everything(),
    });
    const { machines, writer } = this.#machines;
    this.intake = new Intake({ ...options, machines, writer });
    this.#sources = new Sources({ ...options, machines, writer, intake: this.intake });
    this.#windows = new WindowKeeper({ world, writer, clock, windowStatus: tongue.windowStatus });
  }

  /** Collections that have not been read yet. */
  get unsynced(): readonly string[] {
    return this.#machines.machines.unsynced;
  }

  /** Kind and phase of every machine maintenance. */
  states(): readonly (readonly [kind: string, state: string])[] {
    return [...this.#machines.machines.requests.values()].map(({ history }) => ['MachineMaintenance', history.phase ?? 'Pending'] as const);
  }

  /** Works until the signal is aborted, and ends what it has begun. The loop of the nodes has to run as well. */
  async run(signal: AbortSignal): Promise<void> {
    const { world } = this.#options;
    const end = world.subscribe({
      node: node => this.#sources.nodeChanged(node),
      window: window => this.#windows.changed(window),
      complete: () => {
        this.#machines.everything();
        this.#sources.everything();
      },
    });
    try {
      await this.#machines.run(signal);
    } finally {
      end();
      await Promise.all([this.#sources.close(), this.#windows.close()]);
    }
  }
}

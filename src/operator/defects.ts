import { errorText } from '../support/error-text.ts';
import type { Log } from '../support/log.ts';
import type { Meter } from './ports.ts';

/** Where a throw can come from: the loops, by the kind that their keys are of, the watches that feed them, and whatever else runs in the process. */
export const controllers = [
  'Node',
  'MachineMaintenance',
  'MachineEventSource',
  'MaintenanceWindow',
  'MaintenancePlan',
  'Watch',
  'Process',
] as const;
export type ControllerName = (typeof controllers)[number];

/** Defects that have been logged are remembered up to this many; an object that comes back again and again fills no log. */
const remembered = 1000;

/** Characters of an error that are told. */
const longest = 500;

/** The one place where a throw is told that nobody expected: logged once for an object, counted each time. What it concerns waits; everything else goes on. */
export class Defects {
  readonly #log: Log;
  readonly #meter: Meter;
  readonly #logged = new Set<string>();

  constructor({ log, meter }: { readonly log: Log; readonly meter: Meter }) {
    this.#log = log;
    this.#meter = meter;
  }

  /** Answers what to say in the status of the object. Never throws. */
  tell(controller: ControllerName, object: string, error: unknown): string {
    const text = errorText(error).slice(0, longest);
    this.#meter.panicked(controller);
    const key = `${controller} ${object} ${text}`;
    if (!this.#logged.has(key)) {
      if (this.#logged.size >= remembered) this.#logged.clear();
      this.#logged.add(key);
      this.#log.error('bug in Drydock: this object waits, everything else continues. Please report it', { controller, object, error });
    }
    return `A defect in Drydock keeps it from working on this; please report it: ${text}`;
  }

  /** What `work` answers; `otherwise` when it throws, which is told. */
  guard<T>(controller: ControllerName, object: () => string, work: () => T, otherwise: T): T {
    try {
      return work();
    } catch (error) {
      this.tell(controller, object(), error);
      return otherwise;
    }
  }
}

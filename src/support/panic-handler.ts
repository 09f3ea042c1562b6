import { errorText } from './error-text.ts';
import type { Log } from './log.ts';

/** Node throws a TypeError or RangeError with these codes at what a file or an address holds: a line break in a token, a port that is none. */
const causedByData: ReadonlySet<unknown> = new Set([
  'ERR_INVALID_CHAR',
  'ERR_HTTP2_INVALID_HEADER_VALUE',
  'ERR_INVALID_URL',
  'ERR_UNESCAPED_CHARACTERS',
  'ERR_SOCKET_BAD_PORT',
  'ERR_ENCODING_INVALID_ENCODED_DATA',
]);

/** Tells whether an error is one that the language throws at a program that is wrong: no server, file or person causes it, and nobody else is to blame for it. */
export const isDefect = (error: unknown): boolean =>
  (error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError || error instanceof SyntaxError) &&
  !('code' in error && causedByData.has(error.code));

/** Where a throw can come from: the loops, by the kind that their keys are of, the watches that feed them, the webhook, and whatever else runs in the process. */
export const controllers = [
  'Node',
  'MachineMaintenance',
  'MachineEventSource',
  'MaintenanceWindow',
  'MaintenancePlan',
  'Watch',
  'Webhook',
  'Process',
] as const;
export type ControllerName = (typeof controllers)[number];

/** Defects that have been logged are remembered up to this many; an object that comes back again and again fills no log. */
const maxRemembered = 1000;

/** Characters of an error that are told. */
const maxLength = 500;

/** Counts defects, by where they were caught. */
export type PanicMeter = { panicked(controller: string): void };

/** The one place where a throw is told that nobody expected: logged once for an object, counted each time. What it concerns waits; everything else goes on. */
export class PanicHandler {
  readonly #log: Log;
  readonly #meter: PanicMeter | undefined;
  readonly #logged = new Set<string>();

  /** Without a meter nothing is counted: for a process that serves no metrics. */
  constructor({ log, meter }: { readonly log: Log; readonly meter?: PanicMeter | undefined }) {
    this.#log = log;
    this.#meter = meter;
  }

  /** Answers what to say in the status of the object. Never throws. */
  tell(controller: ControllerName, object: string, error: unknown): string {
    const text = errorText(error).slice(0, maxLength);
    this.#meter?.panicked(controller);
    const key = `${controller} ${object} ${text}`;
    if (!this.#logged.has(key)) {
      if (this.#logged.size >= maxRemembered) this.#logged.clear();
      this.#logged.add(key);
      this.#log.error('bug in Drydock: this object waits, everything else continues. Please report it', { controller, object, error });
    }
    return `Drydock hit a bug; please report it: ${text}`;
  }

  /**
   * Words for what a call of ours failed with: those of the refusal or of the broken connection; of a defect, which is told, that it is Drydock's own. Every `catch` around a call
   * asks here, so that nobody looks for the fault in the API server, the cloud or the file.
   */
  textOf(controller: ControllerName, object: string, error: unknown): string {
    return isDefect(error) ? this.tell(controller, object, error) : errorText(error);
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

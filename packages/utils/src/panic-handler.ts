/**
 * Returns an error's message. Several attempts of one connect (IPv6, then IPv4) are an
 * AggregateError without a message: then the messages of all of them.
 */
export function errorText(error: unknown): string {
  if (error instanceof AggregateError && error.message === '')
    return error.errors.map(errorText).join('; ');
  return error instanceof Error ? error.message : String(error);
}

/** Fields of a log line, by name. */
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * A log for people and log collectors. One line per transition; messages are stable, values are
 * fields.
 */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** A log that discards everything: for tests and for commands that print their own lines. */
export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/**
 * Codes of the TypeErrors and RangeErrors that Node throws because of data in a file or an address:
 * a line break in a token, an invalid port.
 */
const causedByData: ReadonlySet<unknown> = new Set([
  'ERR_INVALID_CHAR',
  'ERR_HTTP2_INVALID_HEADER_VALUE',
  'ERR_INVALID_URL',
  'ERR_UNESCAPED_CHARACTERS',
  'ERR_SOCKET_BAD_PORT',
  'ERR_ENCODING_INVALID_ENCODED_DATA',
]);

/**
 * Returns whether an error is one that the language throws for a programming mistake, rather than
 * one that a server, file or user causes.
 */
export function isDefect(error: unknown): boolean {
  return (
    (error instanceof TypeError ||
      error instanceof RangeError ||
      error instanceof ReferenceError ||
      error instanceof SyntaxError) &&
    !('code' in error && causedByData.has(error.code))
  );
}

/**
 * Sources of a defect: the loops, named by the kind that they reconcile, the watches that feed
 * them, the webhook, and everything else in the process.
 */
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

/**
 * Limit of logged defects that are remembered; an object that fails again and again does not fill
 * the log.
 */
const maxRemembered = 1000;

/** Limit of an error's text in characters. */
const maxLength = 500;

/** A counter of defects, by the controller that caught them. */
export type PanicMeter = { panicked(controller: string): void };

/**
 * Handles unexpected errors: logs each once per object, and counts it every time. The affected
 * object waits; everything else continues.
 */
export class PanicHandler {
  readonly #log: Log;
  readonly #meter: PanicMeter | undefined;
  readonly #logged = new Set<string>();

  /**
   * Creates a handler. Without a meter, defects are not counted: for a process that serves no
   * metrics.
   */
  constructor({ log, meter }: { readonly log: Log; readonly meter?: PanicMeter | undefined }) {
    this.#log = log;
    this.#meter = meter;
  }

  /** Reports a defect and returns its text for the object's status. Never throws. */
  report(controller: ControllerName, object: string, error: unknown): string {
    const text = errorText(error).slice(0, maxLength);
    this.#meter?.panicked(controller);
    const key = `${controller} ${object} ${text}`;
    if (!this.#logged.has(key)) {
      if (this.#logged.size >= maxRemembered) this.#logged.clear();
      this.#logged.add(key);
      this.#log.error(
        'bug in Drydock: this object waits, everything else continues. Please report it',
        { controller, object, error },
      );
    }
    return `Drydock hit a bug; please report it: ${text}`;
  }

  /**
   * Returns the text for a failed call: that of the refusal or of the broken connection; a defect
   * is reported, and its text names Drydock as the cause. Every `catch` around a call uses this, so
   * that users do not look for the fault in the API server, the cloud or the file.
   */
  textOf(controller: ControllerName, object: string, error: unknown): string {
    return isDefect(error) ? this.report(controller, object, error) : errorText(error);
  }

  /** Returns the result of `work`; reports an error that it throws, and returns `otherwise`. */
  guard<T>(controller: ControllerName, object: () => string, work: () => T, otherwise: T): T {
    try {
      return work();
    } catch (error) {
      this.report(controller, object(), error);
      return otherwise;
    }
  }
}

/** An error that the user has to correct: printed as one line, never with a stack. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

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

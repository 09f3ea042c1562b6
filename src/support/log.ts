/** Facts that belong to a log line, by name. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Where lines for people and log collectors go. One line per transition; texts are stable, facts are fields. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** Says nothing: for tests and for commands that print their own lines. */
export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

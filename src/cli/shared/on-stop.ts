import { constants } from 'node:os';

/**
 * A terminal sends Ctrl-C to everybody in it, and npm and the launcher pass on what they get: what comes again within this many milliseconds is the same
 * key.
 */
const sameKey = 500;

/** Tells of the first SIGINT or SIGTERM; a second one ends the process at once, as people expect. */
export const onStop = (stop: (signal: NodeJS.Signals) => void): void => {
  let since: number | undefined;
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      const now = performance.now();
      if (since !== undefined && now - since > sameKey) process.exit(128 + constants.signals[name]);
      if (since === undefined) stop(name);
      since ??= now;
    });
  }
};

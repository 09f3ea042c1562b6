import { isUnderWay, type ServerMigration } from '../core/hypervisor/server.ts';
import { isBefore, secondsAfter } from '../core/time.ts';
import { failed, type NovaResult } from './failure.ts';
import type { Nova } from './nova.ts';

/** Everything is read again after so many seconds, for records that vanished with their servers. */
const wholeSeconds = 600;
/** Nova's whole seconds, and a record that was being written while we read. */
const overlapSeconds = 15;

/** The records of migrations from and to a host, kept up to date with as little reading as Nova allows. */
export class MigrationCache {
  readonly #records = new Map<number, ServerMigration>();
  #wholeAt: Temporal.Instant | undefined;
  #readAt: Temporal.Instant | undefined;

  /** All records, after one call (more where they have pages). */
  async read(nova: Nova, host: string, signal: AbortSignal): Promise<NovaResult<readonly ServerMigration[]>> {
    const now = nova.now();
    const isOld = this.#wholeAt === undefined || isBefore(secondsAfter(this.#wholeAt, wholeSeconds), now);
    // Whether a server that was on its way to here has been deleted shows in its record only: it is not there any more.
    const isWhole = isOld || this.#records.values().some(one => one.target === host && one.source !== host && isUnderWay(one));
    const since = isWhole || this.#readAt === undefined ? undefined : secondsAfter(this.#readAt, -overlapSeconds);
    const { value, failure } = await nova.migrations(host, since, signal);
    if (value === undefined) return failure === undefined ? failed('trouble', 'the migrations cannot be read') : { failure };
    if (isWhole) {
      this.#records.clear();
      this.#wholeAt = now;
    }
    this.#readAt = now;
    for (const record of value) this.#records.set(record.id, record);
    return { value: [...this.#records.values()] };
  }

  /** The server is deleted: Nova forgets its records, and so does this. */
  forget(server: string): void {
    for (const record of this.#records.values()) if (record.server === server) this.#records.delete(record.id);
  }

  /** What is over since before `from` says nothing any more. */
  prune(from: Temporal.Instant): void {
    for (const record of this.#records.values()) {
      if (isBefore(record.created, from) && !isUnderWay(record)) this.#records.delete(record.id);
    }
  }
}

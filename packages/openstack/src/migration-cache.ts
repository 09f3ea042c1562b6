import { isBefore, secondsAfter } from '@drydock/apimachinery';
import { isUnderWay, type ServerMigration } from '@drydock/core/hypervisor';
import { failed, type NovaResult } from './failure.ts';
import type { Nova } from './nova.ts';

/** Seconds between full reads, for records that vanished with their servers. */
const wholeSeconds = 600;
/**
 * Overlap of reads in seconds: Nova's times are whole seconds, and a record may be written during a
 * read.
 */
const overlapSeconds = 15;

/** Cache of the migrations from and to a host, updated with as few reads as Nova allows. */
export class MigrationCache {
  readonly #records = new Map<number, ServerMigration>();
  #wholeAt: Temporal.Instant | undefined;
  #readAt: Temporal.Instant | undefined;

  /** Returns all records, after one call (more where they have pages). */
  async read(
    nova: Nova,
    host: string,
    signal: AbortSignal,
  ): Promise<NovaResult<readonly ServerMigration[]>> {
    const now = nova.now();
    const isOld =
      this.#wholeAt === undefined || isBefore(secondsAfter(this.#wholeAt, wholeSeconds), now);
    // Only a full read shows that a server on its way to this host was deleted: its record is
    // missing.
    const isWhole =
      isOld ||
      this.#records
        .values()
        .some(one => one.target === host && one.source !== host && isUnderWay(one));
    const since =
      isWhole || this.#readAt === undefined
        ? undefined
        : secondsAfter(this.#readAt, -overlapSeconds);
    const { value, failure } = await nova.migrations(host, since, signal);
    if (value === undefined)
      return failure === undefined
        ? failed('trouble', 'the migrations cannot be read')
        : { failure };
    if (isWhole) {
      this.#records.clear();
      this.#wholeAt = now;
    }
    this.#readAt = now;
    for (const record of value) this.#records.set(record.id, record);
    return { value: [...this.#records.values()] };
  }

  /** Drops the records of a deleted server, as Nova does. */
  forget(server: string): void {
    for (const record of this.#records.values())
      if (record.server === server) this.#records.delete(record.id);
  }

  /** Drops migrations that were created before `from` and are over. */
  prune(from: Temporal.Instant): void {
    for (const record of this.#records.values()) {
      if (isBefore(record.created, from) && !isUnderWay(record)) this.#records.delete(record.id);
    }
  }
}

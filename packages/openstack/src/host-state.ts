import { isBefore, secondsAfter } from '@drydock/apimachinery';
import {
  type ComputeService,
  type HostDecision,
  type HostSnapshot,
  hasFailed,
  hasSucceeded,
  isUnderWay,
  type Marker,
  type MigrationLimits,
  type NovaRefusal,
  type NovaServer,
  type ServerMigration,
  since,
} from '@drydock/core/hypervisor';
import type { DesiredHostState, HostView } from '@drydock/core/vm';
import { failed, type NovaResult } from './identity.ts';
import type { Nova } from './nova.ts';

/** Seconds between full reads, for records that vanished with their servers. */
const wholeSeconds = 600;
/**
 * Overlap of reads in seconds: Nova's times are whole seconds, and a record may be written during a
 * read.
 */
const overlapSeconds = 15;

/** Cache of the migrations from and to a host, updated with as few reads as Nova allows. */
class MigrationCache {
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

/** Desired state of a host, with its node and service. */
export type HostTask = {
  readonly node: string;
  readonly host: string;
  readonly service: ComputeService;
  readonly desired: DesiredHostState | undefined;
  readonly isReleased: boolean;
};

/** Settings that apply to all hosts. */
export type HostTerms = {
  readonly marker: Marker;
  readonly limits: MigrationLimits;
  /** Whether failures before this process received the desired state are ignored. */
  readonly isAnew: boolean;
};

/** Limit of requests for a migration's reason that Nova does not return. */
const maxQuestions = 3;

/** Task of a server, or a lasting state, with the time since it was first seen. */
type Seen = { readonly task: string; readonly since: Temporal.Instant };

type Base = Omit<HostSnapshot, 'elsewhere' | 'progress'>;

/**
 * State of one host between two reads. All of it can be lost: it only saves calls, and counts what
 * Nova does not store.
 */
export class HostState {
  readonly #refusals = new Map<string, NovaRefusal>();
  readonly #asked = new Set<string>();
  /** Task of each server at the last read, and since when it has been seen. */
  #seen: ReadonlyMap<string, Seen> = new Map();
  #decision: HostDecision | undefined;
  #problem: string | undefined;
  #dueMs = 0;
  #flights = 0;
  readonly #desiredSince: Temporal.Instant;
  readonly #book = new MigrationCache();
  readonly #known = new Map<string, NovaServer>();
  readonly #reasons = new Map<number, string>();
  readonly #questions = new Map<number, number>();

  constructor(now: Temporal.Instant) {
    this.#desiredSince = now;
  }

  /** View of the host. */
  get view(): HostView | undefined {
    return this.#decision?.view;
  }

  /** Failure of the last read, or of the calls after it. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Time of the next read, in milliseconds of the clock. */
  get dueMs(): number {
    return this.#dueMs;
  }

  /** Migrations off the host that were running at the last read, and those started after it. */
  get flights(): number {
    return this.#flights;
  }

  /**
   * Resets after a change of the desired state: the host is read at once, and observations for
   * another policy do not apply.
   */
  desiredChanged(): void {
    this.#dueMs = 0;
    if (this.#decision !== undefined)
      this.#decision = { ...this.#decision, view: { ...this.#decision.view, empty: false } };
  }

  /** Records a failed read or call; the next attempt is at that time. */
  failed(message: string, againMs: number): void {
    this.#problem = message;
    this.#dueMs = againMs;
  }

  /** Records the decision of a read. */
  decided(decision: HostDecision, flights: number, againMs: number): void {
    this.#problem = undefined;
    this.#decision = decision;
    this.#flights = flights;
    this.#dueMs = againMs;
  }

  /** Records that Nova has accepted a request for the server. */
  accepted(server: string): void {
    this.#asked.add(server);
    this.#refusals.delete(server);
  }

  /**
   * Records that Nova has refused to move the server; `counts` if the refusal concerns the server,
   * not Nova.
   */
  refused(server: string, message: string, at: Temporal.Instant, counts: boolean): void {
    const before = this.#refusals.get(server)?.count ?? 0;
    this.#refusals.set(server, { count: counts ? before + 1 : before, at, message });
  }

  /**
   * Reads the host from Nova: two calls (more where there are pages), and at most two more for
   * single servers.
   */
  async look(
    nova: Nova,
    task: HostTask,
    terms: HostTerms,
    signal: AbortSignal,
  ): Promise<NovaResult<HostSnapshot>> {
    const servers = await nova.serversOn(task.host, signal);
    if (servers.failure !== undefined) return servers;
    const migrations = await this.#book.read(nova, task.host, signal);
    if (migrations.failure !== undefined) return migrations;
    for (const server of servers.value) this.#known.set(server.id, server);
    this.#see(servers.value, nova.now());
    const { marker, limits, isAnew } = terms;
    const base: Base = {
      ...task,
      marker,
      ...(isAnew && { anewFrom: this.#desiredSince }),
      desiredSince: this.#desiredSince,
      servers: servers.value,
      migrations: migrations.value,
      reasons: this.#reasons,
      refusals: this.#refusals,
      asked: this.#asked,
      seenSince: new Map([...this.#seen].map(([id, { since }]) => [id, since] as const)),
      user: nova.userId(),
      limits,
      free: limits.total,
    };
    this.#book.prune(since(base));
    this.#forget(base);
    const elsewhere = await this.#elsewhere(nova, base, signal);
    if (elsewhere.failure !== undefined) return elsewhere;
    await this.#explain(nova, base, signal);
    return {
      value: {
        ...base,
        elsewhere: elsewhere.value,
        progress: await this.#progress(nova, base, signal),
      },
    };
  }

  #see(servers: readonly NovaServer[], now: Temporal.Instant): void {
    const before = this.#seen;
    this.#seen = new Map(
      servers.map(({ id, taskState, vmState }) => {
        const task = taskState ?? vmState;
        const earlier = before.get(id);
        return [id, earlier?.task === task ? earlier : { task, since: now }] as const;
      }),
    );
  }

  /** Drops refusals of servers that have left. */
  #forget({ servers }: Base): void {
    const here = new Set(servers.map(({ id }) => id));
    for (const id of this.#refusals.keys()) if (!here.has(id)) this.#refusals.delete(id);
  }

  /** Returns servers that have left, or are leaving; those in a final state are read once. */
  async #elsewhere(
    nova: Nova,
    base: Base,
    signal: AbortSignal,
  ): Promise<NovaResult<readonly NovaServer[]>> {
    const here = new Set(base.servers.map(({ id }) => id));
    const from = since(base);
    const leaving = base.migrations
      .filter(
        one =>
          one.source === base.host &&
          !here.has(one.server) &&
          (isUnderWay(one) || (hasSucceeded(one) && !isBefore(one.created, from))),
      )
      .sort((one, other) => one.id - other.id);
    const found: NovaServer[] = [];
    for (const [id, record] of new Map(leaving.map(one => [one.server, one]))) {
      const known = this.#known.get(id);
      if (known !== undefined && hasSucceeded(record))
        found.push({ ...known, ...(record.target !== undefined && { host: record.target }) });
      else {
        const { value, failure } = await nova.server(id, signal);
        if (failure !== undefined) return failed(failure.kind, failure.message, failure.status);
        if (value === undefined) this.#book.forget(id);
        else {
          this.#known.set(id, value);
          found.push(value);
        }
      }
    }
    return { value: found };
  }

  /** Reads why the latest migrations failed: once for each, two calls. */
  async #explain(
    nova: Nova,
    { servers, migrations, host }: Base,
    signal: AbortSignal,
  ): Promise<void> {
    for (const { id } of servers) {
      const own = migrations.filter(
        one =>
          one.server === id && one.source === host && hasFailed(one) && one.status !== 'cancelled',
      );
      const last = own.reduce<ServerMigration | undefined>(
        (best, one) => (best === undefined || one.id > best.id ? one : best),
        undefined,
      );
      if (last === undefined || this.#reasons.has(last.id)) continue;
      const questions = this.#questions.get(last.id) ?? 0;
      if (questions >= maxQuestions) continue;
      this.#questions.set(last.id, questions + 1);
      const reason = await nova.reason(last, signal);
      if (reason !== undefined) this.#reasons.set(last.id, reason);
    }
  }

  async #progress(
    nova: Nova,
    { host, migrations }: Base,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, number>> {
    const running = migrations.filter(
      one => one.source === host && one.type === 'live-migration' && one.status === 'running',
    );
    const percents = new Map<string, number>();
    for (const { server } of running) {
      const percent = await nova.progress(server, signal);
      if (percent !== undefined) percents.set(server, percent);
    }
    return percents;
  }
}

/** Returns whether two views are equal. */
export function isSameView(one: HostView | 'none', other: HostView | 'none'): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

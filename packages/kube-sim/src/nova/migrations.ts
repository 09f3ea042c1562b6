import type {
  SimulatedAction,
  SimulatedHost,
  SimulatedMigration,
  SimulatedServer,
} from './bodies.ts';

type NovaState = {
  readonly hosts: ReadonlyMap<string, SimulatedHost>;
  readonly servers: ReadonlyMap<string, SimulatedServer>;
  readonly concurrency: number;
  readonly migrationMs: (server: SimulatedServer) => number;
};

/** Milliseconds until the conductor has found a host, or that there is none. */
const decideMs = 400;

/**
 * Milliseconds between the end of a cold migration's record and the server's departure from the
 * state `resized`, in Nova.
 */
const settleMs = 300;

const noValidHost = 'No valid host was found. There are not enough hosts available.';

const eventNames: Readonly<Record<string, string>> = {
  'live-migration': 'conductor_live_migrate_instance',
};

const over: ReadonlySet<string> = new Set([
  'completed',
  'confirmed',
  'error',
  'cancelled',
  'reverted',
]);

/**
 * Progress of migrations: accepted, queued, running, completed for live ones; accepted, migrating,
 * finished, confirming, confirmed for cold ones.
 */
export class Migrations {
  readonly records: SimulatedMigration[] = [];
  readonly actions: SimulatedAction[] = [];
  readonly #world: NovaState;
  #next = 1;

  constructor(world: NovaState) {
    this.#world = world;
  }

  /** Accepts a migration: from here on the server is in a task. */
  begin(
    server: SimulatedServer,
    type: SimulatedMigration['type'],
    user: string,
    nowMs: number,
  ): void {
    const id = this.#next;
    this.#next += 1;
    const request = `req-${id.toString(16).padStart(8, '0')}-0000-4000-8000-000000000000`;
    server.taskState = type === 'live-migration' ? 'migrating' : 'resize_prep';
    server.earlier = server.vmState;
    const action = type === 'live-migration' ? type : type === 'resize' ? 'resize' : 'migrate';
    const event = eventNames[type] ?? 'conductor_migrate_server';
    this.actions.unshift({
      request,
      server: server.id,
      action,
      event,
      startMs: nowMs,
      message: undefined,
      details: undefined,
    });
    this.records.push({
      id,
      uuid: `00000004-0000-4000-8000-${id.toString(16).padStart(12, '0')}`,
      server: server.id,
      type,
      source: server.host ?? '',
      user,
      request,
      createdMs: nowMs,
      target: undefined,
      status: 'accepted',
      updatedMs: nowMs,
      beganMs: undefined,
      dueMs: nowMs + decideMs,
    });
  }

  confirm(server: SimulatedServer, nowMs: number): boolean {
    const record = this.records.find(one => one.server === server.id && one.status === 'finished');
    if (record === undefined) return false;
    this.#become(record, 'confirming', nowMs, decideMs);
    return true;
  }

  /** Aborts a live migration, queued or running, at once. */
  abort(record: SimulatedMigration, nowMs: number): void {
    this.#end(record, 'cancelled', nowMs);
    this.#fill(record.source, nowMs);
  }

  forget(server: string): void {
    const kept = this.records.filter(one => one.server !== server);
    this.records.splice(0, this.records.length, ...kept);
  }

  /** Returns the migrations of a server that are not over. */
  underWay(server: string): readonly SimulatedMigration[] {
    return this.records.filter(one => one.server === server && !over.has(one.status));
  }

  /** Executes everything that is due, in order, each at its own time. */
  advance(nowMs: number): void {
    for (;;) {
      const due = this.records
        .filter(one => one.dueMs !== undefined && one.dueMs <= nowMs)
        .reduce<SimulatedMigration | undefined>(
          (first, one) => ((first?.dueMs ?? Infinity) <= (one.dueMs ?? 0) ? first : one),
          undefined,
        );
      if (due?.dueMs === undefined) return;
      this.#step(due, due.dueMs);
    }
  }

  #step(record: SimulatedMigration, atMs: number): void {
    const server = this.#world.servers.get(record.server);
    if (server === undefined) return this.forget(record.server);
    switch (record.status) {
      case 'accepted':
        return this.#schedule(record, server, atMs);
      case 'running':
        server.host = record.target;
        this.#end(record, 'completed', atMs);
        return this.#fill(record.source, atMs);
      case 'migrating':
        server.host = record.target;
        server.vmState = 'resized';
        server.taskState = undefined;
        return this.#become(record, 'finished', atMs, undefined);
      case 'confirming':
        return this.#become(record, 'confirmed', atMs, settleMs);
      default:
        server.vmState = server.earlier;
        record.dueMs = undefined;
    }
  }

  #schedule(record: SimulatedMigration, server: SimulatedServer, atMs: number): void {
    const source = this.#world.hosts.get(record.source);
    if (source?.up !== true)
      return this.#fail(
        record,
        `Compute service of ${record.source} is unavailable at this time.`,
        atMs,
      );
    const target = this.#place(server);
    if (target === undefined) return this.#fail(record, noValidHost, atMs);
    record.target = target;
    if (record.type === 'live-migration') {
      this.#become(record, 'queued', atMs, undefined);
      return this.#fill(record.source, atMs);
    }
    server.taskState = 'resize_migrating';
    this.#become(record, 'migrating', atMs, this.#world.migrationMs(server));
  }

  /** Returns the enabled host with the fewest servers, incoming ones included. */
  #place(server: SimulatedServer): string | undefined {
    if (server.pinned) return undefined;
    const load = (name: string): number =>
      this.#world.servers
        .values()
        .filter(({ host }) => host === name)
        .toArray().length +
      this.records.filter(
        one => one.target === name && !over.has(one.status) && one.status !== 'finished',
      ).length;
    const fit = this.#world.hosts
      .values()
      .filter(
        ({ name, enabled, up, room }) => enabled && up && name !== server.host && load(name) < room,
      );
    return fit
      .toArray()
      .sort(
        (one, other) => load(one.name) - load(other.name) || (one.name < other.name ? -1 : 1),
      )[0]?.name;
  }

  /** Starts queued migrations up to the limit of a host; the others stay in the queue. */
  #fill(source: string, atMs: number): void {
    const own = this.records.filter(one => one.source === source && one.type === 'live-migration');
    const free = this.#world.concurrency - own.filter(({ status }) => status === 'running').length;
    for (const record of own
      .filter(({ status }) => status === 'queued')
      .slice(0, Math.max(free, 0))) {
      const server = this.#world.servers.get(record.server);
      record.beganMs = atMs;
      this.#become(
        record,
        'running',
        atMs,
        server === undefined ? 0 : this.#world.migrationMs(server),
      );
    }
  }

  #fail(record: SimulatedMigration, details: string, atMs: number): void {
    const action = this.actions.find(({ request }) => request === record.request);
    if (action !== undefined) Object.assign(action, { message: 'Error', details });
    this.#end(record, 'error', atMs);
  }

  #end(record: SimulatedMigration, status: string, atMs: number): void {
    const server = this.#world.servers.get(record.server);
    if (server !== undefined) server.taskState = undefined;
    this.#become(record, status, atMs, undefined);
  }

  #become(
    record: SimulatedMigration,
    status: string,
    atMs: number,
    forMs: number | undefined,
  ): void {
    record.status = status;
    record.updatedMs = atMs;
    record.dueMs = forMs === undefined ? undefined : atMs + forMs;
  }
}

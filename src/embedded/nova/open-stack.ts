import type { Clock } from '../../support/clock.ts';
import { Migrations } from './migrations.ts';
import type { SimulatedHost, SimulatedServer } from './parts.ts';

export type OpenStackOptions = {
  readonly clock: Clock;
  /** Names of compute hosts, or with what differs from the usual. */
  readonly hosts: readonly (string | { readonly name: string; readonly hypervisor?: string; readonly room?: number })[];
  /** Milliseconds that a live migration takes; 5000 when left out. */
  readonly migrationMs?: (server: SimulatedServer) => number;
  /** Live migrations off one host at a time: `max_concurrent_live_migrations`, which is 1 where nobody changes it. */
  readonly concurrency?: number;
  /** The most that one page has: `max_limit`. */
  readonly pageSize?: number;
  /** Life of a token. */
  readonly tokenSeconds?: number;
  /** Minor numbers of the microversions that it speaks. */
  readonly minors?: readonly [number, number];
};

export type NewServer = {
  readonly name: string;
  readonly host: string;
  readonly project?: string;
  readonly memoryMiB?: number;
  /** active when left out. */
  readonly vmState?: string;
  readonly volumeBacked?: boolean;
  readonly pinned?: boolean;
};

/** The user that everybody logs in as. */
export const simulatedUser = { id: 'b7a1c0de000000000000000000000001', name: 'admin', password: 'secret', project: 'admin' } as const;

/** What a client has in its environment to log in. `authUrl`: of its Keystone. */
export const simulatedEnvironment = (authUrl: string): Readonly<Record<string, string>> => ({
  OS_AUTH_URL: authUrl,
  OS_USERNAME: simulatedUser.name,
  OS_PASSWORD: simulatedUser.password,
  OS_PROJECT_NAME: simulatedUser.project,
  OS_USER_DOMAIN_NAME: 'Default',
  OS_PROJECT_DOMAIN_NAME: 'Default',
});

const uuid = (kind: number, n: number): string =>
  `${kind.toString(16).padStart(8, '0')}-0000-4000-8000-${n.toString(16).padStart(12, '0')}`;

/** An OpenStack with a Nova that migrates: time goes on only as its clock says, and is caught up with whenever somebody asks. */
export class OpenStack {
  readonly hosts: ReadonlyMap<string, SimulatedHost>;
  readonly servers = new Map<string, SimulatedServer>();
  readonly migrations: Migrations;
  readonly clock: Clock;
  readonly pageSize: number;
  readonly tokenSeconds: number;
  readonly minors: readonly [number, number];
  /** It does not answer. */
  down = false;
  #made = 0;

  constructor(options: OpenStackOptions) {
    const { clock, hosts, concurrency = 1, pageSize = 1000, tokenSeconds = 3600, minors = [1, 93] } = options;
    this.clock = clock;
    this.pageSize = pageSize;
    this.tokenSeconds = tokenSeconds;
    this.minors = minors;
    const made = hosts.map((given, index): SimulatedHost => {
      const { name, hypervisor, room } = typeof given === 'string' ? { name: given } : given;
      const ids = { service: uuid(1, index), hypervisorId: uuid(2, index) };
      return { name, hypervisor: hypervisor ?? name, ...ids, enabled: true, reason: undefined, up: true, room: room ?? Infinity };
    });
    this.hosts = new Map(made.map(host => [host.name, host]));
    const { migrationMs = () => 5000 } = options;
    this.migrations = new Migrations({ hosts: this.hosts, servers: this.servers, concurrency, migrationMs });
  }

  nowMs(): number {
    return this.clock.now().epochMilliseconds;
  }

  /** What has happened by now, has happened. */
  catchUp(): void {
    this.migrations.advance(this.nowMs());
  }

  addServer({
    name,
    host,
    project = 'admin',
    memoryMiB = 64,
    vmState = 'active',
    volumeBacked = false,
    pinned = false,
  }: NewServer): string {
    this.#made += 1;
    const id = uuid(3, this.#made);
    const state = { host, vmState, taskState: undefined, earlier: vmState, pinned };
    this.servers.set(id, { id, name, project, memoryMiB, volumeBacked, createdMs: this.nowMs() + this.#made, ...state });
    return id;
  }

  /** With its migrations: Nova does not keep the records of a server that is gone. */
  deleteServer(id: string): void {
    this.catchUp();
    this.servers.delete(id);
    this.migrations.forget(id);
  }

  /** What an administrator does. */
  setService(name: string, enabled: boolean, reason?: string): void {
    const host = this.hosts.get(name);
    if (host === undefined) throw new Error(`there is no host ${name}`);
    host.enabled = enabled;
    host.reason = enabled ? undefined : reason;
  }

  /** Names of the servers on a host, in order. */
  on(host: string): readonly string[] {
    this.catchUp();
    return [...this.servers.values()].flatMap(server => (server.host === host ? [server.name] : [])).sort();
  }
}

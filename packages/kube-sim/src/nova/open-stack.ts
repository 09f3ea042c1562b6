import type { Json } from '@drydock/apimachinery';
import type { Clock } from '@drydock/utils';
import type { SimulatedHost, SimulatedServer } from './bodies.ts';
import { Migrations } from './migrations.ts';

export type OpenStackOptions = {
  readonly clock: Clock;
  /** Compute hosts: names, or with values that differ from the defaults. */
  readonly hosts: readonly (
    | string
    | { readonly name: string; readonly hypervisor?: string; readonly room?: number }
  )[];
  /** Returns the duration of a live migration in milliseconds; 5000 when left out. */
  readonly migrationMs?: (server: SimulatedServer) => number;
  /**
   * Limit of concurrent live migrations off one host: `max_concurrent_live_migrations`, whose
   * default is 1.
   */
  readonly concurrency?: number;
  /** Limit of a page: `max_limit`. */
  readonly pageSize?: number;
  /** Lifetime of a token. */
  readonly tokenSeconds?: number;
  /** Range of the supported microversions' minor numbers. */
  readonly minors?: readonly [number, number];
};

export type NewServer = {
  readonly name: string;
  readonly host: string;
  readonly project?: string;
  readonly memoryMiB?: number;
  /** State; active when left out. */
  readonly vmState?: string;
  readonly volumeBacked?: boolean;
  readonly pinned?: boolean;
};

/** The only user. */
export const simulatedUser = {
  id: 'b7a1c0de000000000000000000000001',
  name: 'admin',
  password: 'secret',
  project: 'admin',
} as const;

/** Returns the environment of a client for a login. `authUrl`: of its Keystone. */
export function simulatedEnvironment(authUrl: string): Readonly<Record<string, string>> {
  return {
    OS_AUTH_URL: authUrl,
    OS_USERNAME: simulatedUser.name,
    OS_PASSWORD: simulatedUser.password,
    OS_PROJECT_NAME: simulatedUser.project,
    OS_USER_DOMAIN_NAME: 'Default',
    OS_PROJECT_DOMAIN_NAME: 'Default',
  };
}

function uuid(kind: number, n: number): string {
  return `${kind.toString(16).padStart(8, '0')}-0000-4000-8000-${n.toString(16).padStart(12, '0')}`;
}

/**
 * An OpenStack with a Nova that migrates: time passes only by its clock, and the state is updated
 * at each request.
 */
export class OpenStack {
  readonly hosts: ReadonlyMap<string, SimulatedHost>;
  readonly servers = new Map<string, SimulatedServer>();
  readonly migrations: Migrations;
  readonly clock: Clock;
  readonly pageSize: number;
  readonly tokenSeconds: number;
  readonly minors: readonly [number, number];
  /** Whether it does not respond. */
  down = false;
  #made = 0;

  constructor(options: OpenStackOptions) {
    const {
      clock,
      hosts,
      concurrency = 1,
      pageSize = 1000,
      tokenSeconds = 3600,
      minors = [1, 93],
    } = options;
    this.clock = clock;
    this.pageSize = pageSize;
    this.tokenSeconds = tokenSeconds;
    this.minors = minors;
    const made = hosts.map((given, index): SimulatedHost => {
      const { name, hypervisor, room } = typeof given === 'string' ? { name: given } : given;
      const ids = { service: uuid(1, index), hypervisorId: uuid(2, index) };
      return {
        name,
        hypervisor: hypervisor ?? name,
        ...ids,
        enabled: true,
        reason: undefined,
        up: true,
        room: room ?? Infinity,
      };
    });
    this.hosts = new Map(made.map(host => [host.name, host]));
    const { migrationMs = () => 5000 } = options;
    this.migrations = new Migrations({
      hosts: this.hosts,
      servers: this.servers,
      concurrency,
      migrationMs,
    });
  }

  nowMs(): number {
    return this.clock.now().epochMilliseconds;
  }

  /** Executes everything that is due. */
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
    this.servers.set(id, {
      id,
      name,
      project,
      memoryMiB,
      volumeBacked,
      createdMs: this.nowMs() + this.#made,
      ...state,
    });
    return id;
  }

  /** Deletes a server with its migrations: Nova does not keep the records of a deleted server. */
  deleteServer(id: string): void {
    this.catchUp();
    this.servers.delete(id);
    this.migrations.forget(id);
  }

  /** Enables or disables a service, as an administrator does. */
  setService(name: string, enabled: boolean, reason?: string): void {
    const host = this.hosts.get(name);
    if (host === undefined) throw new Error(`there is no host ${name}`);
    host.enabled = enabled;
    host.reason = enabled ? undefined : reason;
  }

  /** Returns the names of the servers on a host, in order. */
  on(host: string): readonly string[] {
    this.catchUp();
    return [...this.servers.values()]
      .flatMap(server => (server.host === host ? [server.name] : []))
      .sort();
  }
}

/** One call over HTTP, and its response. */
export type NovaCall = {
  readonly method: string;
  /** Path without query, below the service. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Json | undefined;
  /** Minor number of the microversion. */
  readonly minor: number;
  /** Host and path at the start of links. */
  readonly base: string;
};

export type NovaReply = {
  readonly status: number;
  readonly body?: Json;
  readonly headers?: Readonly<Record<string, string>>;
};

const names: Readonly<Record<number, string>> = {
  400: 'badRequest',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'itemNotFound',
  409: 'conflictingRequest',
};

/** Returns an error response of Nova. */
export function refuse(code: number, message: string): NovaReply {
  return {
    status: code,
    body: { [names[code] ?? 'computeFault']: { code, message } },
  };
}

import { type HostCall, type HostSnapshot, isQueued, isUnderWay } from './server.ts';
import { isMigrationStuck, isStuck } from './server-history.ts';
import type { ServerPlan } from './server-plan.ts';

/** Matching of nodes and hypervisors. */

/** Label or annotation of a node with the name of its hypervisor. */
export const hypervisorKey = 'drydock.dev/hypervisor';

export type NodeIdentity = {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly providerId?: string;
};

export type HypervisorIdentity = {
  /** Value of `host` of its nova-compute. */
  readonly host: string;
  /** Value of `hypervisor_hostname`: often the same, often with a domain. */
  readonly hostname?: string;
  /** UUID of the compute node. */
  readonly id?: string;
};

/** Result for a node. `host`: its hypervisor. `problem`: why that is unknown. */
export type Match = { readonly host: string } | { readonly problem: string };

/**
 * Function that returns the nodes that are hypervisors, or may be, by name; all others are none.
 */
export type Matcher = (
  nodes: readonly NodeIdentity[],
  hypervisors: readonly HypervisorIdentity[],
) => ReadonlyMap<string, Match>;

type Claim = { readonly node: string; readonly rank: number; readonly hosts: readonly string[] };

function shortOf(name: string): string {
  return name.split('.', 1)[0] ?? name;
}

/**
 * Reports whether one of the two is the other without its domain. Two different domains are two
 * machines.
 */
function isSameMachine(one: string, other: string): boolean {
  return (
    one.includes('.') !== other.includes('.') &&
    shortOf(one) === shortOf(other) &&
    !/^[\d.]+$|:/.test(`${one}${other}`)
  );
}

function hostsOf(
  hypervisors: readonly HypervisorIdentity[],
  fits: (name: string) => boolean,
): readonly string[] {
  return [
    ...new Set(
      hypervisors
        .filter(({ host, hostname = host }) => fits(host) || fits(hostname))
        .map(({ host }) => host),
    ),
  ];
}

function lower(name: string): string {
  return name.toLowerCase();
}

/**
 * Returns the claim of a node, by the first of these that exists: its annotation or label, its
 * name, its providerID, its name with or without a domain.
 */
function claimOf(
  node: NodeIdentity,
  hypervisors: readonly HypervisorIdentity[],
): Claim | string | undefined {
  const named = node.annotations?.[hypervisorKey] ?? node.labels?.[hypervisorKey];
  if (named !== undefined) {
    const hosts = hostsOf(hypervisors, name => name === named);
    return hosts.length === 0
      ? `${hypervisorKey} of the node says ${named}, and this Nova has no such hypervisor`
      : { node: node.name, rank: 0, hosts };
  }
  const provided = node.providerId?.split('/').at(-1) ?? '';
  const ways = [
    hostsOf(hypervisors, name => lower(name) === lower(node.name)),
    [
      ...new Set(
        hypervisors.filter(({ id }) => id !== undefined && id === provided).map(({ host }) => host),
      ),
    ],
    hostsOf(hypervisors, name => isSameMachine(lower(name), lower(node.name))),
  ];
  const rank = ways.findIndex(hosts => hosts.length > 0);
  return rank < 0 ? undefined : { node: node.name, rank: rank + 1, hosts: ways[rank] ?? [] };
}

function severalText(hosts: readonly string[]): string {
  return `it may be any of the hypervisors ${[...hosts].sort().slice(0, 5).join(', ')}: say which with the annotation ${hypervisorKey}`;
}

function settle(claim: Claim, claims: readonly Claim[]): Match {
  const [host, ...others] = claim.hosts;
  if (host === undefined || others.length > 0) return { problem: severalText(claim.hosts) };
  const rivals = claims.filter(
    ({ node, rank, hosts }) => node !== claim.node && rank <= claim.rank && hosts.includes(host),
  );
  if (rivals.length === 0) return { host };
  const names = rivals
    .map(({ node }) => node)
    .sort()
    .slice(0, 5)
    .join(', ');
  return {
    problem: `hypervisor ${host} may be the node ${names} as well: say which with the annotation ${hypervisorKey}`,
  };
}

/**
 * Finds the hypervisor of each node: by the label or annotation `drydock.dev/hypervisor`; by its
 * name, which is the service's host or the hypervisor's name; by a providerID that ends with the
 * hypervisor's UUID; by its name with or without a domain. An ambiguity is reported as a problem
 * and never guessed. A providerID `openstack:///UUID` names a server, a guest, and so matches no
 * hypervisor.
 */
export const matchHosts: Matcher = (nodes, hypervisors) => {
  const matches = new Map<string, Match>();
  const claims: Claim[] = [];
  for (const node of nodes) {
    const claim = claimOf(node, hypervisors);
    if (typeof claim === 'string') matches.set(node.name, { problem: claim });
    else if (claim !== undefined) claims.push(claim);
  }
  for (const claim of claims) matches.set(claim.node, settle(claim, claims));
  return matches;
};

/** Ranks by state: active servers are in use, stopped ones are not. */
const ranks: Readonly<Record<string, number>> = { active: 0, paused: 1, stopped: 2 };

/**
 * Compares by turn: active, then paused, then stopped servers, because running work is at risk
 * longest on a host that fails; the smallest of each first, so that most are safe soonest and the
 * time of one is known early; then by id, so that the order is the same after a restart.
 */
function inOrder(one: ServerPlan, other: ServerPlan): number {
  return (
    (ranks[one.server.vmState] ?? 3) - (ranks[other.server.vmState] ?? 3) ||
    (one.server.memoryMiB ?? 0) - (other.server.memoryMiB ?? 0) ||
    (one.server.id < other.server.id ? -1 : 1)
  );
}

/**
 * Returns how many migrations off this host were requested and are not over, and how many of them
 * Nova has not begun. Stuck ones do not count, so that the others go on.
 */
export function inFlightMigrations(
  snapshot: HostSnapshot,
  now: Temporal.Instant,
): { readonly all: number; readonly queued: number } {
  const { host, servers, elsewhere, migrations } = snapshot;
  const byId = new Map([...elsewhere, ...servers].map(server => [server.id, server] as const));
  const open = migrations.filter(
    one => one.source === host && isUnderWay(one) && one.status !== 'finished',
  );
  const recorded = new Set(open.map(({ server }) => server));
  const own = open.filter(one => {
    const server = byId.get(one.server);
    return server === undefined || !isMigrationStuck(snapshot, one, server, now);
  });
  // Just accepted: Nova's conductor has not created the record yet.
  const fresh = servers.filter(
    server =>
      server.taskState === 'migrating' &&
      !recorded.has(server.id) &&
      !isStuck(snapshot, server, 'migrating', now),
  ).length;
  return {
    all: new Set(own.map(({ server }) => server)).size + fresh,
    queued: own.filter(isQueued).length + fresh,
  };
}

/**
 * Returns the migrations to request now. How many Nova runs at a time is its own setting, which no
 * client can read; so more are requested as long as fewer than `ahead` wait in its queue: it always
 * has a next one, whatever its setting is.
 */
export function nextMigrations(
  snapshot: HostSnapshot,
  behaviors: readonly ServerPlan[],
  now: Temporal.Instant,
): readonly HostCall[] {
  const { all, queued } = inFlightMigrations(snapshot, now);
  const { perHost, ahead } = snapshot.limits;
  const room = Math.max(Math.min(perHost - all, ahead - queued, snapshot.free), 0);
  const ready = behaviors
    .filter(({ call }) => call?.kind === 'live-migrate' || call?.kind === 'cold-migrate')
    .sort(inOrder);
  return ready.slice(0, room).flatMap(({ call }) => call ?? []);
}

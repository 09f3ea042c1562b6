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

import { holdersIn } from '@drydock/core/hold';
import { notAllowedText } from '@drydock/core/maintenance';
import { type KindAdapter, leaseNames, type MaintenanceRequest } from '@drydock/core/request';
import type { Overview } from '../ports.ts';
import { lifecycleCollections } from './lifecycle-evictions.ts';
import { isOwnedNode } from './node-predicates.ts';
import { vmCollections } from './vms.ts';
import type { CachedNode } from './whole-node.ts';

/**
 * Collections without read permission: which are optional, and which nodes are blocked without
 * them.
 */

export const windowsName = 'maintenancewindows.drydock.dev';
const nodesName = 'nodes';
export const operatorPodsName = 'pods of the operator';

/** Returns the name of the leases of a namespace as a collection. */
export function leasesIn(namespace: string): string {
  return `leases in ${namespace}`;
}

/**
 * Collections that can be left out without read permission: the API server checks the budgets
 * itself, and the others are reported as unknown.
 */
const spared: ReadonlySet<string> = new Set([
  'poddisruptionbudgets',
  'daemonsets',
  'volumeattachments',
  windowsName,
  operatorPodsName,
]);

/**
 * Reports whether the collection is one that many clusters do not have, and that older roles do not
 * let the operator read.
 */
export function isOptional(name: string): boolean {
  return vmCollections.has(name) || lifecycleCollections.has(name);
}

/**
 * Reports whether the collection is required: work that depends on it stops without read
 * permission.
 */
export function isNeeded(name: string): boolean {
  return !spared.has(name) && !isOptional(name);
}

/**
 * Returns the text for a required collection without read permission; undefined if there is none.
 */
export function lackText({
  unsynced,
  withheld,
}: Pick<Overview, 'unsynced' | 'withheld'>): string | undefined {
  const lack = withheld.find(name => unsynced.includes(name));
  return lack && notAllowedText(lack);
}

type Known = {
  readonly withheld: readonly string[];
  readonly adapters: readonly KindAdapter[];
  readonly nodeName: string;
  /** Requests for the node. */
  readonly requests: readonly MaintenanceRequest[];
  readonly node: CachedNode | undefined;
  readonly isLeased: boolean;
};

/** Returns the leases that the maintenances of the node need and that lack read permission. */
function withheldLeases({ withheld, adapters, nodeName, requests }: Known): string | undefined {
  const wanted = adapters.filter(adapter => requests.some(request => request.adapter === adapter));
  return leaseNames(wanted, nodeName)
    .map(({ namespace }) => leasesIn(namespace))
    .find(name => withheld.includes(name));
}

/**
 * Returns the kind that may hold the node while its maintenances lack read permission: whether they
 * are gone is unknown.
 */
function withheldHolder({
  withheld,
  adapters,
  requests,
  node,
  isLeased,
}: Known): string | undefined {
  const asked = new Set(requests.map(({ adapter }) => adapter.name));
  const holders = holdersIn(node?.holdRecord);
  // A lease alone, or marks without a record, may belong to any kind if no request for the node is
  // known.
  const isSomebodys = holders.length === 0 && asked.size === 0 && (isOwnedNode(node) || isLeased);
  const mayHold = (name: string): boolean => isSomebodys || holders.includes(name);
  return adapters
    .map(({ name }) => name)
    .find(name => withheld.includes(name) && (asked.has(name) || mayHold(name)));
}

/**
 * Returns the collection that affects this node and lacks read permission; undefined if nothing is
 * missing for it.
 */
export function lackOf(known: Known): string | undefined {
  return known.withheld.includes(nodesName)
    ? nodesName
    : (withheldLeases(known) ?? withheldHolder(known));
}

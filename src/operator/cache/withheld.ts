import { holdersIn } from '../../core/hold/hold-record.ts';
import { notAllowedText } from '../../core/maintenance/problem.ts';
import { type KindAdapter, leaseNames, type MaintenanceRequest } from '../../core/request/request.ts';
import type { Overview } from '../ports.ts';
import { lifecycleCollections } from './lifecycle-evictions.ts';
import { isOwnedNode } from './node-predicates.ts';
import { vmCollections } from './vms.ts';
import type { CachedNode } from './whole-node.ts';

/** What may not be read: what is done without it, and which nodes it keeps. */

export const windowsName = 'maintenancewindows.drydock.dev';
const nodesName = 'nodes';
export const operatorPodsName = 'pods of the operator';

/** The collection of the leases in a namespace. */
export const leasesIn = (namespace: string): string => `leases in ${namespace}`;

/** What is done without where it may not be read: the API server asks the budgets itself, and of the others it is said that they are not known. */
const spared: ReadonlySet<string> = new Set(['poddisruptionbudgets', 'daemonsets', 'volumeattachments', windowsName, operatorPodsName]);

/** Collections that many clusters do not have, and that older roles do not let the operator read. */
export const isOptional = (name: string): boolean => vmCollections.has(name) || lifecycleCollections.has(name);

/** Much depends on it, which stops where it may not be read. */
export const isNeeded = (name: string): boolean => !spared.has(name) && !isOptional(name);

/** What to say where a collection may not be read although much depends on it; undefined where there is none. */
export const lackText = ({ unsynced, withheld }: Pick<Overview, 'unsynced' | 'withheld'>): string | undefined => {
  const lack = withheld.find(name => unsynced.includes(name));
  return lack && notAllowedText(lack);
};

type Known = {
  readonly withheld: readonly string[];
  readonly adapters: readonly KindAdapter[];
  readonly nodeName: string;
  /** Those of the node. */
  readonly requests: readonly MaintenanceRequest[];
  readonly node: CachedNode | undefined;
  readonly isLeased: boolean;
};

/** Of the maintenances of the node, the leases that may not be read. */
const withheldLeases = ({ withheld, adapters, nodeName, requests }: Known): string | undefined => {
  const wanted = adapters.filter(adapter => requests.some(request => request.adapter === adapter));
  return leaseNames(wanted, nodeName)
    .map(({ namespace }) => leasesIn(namespace))
    .find(name => withheld.includes(name));
};

/** The kind that may hold the node, and whose maintenances may not be read: nobody knows whether they are gone. */
const withheldHolder = ({ withheld, adapters, requests, node, isLeased }: Known): string | undefined => {
  const asked = new Set(requests.map(({ adapter }) => adapter.name));
  const holders = holdersIn(node?.holdRecord);
  // A lease alone, or marks without a record, may be anybody's where nobody is known to want the node.
  const isSomebodys = holders.length === 0 && asked.size === 0 && (isOwnedNode(node) || isLeased);
  const mayHold = (name: string): boolean => isSomebodys || holders.includes(name);
  return adapters.map(({ name }) => name).find(name => withheld.includes(name) && (asked.has(name) || mayHold(name)));
};

/** The collection that has a say about this node and may not be read; undefined where nothing is missing for it. */
export const lackOf = (known: Known): string | undefined =>
  known.withheld.includes(nodesName) ? nodesName : (withheldLeases(known) ?? withheldHolder(known));

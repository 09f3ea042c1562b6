import { compareVersions } from '@drydock/apimachinery';
import { holdersIn } from '@drydock/core/hold';
import { notAllowedText } from '@drydock/core/maintenance';
import { type KindAdapter, leaseNames, type MaintenanceRequest } from '@drydock/core/request';
import { type MaintenanceWindow, windowsPath } from '@drydock/core/window';
import { type Api, listAll } from '@drydock/kube-client';
import { type Clock, errorText, isDefect, type Log } from '@drydock/utils';
import type { Overview } from '../ports.ts';
import type { Cache } from './cache.ts';
import { isOwnedNode, lifecycleCollections } from './lifecycle-evictions.ts';
import type { CachedNode } from './pod-watches.ts';
import { vmCollections } from './vms.ts';

/** An object whose start depends on windows. */
type Asker = { readonly uid: string; readonly generation: number };

/** Number of objects that are remembered: for a forgotten object the list is repeated. */
const maxRemembered = 10_000;

/** Milliseconds of lag after which it is reported. A watch is always a moment later than a list. */
const lateAfterMs = 2000;

type Listed = { readonly metadata: { readonly name: string; readonly resourceVersion: string } };

/**
 * Knowledge of whether all windows are known that existed before an object, or before its last
 * edit. The watch of the windows may lag behind that of the object: if a window and a maintenance
 * are applied together, the maintenance may be delivered first, and would begin outside of the
 * opening.
 */
export class WindowFreshness {
  readonly #api: Api;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #windows: Cache<MaintenanceWindow>;
  /** Generation of the object for which all windows are known, by uid. */
  readonly #known = new Map<string, number>();
  #running: Promise<boolean> | undefined;
  #next: Promise<boolean> | undefined;
  #problem: string | undefined;
  /** Milliseconds since the epoch since when the watch has not delivered a listed window. */
  #owedSince: number | undefined;

  constructor(
    { api, log, clock }: { readonly api: Api; readonly log: Log; readonly clock: Clock },
    windows: Cache<MaintenanceWindow>,
  ) {
    this.#api = api;
    this.#log = log;
    this.#clock = clock;
    this.#windows = windows;
  }

  /**
   * Reason why the last list has not proved that all windows are known; undefined if it has, and as
   * long as the watch is only a moment late.
   */
  get problem(): string | undefined {
    return this.#problem;
  }

  /**
   * Returns why it is not known whether there is another window for this object; undefined if all
   * are known.
   */
  problemFor(asker: Asker): string | undefined {
    return this.areKnownTo(asker)
      ? undefined
      : (this.#problem ?? 'waiting for the list of MaintenanceWindows');
  }

  /** Reports whether all windows are known, as far as lists have shown. */
  areKnownTo({ uid, generation }: Asker): boolean {
    return this.#known.get(uid) === generation;
  }

  /**
   * Lists the windows once a generation; each time while the list fails, or contains more than the
   * watch has delivered. Rejects for defects only.
   */
  async find(asker: Asker): Promise<boolean> {
    if (this.areKnownTo(asker)) return true;
    const isKnown = await this.#listed();
    if (isKnown) this.#remember(asker);
    return isKnown;
  }

  #remember({ uid, generation }: Asker): void {
    this.#known.set(uid, generation);
    const [oldest] = this.#known.keys();
    if (this.#known.size > maxRemembered && oldest !== undefined) this.#known.delete(oldest);
  }

  /**
   * Returns the result of a list that begins now, or later: one list at a time, shared by all
   * callers meanwhile.
   */
  #listed(): Promise<boolean> {
    if (this.#running === undefined) return this.#begin();
    const begin = (): Promise<boolean> => {
      this.#next = undefined;
      return this.#begin();
    };
    // Callers of the previous list receive its error.
    this.#next ??= this.#running.then(begin, begin);
    return this.#next;
  }

  #begin(): Promise<boolean> {
    const list = this.#list().finally(() => {
      if (this.#running === list) this.#running = undefined;
    });
    this.#running = list;
    return list;
  }

  async #list(): Promise<boolean> {
    const listed = await this.#read();
    if (listed === undefined) return false;
    const news = listed.find(window => this.#isNews(window));
    this.#problem =
      news && this.#isLate() ? `the watch has not told of ${news.metadata.name} yet` : undefined;
    if (news === undefined) this.#owedSince = undefined;
    return news === undefined;
  }

  /**
   * Lists all windows from the API server; undefined if the list fails, and then `problem` has the
   * reason.
   */
  async #read(): Promise<readonly Listed[] | undefined> {
    try {
      return (await listAll(this.#api, windowsPath, {}, 'empty')) as readonly Listed[];
    } catch (error) {
      if (isDefect(error)) throw error;
      this.#log.warn('failed to list the windows before something begins', { error });
      this.#problem = errorText(error);
      return undefined;
    }
  }

  /** Reports whether the watch has not delivered a listed window for too long. */
  #isLate(): boolean {
    const nowMs = this.#clock.now().epochMilliseconds;
    this.#owedSince ??= nowMs;
    return nowMs - this.#owedSince >= lateAfterMs;
  }

  #isNews({ metadata: { name, resourceVersion } }: Listed): boolean {
    const known = this.#windows.get(name);
    return known === undefined || compareVersions(known.resourceVersion, resourceVersion) < 0;
  }
}

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

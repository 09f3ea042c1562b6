import { type KubeEvent, pathSegment, timeText } from '@drydock/apimachinery';
import {
  type Budget,
  evictionRequestOf,
  evictionRequestsIn,
  type InFlightEviction,
  isCounted,
  isLauncher,
  isReflected,
  type PodCall,
  reflectionLimitMs,
} from '@drydock/core/drain';
import type { ApiCall } from '@drydock/kube-client';

/**
 * Returns the budgets whose status has to count it: the one that it takes from, and those that it
 * overrules.
 */
export function budgetKeysOf({ budget, overrules = [] }: InFlightEviction): readonly string[] {
  return [...(budget === undefined ? [] : [budget]), ...overrules.map(one => one.budget)];
}

/** Reports whether no budget's status has to count it (any more). */
export function hasNoBudget(inFlightEviction: InFlightEviction): boolean {
  return budgetKeysOf(inFlightEviction).length === 0;
}

function ofNode(nodeName: string): string {
  return `node ${nodeName}`;
}
function ofBudget(key: string): string {
  return `budget ${key}`;
}
const launchers = 'launchers of VMs';

function groupsOf(one: InFlightEviction): readonly string[] {
  return [
    ofNode(one.nodeName),
    ...budgetKeysOf(one).map(ofBudget),
    ...(isLauncher(one) ? [launchers] : []),
  ];
}

/**
 * An index of the in-flight evictions and deletions of all nodes, until their budgets have counted
 * them. There are thousands while a large cluster is drained, so a lookup by node or budget does
 * not scan all of them.
 */
export class InFlightEvictions {
  readonly #inFlight = new Map<string, InFlightEviction>();
  readonly #uidsByGroup = new Map<string, Set<string>>();
  /** Milliseconds since the epoch since when they are accepted, by uid, the oldest first. */
  readonly #acceptedMs = new Map<string, number>();

  get size(): number {
    return this.#inFlight.size;
  }

  get(uid: string): InFlightEviction | undefined {
    return this.#inFlight.get(uid);
  }

  of(nodeName: string): readonly InFlightEviction[] {
    return this.#in(ofNode(nodeName));
  }

  /** Returns those that take from the budget or overrule it. */
  takingFrom(key: string): readonly InFlightEviction[] {
    return this.#in(ofBudget(key));
  }

  /**
   * Returns all that affects which pods may leave a node whose pods have these budgets: its own,
   * those that take from the budgets, and in-flight VMs.
   */
  about(nodeName: string, budgets: readonly Budget[]): readonly InFlightEviction[] {
    return this.#in(ofNode(nodeName), launchers, ...budgets.map(({ key }) => ofBudget(key)));
  }

  put(inFlightEviction: InFlightEviction): void {
    const { uid, state, at } = inFlightEviction;
    const groups = groupsOf(inFlightEviction);
    this.#leave(uid, groups);
    this.#inFlight.set(uid, inFlightEviction);
    for (const group of groups) {
      const uids = this.#uidsByGroup.get(group);
      if (uids === undefined) this.#uidsByGroup.set(group, new Set([uid]));
      else uids.add(uid);
    }
    if (state === 'accepted') this.#acceptedMs.set(uid, at.epochMilliseconds);
    else this.#acceptedMs.delete(uid);
  }

  end(uid: string): void {
    this.#leave(uid, []);
    this.#inFlight.delete(uid);
    this.#acceptedMs.delete(uid);
  }

  /**
   * Records that the pod's deletion has been observed: every newer status of its budget has counted
   * it.
   */
  podLeft(uid: string, resourceVersion: string): void {
    const inFlightEviction = this.#inFlight.get(uid);
    if (inFlightEviction === undefined || inFlightEviction.deletionVersion !== undefined) return;
    if (inFlightEviction.state === 'accepted' && hasNoBudget(inFlightEviction)) this.end(uid);
    else this.put({ ...inFlightEviction, deletionVersion: resourceVersion });
  }

  /**
   * Ends the in-flight evictions that this budget has counted, and those that their own budget
   * never shows.
   */
  settle(budget: Budget, now: Temporal.Instant): void {
    for (const [uid, atMs] of this.#acceptedMs) {
      if (now.epochMilliseconds - atMs <= reflectionLimitMs) break;
      this.end(uid);
    }
    for (const one of this.takingFrom(budget.key))
      if (one.state === 'accepted') this.#settle(one, budget, now);
  }

  #settle(inFlightEviction: InFlightEviction, budget: Budget, now: Temporal.Instant): void {
    const { budget: asked, overrules, ...rest } = inFlightEviction;
    const left = overrules?.filter(
      one => one.budget !== budget.key || !isCounted(inFlightEviction, one, budget, now),
    );
    const isLeft =
      asked !== undefined && (asked !== budget.key || !isReflected(inFlightEviction, budget, now));
    const next: InFlightEviction = {
      ...rest,
      ...(isLeft && { budget: asked }),
      ...(left && left.length > 0 && { overrules: left }),
    };
    if (hasNoBudget(next)) this.end(inFlightEviction.uid);
    else this.put(next);
  }

  /** Returns the members of the groups, each once. */
  #in(...groups: readonly string[]): readonly InFlightEviction[] {
    const uids = new Set(groups.flatMap(group => [...(this.#uidsByGroup.get(group) ?? [])]));
    return [...uids].flatMap(uid => this.#inFlight.get(uid) ?? []);
  }

  /** Removes it from all groups but these. */
  #leave(uid: string, kept: readonly string[]): void {
    const before = this.#inFlight.get(uid);
    for (const group of before === undefined
      ? []
      : groupsOf(before).filter(one => !kept.includes(one))) {
      const uids = this.#uidsByGroup.get(group);
      uids?.delete(uid);
      if (uids?.size === 0) this.#uidsByGroup.delete(group);
    }
  }
}

/**
 * An index of the nodes that wait for budgets, so that a budget that allows more requeues those and
 * no others.
 */
export class BudgetWaiters {
  readonly #byBudget = new Map<string, Set<string>>();
  readonly #byNode = new Map<string, readonly string[]>();
  /** Nodes to which this version of the budget was offered. */
  readonly #offered = new Map<string, { readonly version: string; readonly nodes: Set<string> }>();

  /** Sets the budgets that the node waits for from now on. */
  set(nodeName: string, budgets: readonly string[]): void {
    for (const budget of this.#byNode.get(nodeName) ?? [])
      if (!budgets.includes(budget)) this.#leave(budget, nodeName);
    for (const budget of budgets) {
      const nodes = this.#byBudget.get(budget);
      if (nodes === undefined) this.#byBudget.set(budget, new Set([nodeName]));
      else nodes.add(nodeName);
    }
    if (budgets.length === 0) this.#byNode.delete(nodeName);
    else this.#byNode.set(nodeName, budgets);
  }

  budgetsOf(nodeName: string): readonly string[] {
    return this.#byNode.get(nodeName) ?? [];
  }

  nodesOf(budget: string): readonly string[] {
    return [...(this.#byBudget.get(budget) ?? [])];
  }

  /**
   * Returns up to `most` nodes that wait for the budget and to which this version was not offered,
   * best rank first.
   */
  offer(
    budget: string,
    version: string,
    most: number,
    rank: (nodeName: string) => number,
  ): readonly string[] {
    const known = this.#offered.get(budget);
    const offered = known?.version === version ? known.nodes : new Set<string>();
    if (known?.version !== version) this.#offered.set(budget, { version, nodes: offered });
    const chosen = this.nodesOf(budget)
      .filter(nodeName => !offered.has(nodeName))
      .toSorted((one, other) => rank(one) - rank(other) || (one < other ? -1 : 1))
      .slice(0, most);
    for (const nodeName of chosen) offered.add(nodeName);
    return chosen;
  }

  #leave(budget: string, nodeName: string): void {
    const nodes = this.#byBudget.get(budget);
    nodes?.delete(nodeName);
    if (nodes?.size !== 0) return;
    this.#byBudget.delete(budget);
    this.#offered.delete(budget);
  }
}

/**
 * Milliseconds until an eviction times out. The API server retries a lost race for the budget for
 * up to ten seconds.
 */
const evictionTimeoutMs = 45_000;

function podPath({ pod }: PodCall): string {
  return `/api/v1/namespaces/${pathSegment(pod.namespace)}/pods/${pathSegment(pod.name)}`;
}

/**
 * Returns the delete options, always with the pod's uid: a successor of the same name is never
 * deleted.
 */
function deleteOptions({ pod, gracePeriodSeconds }: PodCall): object {
  return {
    preconditions: { uid: pod.uid },
    ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
  };
}

function eviction(call: PodCall): ApiCall {
  return {
    method: 'POST',
    path: `${podPath(call)}/eviction`,
    body: {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name: call.pod.name, namespace: call.pod.namespace },
      deleteOptions: deleteOptions(call),
    },
    priority: 'bulk',
    timeoutMs: evictionTimeoutMs,
  };
}

function deletion(call: PodCall): ApiCall {
  return {
    method: 'DELETE',
    path: podPath(call),
    body: { apiVersion: 'v1', kind: 'DeleteOptions', ...deleteOptions(call) },
    priority: 'bulk',
    timeoutMs: evictionTimeoutMs,
  };
}

/** Returns the call that makes the pod leave, or that requests it from its responders. */
export function podCall(call: PodCall): ApiCall {
  const { pod, method, requestFor } = call;
  if (requestFor !== undefined)
    return {
      method: 'POST',
      path: evictionRequestsIn(pod.namespace),
      body: evictionRequestOf(pod, requestFor),
      priority: 'bulk',
    };
  return method === 'evict' ? eviction(call) : deletion(call);
}

const deadline = {
  reason: 'DeletedPastDeadline',
  mark: 'DrydockDeadline',
  text: 'Deleted past its budgets: the deadline of the drain has passed, and the policy says so',
};

const shutDown = {
  reason: 'VirtualMachineShutDown',
  mark: 'DrydockShutDown',
  text: 'Its VM is shut down: it cannot be migrated, and the policy of the drain says so',
};

/**
 * Returns what precedes a deletion by the ladder: the DisruptionTarget condition (KEP-3329), and an
 * event.
 */
export function escalation(
  call: PodCall,
  nodeName: string,
  now: Temporal.Instant,
): { readonly mark: ApiCall; readonly note: KubeEvent } {
  const { pod, shutsDownVm, overrulesResponder } = call;
  const { reason, mark, text: usual } = shutsDownVm ? shutDown : deadline;
  const text =
    overrulesResponder === undefined
      ? usual
      : `${usual}; the responder ${overrulesResponder} is overruled`;
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: mark,
    message: text,
    lastTransitionTime: timeText(now),
  };
  return {
    mark: {
      method: 'PATCH',
      path: `${podPath(call)}/status`,
      contentType: 'application/strategic-merge-patch+json',
      body: { metadata: { uid: pod.uid }, status: { conditions: [condition] } },
    },
    note: {
      type: 'Warning',
      reason,
      message: `${text} (node ${nodeName})`,
      component: 'drydock',
      about: {
        apiVersion: 'v1',
        kind: 'Pod',
        namespace: pod.namespace,
        name: pod.name,
        uid: pod.uid,
      },
    },
  };
}

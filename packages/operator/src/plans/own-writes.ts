import { labelOf } from '@drydock/apimachinery';
import type { Write } from '@drydock/core';
import type { PlanWork } from '@drydock/core/drain';
import { isAtWork, type Plan, type PlanAdapter, pathOfPlan, recordsPath } from '@drydock/core/plan';
import type { KindAdapter } from '@drydock/core/request';
import type { Change } from '@drydock/kube-client';
import type { Clock } from '@drydock/utils';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import {
  type CacheUpdater,
  cacheUpdaterOf,
  isRemoved,
  objectPath,
} from '../write/cache-updater.ts';
import { type DecisionWriter, takesAway } from '../write/decision-writer.ts';
import type { PlanCache } from './plan-cache.ts';
import { readWorkPod } from './plan-objects.ts';

/**
 * Milliseconds for which a plan waits for the responses about its nodes: nearly all have arrived by
 * then, and one pass sees all of them.
 */
const patienceMs = 1_000;

/**
 * Number of writes without a response from which a plan gets no new writes, except those that
 * remove and record.
 */
const maxUnanswered = 16;

/** The writes of one decision. */
type Batch = {
  /** Things whose writes are in flight. */
  readonly open: Set<string>;
  /**
   * True if the plan waits for the batch no longer: writes that have not begun are decided again,
   * and each response requeues the plan.
   */
  isOutrun: boolean;
  isLate: boolean;
  readonly cancel: () => void;
};

/**
 * Reports whether all in-flight writes are about nodes: a decision about anything else waits for
 * its response.
 */
function isOfNodes({ open }: Batch): boolean {
  return [...open].every(of => !of.startsWith('/'));
}

/**
 * The writes about the nodes of each plan, sent while other plans are decided. A plan waits a
 * moment for their responses; a write that has none by then, for example because a webhook hangs,
 * blocks its own node only: nothing is decided about that node before the outcome is known.
 */
export class OwnWrites {
  readonly #decisions: Pick<DecisionWriter, 'writeOwn'>;
  readonly #clock: Pick<Clock, 'after'>;
  /** Callback that requeues the plan. */
  readonly #again: (plan: string) => void;
  readonly #underWay = new Map<string, Set<Batch>>();
  readonly #ends = new Set<Promise<void>>();
  /** Plans that were queued meanwhile. */
  readonly #postponed = new Set<string>();
  /** Defects of the writes, thrown at the next pass. */
  readonly #defects = new Map<string, unknown>();

  constructor(
    decisions: Pick<DecisionWriter, 'writeOwn'>,
    clock: Pick<Clock, 'after'>,
    again: (plan: string) => void,
  ) {
    this.#decisions = decisions;
    this.#clock = clock;
    this.#again = again;
  }

  /**
   * Reports whether the plan waits for the responses to its writes: it is requeued when they
   * arrive. Throws the defect of the last writes.
   */
  postpones(plan: string): boolean {
    if (this.#isAwaited(plan)) {
      this.#postponed.add(plan);
      return true;
    }
    if (!this.#defects.has(plan)) return false;
    const defect = this.#defects.get(plan);
    this.#defects.delete(plan);
    throw defect;
  }

  /** Returns the things of the plan whose writes have no response yet. */
  unanswered(plan: string): ReadonlySet<string> {
    return new Set([...(this.#underWay.get(plan) ?? [])].flatMap(({ open }) => [...open]));
  }

  /** Begins the writes, if there are any. */
  begin(plan: string, writes: readonly Write[]): void {
    const unanswered = this.unanswered(plan);
    const isFull = unanswered.size >= maxUnanswered;
    const own = writes.filter(
      write => write.of !== undefined && !unanswered.has(write.of) && (!isFull || takesAway(write)),
    );
    if (own.length === 0) return;
    const end = this.#make(plan, own);
    this.#ends.add(end);
    void end.finally(() => this.#ends.delete(end));
  }

  /** Resolves when no write is in flight. */
  async ended(): Promise<void> {
    await Promise.all(this.#ends);
  }

  async #make(plan: string, writes: readonly Write[]): Promise<void> {
    const batch: Batch = {
      open: new Set(),
      isOutrun: false,
      isLate: false,
      cancel: this.#clock.after(patienceMs, () => this.#outrun(plan, batch)),
    };
    this.#underWay.set(plan, (this.#underWay.get(plan) ?? new Set()).add(batch));
    const turn = {
      begins: (of: string): boolean => {
        if (!batch.isOutrun) batch.open.add(of);
        return !batch.isOutrun;
      },
      ended: (of: string): void => {
        batch.open.delete(of);
        if (batch.isOutrun) this.#again(plan);
        else if (batch.isLate) this.#outrun(plan, batch);
      },
    };
    const [ended] = await Promise.allSettled([this.#decisions.writeOwn(plan, plan, writes, turn)]);
    batch.cancel();
    if (ended.status === 'rejected') {
      this.#defects.set(plan, ended.reason);
      this.#postponed.add(plan);
    }
    const others = this.#underWay.get(plan);
    others?.delete(batch);
    if (others?.size === 0) this.#underWay.delete(plan);
    if (!this.#isAwaited(plan) && this.#postponed.delete(plan)) this.#again(plan);
  }

  #isAwaited(plan: string): boolean {
    return [...(this.#underWay.get(plan) ?? [])].some(batch => !batch.isOutrun);
  }

  #outrun(plan: string, batch: Batch): void {
    batch.isLate = true;
    if (!isOfNodes(batch)) return;
    batch.isOutrun = true;
    this.#postponed.delete(plan);
    this.#again(plan);
  }
}

type Options = {
  readonly cache: ClusterCache;
  readonly adapters: readonly KindAdapter[];
  readonly adapter: PlanAdapter;
  readonly machines: { readonly cacheUpdater: CacheUpdater };
};

/**
 * Forgets a removed object while the watch lags behind: it would be written again and again, and
 * the watch may never deliver the removal.
 */
function forget({ plans, records, pods }: PlanCache, write: Write): void {
  const path = objectPath(write.path);
  for (const plan of plans.values())
    if (pathOfPlan(plan) === path) plans.forget(plan.key, plan.uid);
  for (const record of records.values())
    if (`${recordsPath}/${record.name}` === path) records.forget(record.key, record.uid);
  for (const pod of pods.values())
    if (path.endsWith(`/namespaces/${pod.namespace}/pods/${pod.name}`))
      pods.forget(pod.key, pod.uid);
}

function learnPlan({ plans }: PlanCache, plan: Plan): Change<Plan> {
  const before = plans.get(plan.key);
  if (isRemoved(plan)) {
    plans.forget(plan.key, plan.uid);
    return { type: 'removed', object: before ?? plan };
  }
  plans.observe(plan);
  return before === undefined
    ? { type: 'added', object: plan }
    : { type: 'changed', object: plan, before };
}

/**
 * Returns the updater that makes the server's responses to the writes of plans visible at once;
 * `learned` is called for plans, because no watch delivers them again.
 */
export function planCacheUpdater(
  plans: PlanCache,
  { cache, adapters, adapter, machines }: Options,
  learned: (change: Change<Plan>) => void,
): CacheUpdater {
  const ofNodes = cacheUpdaterOf(cache, adapters);
  return {
    observe: (write, body) => {
      if (write.cache === 'machineMaintenances') return machines.cacheUpdater.observe(write, body);
      if (body === undefined) {
        forget(plans, write);
        return ofNodes.observe(write, undefined);
      }
      if (write.cache === 'plans') return learned(learnPlan(plans, adapter.readPlan(body)));
      // The watch delivers the removal of a record.
      if (write.cache === 'planRecords')
        return write.method === 'DELETE'
          ? undefined
          : plans.records.observe(adapter.readRecord(body));
      if (write.cache !== 'planPods') return ofNodes.observe(write, body);
      if ((body as { readonly kind?: string }).kind === 'Pod')
        plans.pods.observe(readWorkPod(body));
    },
  };
}

/**
 * Returns what the reconciler of the nodes needs of plans: the nodes on which their work has not
 * ended yet.
 */

function nodesAtWork({ inFlight }: Plan): readonly string[] {
  return inFlight.flatMap(slot => (isAtWork(slot) ? [slot.node] : []));
}

/** Needed part of the cache of plans. */
type Plans = Pick<PlanCache, 'arePlansKnown' | 'workNamespace'> & {
  readonly plans: Pick<PlanCache['plans'], 'values'>;
};

/** Returns the plans whose work on the node has not ended. */
export function planWorkOn(
  { plans, arePlansKnown, workNamespace }: Plans,
  nodeName: string,
): PlanWork {
  const working = [...plans.values()].filter(({ inFlight }) =>
    inFlight.some(slot => slot.node === nodeName && isAtWork(slot)),
  );
  return {
    namespace: workNamespace,
    plans: arePlansKnown ? new Set(working.map(({ name }) => labelOf(name))) : undefined,
  };
}

/** Returns the nodes on which the work of the plan has just ended: they are requeued. */
export function nodesDone(change: Change<Plan>): readonly string[] {
  if (change.type === 'added') return [];
  if (change.type === 'removed') return nodesAtWork(change.object);
  const still = new Set(nodesAtWork(change.object));
  return nodesAtWork(change.before).filter(name => !still.has(name));
}

import type { Write } from '@drydock/core';
import type { Plan, PlanAdapter } from '@drydock/core/plan';
import { pathOfPlan, recordsPath } from '@drydock/core/plan';
import type { KindAdapter } from '@drydock/core/request';
import type { Change } from '@drydock/kube-client';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import {
  type CacheUpdater,
  cacheUpdaterOf,
  isRemoved,
  objectPath,
} from '../write/cache-updater.ts';
import type { PlanCache } from './plan-cache.ts';
import { readWorkPod } from './plan-objects.ts';

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

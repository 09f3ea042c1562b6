import type { JsonObject } from '@drydock/apimachinery';
import { at, objects, part, type Stored } from '../../object.ts';
import type { Cluster } from '../controller.ts';
import { isActive } from '../pods.ts';
import { deletionOrder } from '../replica-sets/deletion-order.ts';
import { makePod, podFrom, templateOf } from '../workload.ts';
import { completionsOf, indexKey, indexOf, isIndexed, isTracked, tracking } from './count.ts';
import type { IndexRanges } from './index-ranges.ts';

/** Pods of a Job: their creation, and the order of their deletion. */

export const resource = 'jobs.batch';
export const by = 'job-controller';
export const owning = { apiVersion: 'batch/v1', kind: 'Job' };

const variable = 'JOB_COMPLETION_INDEX';

function withVariable(container: JsonObject): JsonObject {
  const env = objects(container['env']);
  if (env.some(({ name }) => name === variable)) return container;
  const valueFrom = { fieldRef: { fieldPath: `metadata.labels['${indexKey}']` } };
  return { ...container, env: [...env, { name: variable, valueFrom }] };
}

function indexedSpec(job: Stored, index: number): JsonObject {
  const spec = part(templateOf(job), 'spec');
  const of = (field: string): JsonObject =>
    spec[field] === undefined ? {} : { [field]: objects(spec[field]).map(withVariable) };
  return {
    hostname: `${job.metadata.name}-${index}`,
    ...of('containers'),
    ...of('initContainers'),
  };
}

/** Creates a pod, for an index where the Job has them; returns the error, if any. */
export function makeJobPod(
  cluster: Cluster,
  job: Stored,
  index: number | undefined,
): string | undefined {
  const generateName = `${job.metadata.name}-${index === undefined ? '' : `${index}-`}`;
  const mark = index === undefined ? {} : { [indexKey]: String(index) };
  const metadata = { generateName, labels: mark, annotations: mark, finalizers: [tracking] };
  const more = { metadata, ...(index !== undefined && { spec: indexedSpec(job, index) }) };
  return makePod(cluster, { by, resource, owner: job }, podFrom(job, owning, more));
}

/** Returns the first indexes that neither have a pod nor are done. */
export function pendingIndexes(
  job: Stored,
  pods: readonly Stored[],
  done: IndexRanges,
  count: number,
): readonly number[] {
  const taken = new Set(pods.filter(isActive).map(pod => indexOf(job, pod)));
  const free: number[] = [];
  const completions = completionsOf(job) ?? 0;
  for (
    let index = done.nextFree(0);
    index < completions && free.length < count;
    index = done.nextFree(index + 1)
  )
    if (!taken.has(index)) free.push(index);
  return free;
}

/**
 * Returns the surplus of active pods: duplicates of an index in any case, then the least useful
 * (activePodsForRemoval).
 */
export function surplusOf(
  job: Stored,
  active: readonly Stored[],
  atLeast: number,
  nowMs: number,
): readonly Stored[] {
  const seen = new Set<number>();
  const doubled = isIndexed(job)
    ? active.filter(pod => {
        const index = indexOf(job, pod);
        if (index === undefined || seen.has(index)) return true;
        seen.add(index);
        return false;
      })
    : [];
  const left = active.filter(pod => !doubled.includes(pod));
  return [
    ...doubled,
    ...deletionOrder(left, nowMs, []).slice(0, Math.max(0, atLeast - doubled.length)),
  ];
}

/** Removes the finalizer of a pod that need not be counted any more. */
export function release({ store, writes }: Cluster, pod: Stored): void {
  const { namespace = '', name, uid } = pod.metadata;
  const current = store.get('pods', namespace, name);
  if (current === undefined || current.metadata.uid !== uid || !isTracked(current)) return;
  const finalizers = (current.metadata.finalizers ?? []).filter(one => one !== tracking);
  writes.update('pods', { ...current, metadata: { ...current.metadata, finalizers } });
}

/** Returns the active deadline of the Job in seconds; undefined when it has none. */
export function activeDeadlineOf(job: Stored): number | undefined {
  const seconds = at(job, 'spec', 'activeDeadlineSeconds');
  return typeof seconds === 'number' ? seconds : undefined;
}

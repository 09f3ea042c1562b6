import type { JsonObject } from '@drydock/apimachinery';
import { timeText } from '@drydock/apimachinery';
import {
  badRequest,
  type Cause,
  type Failure,
  forbidden,
  notFound,
  tooManyRequests,
  unnamed,
} from '../failure.ts';
import { at, type Draft, objects, part, type Stored, text, withMeta } from '../object.ts';
import { namespaceRefusal } from './create.ts';
import { remove, unlike } from './delete.ts';
import { type DeleteOptions, type Refused, refused, type WriteResult } from './managed.ts';
import { budgetsOver, type RegistryContext } from './metadata.ts';
import { change } from './update.ts';

/** Eviction. Upstream: pkg/registry/core/pod/storage/eviction.go. */

export type Evicted = { readonly kind: 'evicted' } | Refused;

const evicted: Evicted = { kind: 'evicted' };
function number(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

/** Returns whether no budget needs to be checked: the pod is pending, finished or terminating. */
function isUnguarded(pod: Stored): boolean {
  return (
    ['Pending', 'Succeeded', 'Failed'].includes(text(pod, 'status', 'phase')) ||
    pod.metadata.deletionTimestamp !== undefined
  );
}

function isReady(pod: Stored): boolean {
  return objects(at(pod, 'status', 'conditions')).some(
    ({ type, status }) => type === 'Ready' && status === 'True',
  );
}

const disruptionTarget = {
  type: 'DisruptionTarget',
  status: 'True',
  reason: 'EvictionByEvictionAPI',
  message: 'Eviction API: evicting',
};

/** Replaces the condition of a type, and keeps its transition time when the status is unchanged. */
export function withCondition(
  conditions: readonly JsonObject[],
  condition: JsonObject,
  now: string,
): readonly JsonObject[] {
  const before = conditions.find(({ type }) => type === condition['type']);
  const since =
    before?.['status'] === condition['status'] ? (before?.['lastTransitionTime'] ?? now) : now;
  const after = { ...condition, lastTransitionTime: since };
  return before === undefined
    ? [...conditions, after]
    : conditions.map(one => (one === before ? after : one));
}

/** Records the reason in the pod, then deletes it: addConditionAndDeletePod. */
function addConditionAndDelete(
  registry: RegistryContext,
  pod: Stored,
  options: DeleteOptions,
): Evicted {
  const { namespace = '', name } = pod.metadata;
  const kind = registry.kinds.of('pods');
  if (options.dryRun === true) {
    const deletion = remove(registry, kind, namespace, name, options);
    return deletion.kind === 'refused' ? deletion : evicted;
  }
  const now = timeText(registry.clock.now());
  const marked = change(
    registry,
    kind,
    namespace,
    name,
    current => {
      const other = unlike({ group: '', kind: 'Pod' }, current, options.preconditions);
      if (other !== undefined) return other;
      const conditions = withCondition(
        objects(at(current, 'status', 'conditions')),
        disruptionTarget,
        now,
      );
      return {
        kind: 'edited',
        draft: { ...current, status: { ...part(current, 'status'), conditions } },
      };
    },
    { subresource: 'status' },
  );
  if (marked.kind === 'refused') return marked;
  const { resourceVersion } = marked.object.metadata;
  const pinned =
    options.preconditions?.resourceVersion === undefined
      ? options.preconditions
      : { ...options.preconditions, resourceVersion };
  const deletion = remove(registry, kind, namespace, name, {
    ...options,
    ...(pinned === undefined ? {} : { preconditions: pinned }),
  });
  return deletion.kind === 'refused' ? deletion : evicted;
}

function refusalOf(causes: readonly Cause[], retryAfterSeconds: number): Failure {
  return tooManyRequests(
    "Cannot evict pod as it would violate the pod's disruption budget.",
    retryAfterSeconds,
    causes,
  );
}

function stillProcessed(name: string): Failure {
  return refusalOf(
    [
      {
        reason: 'DisruptionBudget',
        message: `The disruption budget ${name} is still being processed by the server.`,
      },
    ],
    10,
  );
}

/** Returns why a budget without allowed disruptions refuses. */
function exhausted(budget: Stored): string {
  const { name } = budget.metadata;
  const status = part(budget, 'status');
  const condition = objects(status['conditions']).find(({ type }) => type === 'DisruptionAllowed');
  const message = condition?.['status'] === 'False' ? text(condition, 'message') : '';
  const [healthy, desired] = [number(status['currentHealthy']), number(status['desiredHealthy'])];
  if (message !== '' && condition?.['reason'] === 'SyncFailed') {
    return `The disruption budget ${name} does not allow evicting pods currently because it failed sync: ${message}`;
  }
  if (healthy <= desired)
    return `The disruption budget ${name} needs ${desired} healthy pods and has ${healthy} currently`;
  if (message !== '') {
    return `The disruption budget ${name} does not allow evicting pods currently (${text(condition, 'reason')}): ${message}`;
  }
  return `The disruption budget ${name} does not allow evicting pods currently`;
}

const largestMap = 2000;
const budgetKind = { group: 'policy', resource: 'poddisruptionbudget' };

/** Returns the budget's refusal, before a disruption is deducted. */
function budgetRefusal(budget: Stored): Refused | undefined {
  const { name, generation = 0 } = budget.metadata;
  const status = part(budget, 'status');
  const allowed = number(status['disruptionsAllowed']);
  if (number(status['observedGeneration']) < generation) return refused(stillProcessed(name));
  if (allowed < 0)
    return refused(forbidden(budgetKind, name, 'pdb disruptions allowed is negative'));
  if (Object.keys(part(status, 'disruptedPods')).length > largestMap) {
    const why = 'DisruptedPods map too big - too many evictions not confirmed by PDB controller';
    const message = `The disruption budget ${name} does not allow evicting pods currently: too many pending evictions not confirmed by PDB controller`;
    return refused(forbidden(budgetKind, name, why, [{ reason: 'DisruptionBudget', message }]));
  }
  return allowed === 0
    ? refused(refusalOf([{ reason: 'DisruptionBudget', message: exhausted(budget) }], 0))
    : undefined;
}

/** Deducts one disruption from the budget and records the pod in it: checkAndDecrement. */
function debit(
  registry: RegistryContext,
  budget: Stored,
  podName: string,
  dryRun: boolean,
): WriteResult | undefined {
  const refusal = budgetRefusal(budget);
  if (refusal !== undefined || dryRun) return refusal;
  const now = timeText(registry.clock.now());
  const status = part(budget, 'status');
  const left = number(status['disruptionsAllowed']) - 1;
  const insufficient = {
    type: 'DisruptionAllowed',
    status: 'False',
    observedGeneration: status['observedGeneration'],
    reason: 'InsufficientPods',
    message: '',
  };
  const after = {
    ...status,
    disruptionsAllowed: left,
    disruptedPods: { ...part(status, 'disruptedPods'), [podName]: now },
    ...(left > 0
      ? {}
      : { conditions: withCondition(objects(status['conditions']), insufficient, now) }),
  };
  const { namespace = '', name } = budget.metadata;
  const kind = registry.kinds.of('poddisruptionbudgets.policy');
  const edit = (current: Stored): { readonly kind: 'edited'; readonly draft: Draft } => ({
    kind: 'edited',
    draft: { ...current, status: after },
  });
  const written = change(registry, kind, namespace, name, edit, { subresource: 'status' });
  return written.kind === 'refused' ? written : undefined;
}

function guarded(registry: RegistryContext, pod: Stored, options: DeleteOptions): Evicted {
  const [budget, another] = budgetsOver(registry.store, pod);
  if (another !== undefined) {
    return refused(
      unnamed(
        500,
        'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
      ),
    );
  }
  if (budget === undefined) return addConditionAndDelete(registry, pod, options);
  if (!isReady(pod) && mayGoUnready(budget)) {
    const preconditions = {
      ...options.preconditions,
      resourceVersion: options.preconditions?.resourceVersion ?? pod.metadata.resourceVersion,
    };
    return addConditionAndDelete(registry, pod, { ...options, preconditions });
  }
  const refusal = debit(registry, budget, pod.metadata.name, options.dryRun === true);
  return refusal?.kind === 'refused' ? refusal : addConditionAndDelete(registry, pod, options);
}

/**
 * Returns whether an unready pod may be evicted at once, by the budget's
 * unhealthyPodEvictionPolicy; it does not count as healthy.
 */
function mayGoUnready(budget: Stored): boolean {
  if (text(budget, 'spec', 'unhealthyPodEvictionPolicy') === 'AlwaysAllow') return true;
  const status = part(budget, 'status');
  const desired = number(status['desiredHealthy']);
  return number(status['currentHealthy']) >= desired && desired > 0;
}

/** Evicts a pod, if its budget allows it. `body` is the Eviction. */
export function evict(
  registry: RegistryContext,
  namespace: string,
  name: string,
  body: Draft,
  options: DeleteOptions,
): Evicted {
  if (text(body, 'metadata', 'name') !== name)
    return refused(badRequest('name in URL does not match name in Eviction object'));
  const pod = registry.store.get('pods', namespace, name);
  if (pod === undefined) return refused(notFound({ group: '', resource: 'pods' }, name));
  const closed = namespaceRefusal(registry, registry.kinds.of('pods'), namespace, name);
  if (closed !== undefined) return closed;
  const { gate, ...inner } = registry;
  const eviction = withMeta({ apiVersion: 'policy/v1', kind: 'Eviction', ...body }, { namespace });
  const attempt = {
    operation: 'CREATE',
    of: registry.kinds.of('pods'),
    subresource: 'eviction',
    namespace,
    name,
    object: eviction,
  } as const;
  const veto = gate?.({ ...attempt, before: undefined, dryRun: options.dryRun === true });
  if (veto !== undefined) return veto;
  // The following writes are the server's own: no webhook is called again.
  return isUnguarded(pod)
    ? addConditionAndDelete(inner, pod, options)
    : guarded(inner, pod, options);
}

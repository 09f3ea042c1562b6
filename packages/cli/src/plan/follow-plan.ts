import { plansPath } from '@drydock/core/plan';
import type { CachedObject, Watcher } from '@drydock/kube-client';
import { plainOutput } from '../shared/output.ts';
import type { PlanObject } from './plan-object.ts';

type Followed = CachedObject & { readonly plan: PlanObject };

function project(raw: unknown): Followed {
  const plan = raw as PlanObject;
  const { name, uid, resourceVersion } = plan.metadata;
  return { key: name, uid, resourceVersion, plan };
}

/**
 * Watches a plan until `look` returns 'done'. Resolves with the last state of the plan; undefined
 * when it is deleted.
 */
export async function followPlan(
  watcher: Watcher,
  name: string,
  look: (plan: PlanObject) => 'done' | 'continue',
): Promise<PlanObject | undefined> {
  const done = new AbortController();
  let last: PlanObject | undefined;
  await watcher.watch(
    { path: plansPath, fieldSelector: `metadata.name=${name}` },
    project,
    {
      changed: ({ type, object: { plan } }) => {
        if (done.signal.aborted) return;
        last = type === 'removed' ? undefined : plan;
        if (last === undefined || look(plan) === 'done') done.abort();
      },
      // The plan was deleted before the watch started.
      synced: () => (last === undefined ? done.abort() : undefined),
      failing: ({ message }) =>
        plainOutput.note(`drydock: plan ${name} cannot be read at the moment: ${message}`),
    },
    done.signal,
  );
  return last;
}

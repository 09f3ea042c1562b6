import type { JsonObject } from '@drydock/apimachinery';
import { labelOf } from '@drydock/apimachinery';
import { readPlanRecord } from '@drydock/apis';
import type { MaintenancePlanSpec, MaintenancePlanStatus } from '@drydock/apis/schema';
import type { RecordSlice } from '@drydock/core/plan';
import { pathOfPlan, planAnnotation, plansPath, recordsPath } from '@drydock/core/plan';
import type { Api, ApiCall, ApiResponse } from '@drydock/kube-client';
import { listAll } from '@drydock/kube-client';
import { systemClock } from '@drydock/utils';
import { ApiError, refusedError } from '../shared/api-error.ts';

/** A MaintenancePlan as stored in the API server. */
export type PlanObject = {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly generation?: number;
  };
  readonly spec: MaintenancePlanSpec;
  readonly status?: MaintenancePlanStatus;
};

/** Error for a cluster without the kind, with a remedy. */
export const notServed =
  'error: the cluster does not serve MaintenancePlans; install its CRDs: drydock install --apply';

/** Returns the plan's title, as kubectl prints it. */
export function titleOfPlan(name: string): string {
  return `maintenanceplan.drydock.dev/${name}`;
}

/** Throws an ApiError unless the cluster serves the kind. */
async function refuseMissingKind(api: Api): Promise<void> {
  if ((await api.call({ method: 'GET', path: plansPath, query: { limit: 1 } })).status === 404)
    throw new ApiError(notServed);
}

/** Returns all plans, by name. Throws an error that names what could not be read. */
export async function plansOf(api: Api): Promise<readonly PlanObject[]> {
  const found = (await listAll(api, plansPath, {}, 'empty')) as readonly PlanObject[];
  if (found.length === 0) await refuseMissingKind(api);
  return found.toSorted((one, other) => (one.metadata.name < other.metadata.name ? -1 : 1));
}

/** Returns one plan. Throws an ApiError in kubectl's words when it does not exist. */
export async function planNamed(api: Api, name: string): Promise<PlanObject> {
  const response = await api.call({ method: 'GET', path: pathOfPlan({ name }) });
  if (response.status === 404) {
    await refuseMissingKind(api);
    throw new ApiError(`${refusedError(response).message}; drydock plan status lists the plans`);
  }
  if (response.status !== 200) throw refusedError(response);
  return response.body as PlanObject;
}

/** Returns the records of all runs of a plan. */
export async function recordsOf(
  api: Api,
  { metadata }: Pick<PlanObject, 'metadata'>,
): Promise<readonly RecordSlice[]> {
  const all = await listAll(
    api,
    recordsPath,
    { labelSelector: `${planAnnotation}=${labelOf(metadata.name)}` },
    'empty',
  );
  return all.map(readPlanRecord).filter(({ planUid }) => planUid === metadata.uid);
}

/** Returns the slices of the run in the status. */
export function ofThisRun(
  slices: readonly RecordSlice[],
  { status }: PlanObject,
): readonly RecordSlice[] {
  return slices.filter(
    ({ run, revision }) => run === status?.run?.id && revision === status.run.revision,
  );
}

/** Returns what a plan still does although it starts no more nodes. */
export function goesOn({ status }: PlanObject): string | undefined {
  const many = status?.inFlight?.length ?? 0;
  return many === 0
    ? undefined
    : `${many} ${many === 1 ? 'node' : 'nodes'} in flight: the plan finishes what it has begun`;
}

/** Returns whether the status reflects the current spec. */
export function isUpToDate({ metadata, status }: PlanObject): boolean {
  return status?.observedGeneration === metadata.generation;
}

const maxTries = 6;

/** An object as read, and the call that changes it; undefined when no change is needed. */
type Attempt<T> = { readonly read: T; readonly call?: ApiCall };

/**
 * Changes an object that others change too: `attempt` reads it and builds the patch, which contains
 * the version that was read. A conflict is retried from the start. Resolves with the object as read
 * before the change. Throws an ApiError with the server's message.
 */
export async function changed<T>(
  what: string,
  api: Api,
  attempt: () => Promise<Attempt<T>>,
): Promise<T> {
  let last: ApiResponse | undefined;
  for (let tries = 0; tries < maxTries; tries += 1) {
    if (tries > 0) await systemClock.sleep(50 * 2 ** tries);
    const { read, call } = await attempt();
    if (call === undefined) return read;
    last = await api.call(call);
    if (last.status === 200) return read;
    if (last.status !== 409) throw refusedError(last);
  }
  throw new ApiError(
    `error: ${what} changes faster than it can be written; try again${last === undefined ? '' : ` (${refusedError(last).message})`}`,
  );
}

/**
 * Changes the spec of a plan; `patch` returns the change, or undefined when none is needed.
 * Resolves with the plan as it was before.
 */
export function changePlan(
  api: Api,
  name: string,
  patch: (plan: PlanObject) => JsonObject | undefined,
): Promise<PlanObject> {
  return changed(`MaintenancePlan ${name}`, api, async () => {
    const plan = await planNamed(api, name);
    const spec = patch(plan);
    if (spec === undefined) return { read: plan };
    const { uid, resourceVersion } = plan.metadata;
    return {
      read: plan,
      call: {
        method: 'PATCH',
        path: pathOfPlan({ name }),
        query: { fieldManager: 'drydock' },
        contentType: 'application/merge-patch+json',
        body: { metadata: { uid, resourceVersion }, spec },
      },
    };
  });
}

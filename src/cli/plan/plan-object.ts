import { readPlanRecord } from '../../apis/maintenance-plan/maintenance-plan.ts';
import type { MaintenancePlanSpec } from '../../apis/schema/maintenance-plan.ts';
import type { MaintenancePlanStatus } from '../../apis/schema/maintenance-plan-status.ts';
import type { JsonObject } from '../../core/json.ts';
import { planAnnotation, plansPath } from '../../core/plan/plan.ts';
import type { RecordSlice } from '../../core/plan/snapshot.ts';
import { pathOfPlan, recordsPath } from '../../core/plan/writes.ts';
import { labelOf } from '../../core/short-hash.ts';
import { listAll } from '../../operator/list.ts';
import type { Api, ApiCall, ApiResponse } from '../../operator/ports.ts';
import { systemClock } from '../../support/clock.ts';
import { ApiError, refusedError } from '../shared/api-error.ts';

/** A MaintenancePlan as the API server has it. */
export type PlanObject = {
  readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion: string; readonly generation?: number };
  readonly spec: MaintenancePlanSpec;
  readonly status?: MaintenancePlanStatus;
};

/** What to do about a cluster that has not got the kind. */
export const notServed = 'error: the cluster does not serve MaintenancePlans; install its CRDs: drydock install --apply';

/** How people, and kubectl, call it. */
export const titleOfPlan = (name: string): string => `maintenanceplan.drydock.dev/${name}`;

/** Throws an ApiError unless the cluster has the kind. */
const refuseMissingKind = async (api: Api): Promise<void> => {
  if ((await api.call({ method: 'GET', path: plansPath, query: { limit: 1 } })).status === 404) throw new ApiError(notServed);
};

/** All plans, by name. Throws an error that says what could not be read. */
export const plansOf = async (api: Api): Promise<readonly PlanObject[]> => {
  const found = (await listAll(api, plansPath, {}, 'empty')) as readonly PlanObject[];
  if (found.length === 0) await refuseMissingKind(api);
  return found.toSorted((one, other) => (one.metadata.name < other.metadata.name ? -1 : 1));
};

/** One plan. Throws an ApiError in kubectl's words where there is none. */
export const planNamed = async (api: Api, name: string): Promise<PlanObject> => {
  const response = await api.call({ method: 'GET', path: pathOfPlan({ name }) });
  if (response.status === 404) {
    await refuseMissingKind(api);
    throw new ApiError(`${refusedError(response).message}; drydock plan status lists the plans`);
  }
  if (response.status !== 200) throw refusedError(response);
  return response.body as PlanObject;
};

/** What is recorded of all runs of a plan. */
export const recordsOf = async (api: Api, { metadata }: Pick<PlanObject, 'metadata'>): Promise<readonly RecordSlice[]> => {
  const all = await listAll(api, recordsPath, { labelSelector: `${planAnnotation}=${labelOf(metadata.name)}` }, 'empty');
  return all.map(readPlanRecord).filter(({ planUid }) => planUid === metadata.uid);
};

/** The slices of the run that the status is about. */
export const ofThisRun = (slices: readonly RecordSlice[], { status }: PlanObject): readonly RecordSlice[] =>
  slices.filter(({ run, revision }) => run === status?.run?.id && revision === status.run.revision);

/** What a plan goes on with that starts no more nodes. */
export const goesOn = ({ status }: PlanObject): string | undefined => {
  const many = status?.inFlight?.length ?? 0;
  return many === 0 ? undefined : `${many} ${many === 1 ? 'node' : 'nodes'} in flight: the plan finishes what it has begun`;
};

/** Whether the status is about the spec as it is now. */
export const isUpToDate = ({ metadata, status }: PlanObject): boolean => status?.observedGeneration === metadata.generation;

const maxTries = 6;

/** An object as it was read, and what is sent for it; undefined: nothing is to be changed. */
type Attempt<T> = { readonly read: T; readonly call?: ApiCall };

/**
 * Changes an object that others change too: `attempt` reads it and makes the patch, which carries the version that was read. A conflict is tried again from the
 * start. Resolves with what was read before the change. Throws an ApiError with what the server said.
 */
export const changed = async <T>(what: string, api: Api, attempt: () => Promise<Attempt<T>>): Promise<T> => {
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
};

/**
 * Changes the spec of a plan; `patch` says how, or undefined when it is as wanted. Resolves with the plan as it was before.
 */
export const changePlan = (api: Api, name: string, patch: (plan: PlanObject) => JsonObject | undefined): Promise<PlanObject> =>
  changed(`MaintenancePlan ${name}`, api, async () => {
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

import type { LabelSelector } from '@drydock/apimachinery';
import { isObject, type JsonObject, readTime, short } from '@drydock/apimachinery';
import type { Approval, NodeVerdict, RecordSlice } from '@drydock/core/plan';
import {
  begunWork,
  type Concurrency,
  type Plan,
  type Prepare,
  partsInForce,
  type Run,
  type Stage,
  type StageSoak,
  type Work,
} from '@drydock/core/plan';
import { canonical, type RawMetadata, writtenIn } from '../read.ts';
import type { MaintenancePlanSpec } from '../schema/maintenance-plan.ts';
import type {
  MaintenanceApprovalSpec,
  MaintenancePlanRecordSpec,
  MaintenancePlanStatus,
} from '../schema/maintenance-plan-status.ts';
import { agreedHash } from './agreed.ts';
import { planFields } from './plan-fields.ts';
import { gatesOf, hooksOf, inFlightOf, preparingOf, rehearsalOf, switchesOf } from './rehearsal.ts';

/**
 * drydock.dev/v1alpha1 MaintenancePlan, its records and its approvals. The defaults are those of
 * the CRD.
 */

type Raw<Spec> = {
  readonly metadata: RawMetadata;
  readonly spec: Spec;
  readonly status?: MaintenancePlanStatus;
};

const epoch = Temporal.Instant.fromEpochMilliseconds(0);

const written = writtenIn(planFields);

/**
 * Returns the hash of the parts that change a node: due, done, work and template, and whether that
 * is to be undone. Limits, order, stages, windows and pacing are not in it, nor defaults and fields
 * that are not read.
 */
function revisionOf(spec: MaintenancePlanSpec): string {
  const { due, done, prepare, work, template, direction } = written(spec as unknown as JsonObject);
  return short(canonical({ due, done, prepare, work, template, direction }));
}

function workOf({ work }: MaintenancePlanSpec): Work {
  const { job, reboot, external, replace } = work;
  if (job !== undefined) {
    const { podSpec, rebootsNode = false, timeoutSeconds = 1800, attempts = 1 } = job;
    return { kind: 'job', podSpec, rebootsNode, timeoutSeconds, attempts };
  }
  if (reboot !== undefined) {
    const { image, timeoutSeconds = 900 } = reboot;
    return { kind: 'reboot', timeoutSeconds, ...(image !== undefined && { image }) };
  }
  if (external !== undefined) {
    return {
      kind: 'external',
      annotations: external.annotations ?? {},
      timeoutSeconds: external.timeoutSeconds ?? 7200,
    };
  }
  if (replace !== undefined) {
    return {
      kind: 'replace',
      strategy: replace.strategy ?? 'Replace',
      timeoutSeconds: replace.timeoutSeconds ?? 7200,
    };
  }
  return { kind: 'none' };
}

function concurrencyOf({ concurrency = {} }: MaintenancePlanSpec): Concurrency {
  const { maxInFlight = 1, perTopology = [], foreignCordon = 'Wait', ramp } = concurrency;
  const { maxUnavailable, maxUnavailableAbsolute, startsPerWindow } = concurrency;
  return {
    maxInFlight,
    foreignCordon,
    perTopology: perTopology as Concurrency['perTopology'],
    ...(maxUnavailable !== undefined && { maxUnavailable }),
    ...(maxUnavailableAbsolute !== undefined && { maxUnavailableAbsolute }),
    ...(startsPerWindow !== undefined && { startsPerWindow }),
    ...(ramp && { ramp: { start: ramp.start ?? 1, factor: ramp.factor ?? 2 } }),
  };
}

function stageOf({
  name,
  nodeSelector,
  limit,
  maxInFlight,
  soakSeconds = 0,
  approveAfter = false,
}: RawStage): Stage {
  return {
    name,
    soakSeconds,
    approveAfter,
    ...(nodeSelector && { nodeSelector: nodeSelector as LabelSelector }),
    ...(limit !== undefined && { limit }),
    ...(maxInFlight !== undefined && { maxInFlight }),
  };
}

type RawStage = NonNullable<MaintenancePlanSpec['stages']>[number];

function prepareOf({ job, refusalCode = 3 }: NonNullable<MaintenancePlanSpec['prepare']>): Prepare {
  return {
    podSpec: job.podSpec,
    timeoutSeconds: job.timeoutSeconds ?? 1800,
    refusalCode,
  };
}

type RawRun = NonNullable<MaintenancePlanStatus['run']>;

/**
 * Returns the revision of the work: the revision is stored in the form of records and approvals.
 */
function workOfRun({ revision, number }: RawRun): string {
  const suffix = `-${number}`;
  return number !== undefined && revision.endsWith(suffix)
    ? revision.slice(0, -suffix.length)
    : revision;
}

function soakOf({ stage, startTime, mark, lacking = [] }: NonNullable<RawRun['soak']>): StageSoak {
  const since = readTime(startTime);
  return {
    stage,
    ...(since && { since }),
    ...(mark !== undefined && { mark }),
    lacking: lacking.map(({ node, nodeUID, startTime: lacks }) => ({
      node,
      uid: nodeUID,
      since: readTime(lacks) ?? epoch,
    })),
  };
}

function runOf({ run }: MaintenancePlanStatus): Run | undefined {
  if (run === undefined) return undefined;
  const { id, number, startTime, begun, agreed, soak } = run;
  return {
    id,
    revision: workOfRun(run),
    ...(number !== undefined && { number }),
    startedAt: readTime(startTime) ?? epoch,
    ...(soak && { soak: soakOf(soak) }),
    ...(begun && {
      begun: new Map(Object.entries(begun).map(([stage, at]) => [stage, readTime(at) ?? epoch])),
    }),
    ...(agreed && { agreed: new Map(Object.entries(agreed)) }),
  };
}

function haltOf({ halt = {} }: MaintenancePlanSpec): Plan['halt'] {
  return {
    maxFailures: halt.maxFailures ?? '3%',
    consecutive: halt.consecutive ?? 2,
    inFirstStage: halt.inFirstStage ?? 1,
  };
}

function proofOf(
  { due, done = {} }: MaintenancePlanSpec,
  work: Work,
): Pick<Plan, 'rebooted' | 'provenWithinSeconds' | 'dueAfterSeconds'> {
  return {
    rebooted: done.rebooted ?? (begunWork(work).rebootsNode ? 'Required' : 'Optional'),
    provenWithinSeconds: done.withinSeconds ?? 600,
    ...(due?.olderThanSeconds !== undefined && { dueAfterSeconds: due.olderThanSeconds }),
  };
}

function metadataOf({ name, uid, resourceVersion, ...metadata }: RawMetadata) {
  return {
    key: name,
    name,
    uid,
    resourceVersion,
    generation: metadata.generation ?? 0,
    createdAt: readTime(metadata.creationTimestamp) ?? epoch,
    deleting: metadata.deletionTimestamp !== undefined,
    finalizers: metadata.finalizers ?? [],
  };
}

function expressionsOf({ due, done, order, work }: MaintenancePlanSpec): Plan['expressions'] {
  const finished = work.external?.finished.expression;
  return {
    ...(due?.expression !== undefined && { due: due.expression }),
    ...(done?.expression !== undefined && { done: done.expression }),
    ...(finished !== undefined && { finished }),
    ...(order?.expression !== undefined && { rank: order.expression }),
  };
}

function passedOverOf({ passedOver = [] }: MaintenancePlanStatus): Plan['passedOver'] {
  return passedOver.map(({ node, nodeUID, startTime }) => ({
    node,
    uid: nodeUID,
    since: readTime(startTime) ?? epoch,
  }));
}

function storedOf(
  status: MaintenancePlanStatus,
): Pick<Plan, 'inFlight' | 'passedOver' | 'preparing' | 'status' | 'run'> {
  const run = runOf(status);
  return {
    inFlight: (status.inFlight ?? []).map(inFlightOf),
    preparing: (status.preparing ?? []).map(preparingOf),
    passedOver: passedOverOf(status),
    status: isObject(status) ? status : {},
    ...(run && { run }),
  };
}

type WhenFields =
  | 'order'
  | 'first'
  | 'starvedAfterSeconds'
  | 'pace'
  | 'windows'
  | 'expectedSeconds'
  | 'needsApproval'
  | 'approvalExpiresAfter';

/** Returns the fields for the order in which nodes begin, the pace, and what is waited for. */
function whenOf({
  order,
  pace,
  windows = 'Respect',
  expectedSeconds,
  approval,
}: MaintenancePlanSpec): Pick<Plan, WhenFields> {
  const deadline = readTime(pace?.deadline);
  return {
    windows,
    order: order?.by ?? ['Zone', 'Name'],
    first: order?.first ?? [],
    needsApproval: approval?.run === 'Required',
    ...(order?.starvedAfterSeconds !== undefined && {
      starvedAfterSeconds: order.starvedAfterSeconds,
    }),
    ...(deadline && { pace: { deadline, mode: pace?.mode ?? 'AsSoonAsPossible' } }),
    ...(approval?.expiresAfterSeconds !== undefined && {
      approvalExpiresAfter: approval.expiresAfterSeconds,
    }),
    ...(expectedSeconds !== undefined && { expectedSeconds }),
  };
}

/** Returns the plan as it is carried out. */
function inForce(spec: MaintenancePlanSpec): MaintenancePlanSpec {
  const { due: _due, done: _done, prepare: _prepare, work: _work, ...rest } = spec;
  return {
    ...rest,
    ...partsInForce(spec as unknown as JsonObject),
  } as unknown as MaintenancePlanSpec;
}

/**
 * Reads the CEL of a plan: only the parts that are needed to check it, however large its pods are.
 */
export function readPlanExpressions(raw: unknown): Pick<Plan, 'expressions' | 'gates' | 'undo'> {
  const { spec: written } = raw as Raw<MaintenancePlanSpec>;
  const spec = inForce(written);
  return {
    expressions: expressionsOf(spec),
    gates: gatesOf(spec, {}).gates,
    ...(spec.direction === 'Rollback' && { undo: true }),
  };
}

/** Reads a plan. Its expressions are compiled by the code that evaluates them. */
export function readMaintenancePlan(raw: unknown): Plan {
  const { metadata, spec: written, status = {} } = raw as Raw<MaintenancePlanSpec>;
  const spec = inForce(written);
  const work = workOf(spec);
  const { maintenance = {} } = spec.template ?? {};
  return {
    ...metadataOf(metadata),
    ...proofOf(spec, work),
    ...whenOf(spec),
    expressions: expressionsOf(spec),
    nodeSelector: spec.nodeSelector as LabelSelector,
    // Otherwise the machine that replaces one would be replaced in its turn, without end.
    membership: work.kind === 'replace' ? 'Snapshot' : (spec.membership ?? 'Follow'),
    concurrency: concurrencyOf(spec),
    stages: (spec.stages ?? []).map(stageOf),
    controlPlane: spec.controlPlane ?? 'First',
    drain: isObject(maintenance.drain) ? maintenance.drain : {},
    work,
    ...gatesOf(spec, status),
    ...hooksOf(spec, status),
    ...rehearsalOf(spec, status),
    soakSeconds: spec.soakSeconds ?? 0,
    soakAfterReleaseSeconds: spec.soakAfterReleaseSeconds ?? 0,
    onFailure: spec.onFailure?.node ?? 'Hold',
    halt: haltOf(spec),
    ...(spec.direction === 'Rollback' && { undo: true }),
    ...switchesOf(spec),
    runId: spec.runID ?? '1',
    revision: revisionOf(spec),
    specHash: agreedHash(written as unknown as JsonObject),
    ...storedOf(status),
    ...(spec.prepare && { prepare: prepareOf(spec.prepare) }),
    ...(maintenance.reason !== undefined && { reason: maintenance.reason }),
    ...(spec.onFailure?.drainStuck && {
      drainStuck: {
        afterSeconds: spec.onFailure.drainStuck.afterSeconds,
        times: spec.onFailure.drainStuck.times ?? 1,
      },
    }),
  };
}

/** Reads a slice of the record of a run. */
export function readPlanRecord(raw: unknown): RecordSlice {
  const { metadata, spec } = raw as Raw<MaintenancePlanRecordSpec>;
  const { name, uid, resourceVersion } = metadata;
  const verdicts = Object.entries(spec.verdicts).map(
    ([
      node,
      { nodeUID, startTime, completionTime, workSeconds, rebootSeconds, ...rest },
    ]): NodeVerdict => {
      const [startedAt, completedAt] = [
        readTime(startTime) ?? epoch,
        readTime(completionTime) ?? epoch,
      ];
      const took = {
        ...(workSeconds !== undefined && { workSeconds }),
        ...(rebootSeconds !== undefined && { rebootSeconds }),
      };
      return { ...rest, ...took, node, uid: nodeUID, startedAt, completedAt };
    },
  );
  const { planUID, runID, revision, slice } = spec;
  return {
    key: name,
    name,
    uid,
    resourceVersion,
    planUid: planUID,
    run: runID,
    revision,
    slice,
    verdicts,
  };
}

/** Reads an approval. */
export function readMaintenanceApproval(raw: unknown): Approval {
  const { metadata, spec } = raw as Raw<MaintenanceApprovalSpec>;
  const { name, uid, resourceVersion } = metadata;
  const { planName, runID, revision, specHash, stage, promote } = spec;
  return {
    key: name,
    uid,
    resourceVersion,
    createdAt: readTime(metadata.creationTimestamp) ?? epoch,
    plan: planName,
    run: runID,
    revision,
    ...(specHash !== undefined && { specHash }),
    ...(stage !== undefined && { stage }),
    ...(promote && { promote }),
  };
}

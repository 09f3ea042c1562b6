import {
  hookStates,
  maxAttempts,
  maxHookRuns,
  maxLacking,
  maxSlots,
  maxTaints,
  maxUpNext,
  nodeStates,
  planPhases,
  preparingStates,
  rehearsalStates,
  verdictTypes,
  workKinds,
} from '@drydock/core/plan';
import { z } from 'zod';
import { conditions, objectName, rule, rules, stageName, time } from './common.ts';

/** Status of a MaintenancePlan, and the kinds beside it: the records of its runs, and approvals. */

const inFlight = z.object({
  node: z.string(),
  nodeUID: z.string(),
  stage: z.string(),
  revision: z.string(),
  work: z
    .object({ kind: z.enum(workKinds), rebootsNode: z.boolean(), timeoutSeconds: z.int() })
    .describe('The work that the node started with; later edits of the plan do not change it.'),
  providerID: z.string().optional().describe('spec.providerID of the node.'),
  heldAs: z
    .string()
    .optional()
    .describe('nodeUID at the beginning, if its machine has registered anew since.'),
  domains: z
    .record(z.string(), z.string())
    .optional()
    .describe('Values that the node has for the labels in concurrency.perTopology.'),
  state: z.enum(nodeStates),
  startTime: time,
  stateStartTime: time.describe('When the node entered this state.'),
  attempt: z.int32().min(0).max(maxAttempts),
  bootIDBefore: z.string().optional(),
  idleBootID: z
    .string()
    .optional()
    .describe('A boot before any container of the work ran: it proves nothing.'),
  taintsBefore: z.array(z.string()).max(maxTaints).optional(),
  pod: z.string().optional().describe('Name of the pod of this attempt.'),
  podUID: z.string().optional(),
  ranAttempt: z.int32().optional().describe('The last attempt of which a container ran.'),
  workStartTime: time.optional(),
  rebootStartTime: time.optional(),
  workCompletionTime: time.optional(),
  soakStartTime: time.optional(),
  soakMark: z
    .string()
    .optional()
    .describe(
      'Changes when the node boots or was not Ready, and when nobody watched: the soak time starts again.',
    ),
  soakBrokenTime: time.optional(),
  rebooted: z.boolean().optional(),
  outcome: z
    .object({
      verdict: z.enum(verdictTypes),
      state: z.enum(nodeStates),
      message: z.string(),
      held: z.boolean(),
      stuck: z.boolean().optional(),
    })
    .optional(),
});

const preparing = z.object({
  node: z.string(),
  nodeUID: z.string(),
  state: z.enum(preparingStates),
  startTime: time,
  pod: z.string(),
  podUID: z.string().optional(),
  message: z.string(),
});

const hookRun = z.object({
  name: z.string(),
  scope: z.string().describe('What the hook belongs to: the run, the halt, a stage or a node.'),
  state: z.enum(hookStates),
  attempt: z.int(),
  startTime: time,
  pod: z.string(),
  podUID: z.string().optional(),
  message: z.string(),
});

const rehearsal = z.object({
  state: z.enum(rehearsalStates),
  runID: z.string(),
  specHash: z.string(),
  attempt: z.int(),
  startTime: time,
  pod: z.string(),
  podUID: z.string().optional(),
  message: z.string(),
});

const forecast = z
  .object({
    rehearsalTime: time.describe('When the rehearsal ended.'),
    snapshotTime: time.describe('When the copy of the cluster was taken.'),
    runID: z.string(),
    specHash: z.string().describe('Hash of the fields of the plan that the rehearsal depends on.'),
    finishes: z.boolean().describe('Whether all nodes are done at the end.'),
    estimatedCompletionTime: time
      .optional()
      .describe('When the plan is complete: half of the simulated runs end by then.'),
    latestCompletionTime: time
      .optional()
      .describe('When the plan is complete at the latest: nine in ten simulated runs end by then.'),
    firstEstimatedCompletionTime: time
      .optional()
      .describe('estimatedCompletionTime of the first rehearsal of the run.'),
    driftSeconds: z
      .int()
      .optional()
      .describe(
        'Seconds by which estimatedCompletionTime is later than firstEstimatedCompletionTime.',
      ),
    nodes: z.int().describe('Number of nodes that start.'),
    windows: z.int().describe('Number of openings of the windows in which nodes start.'),
    podsMoved: z.int(),
    podsMovedAgain: z.int().describe('Pods that are moved more than once.'),
    blocked: z
      .array(z.object({ node: z.string(), message: z.string() }))
      .max(10)
      .optional()
      .describe('The first of the nodes that get stuck; at most 10.'),
    blockedNodes: z.int().describe('Number of nodes that get stuck.'),
    lowest: z
      .array(z.object({ workload: z.string(), ready: z.int(), replicas: z.int() }))
      .max(5)
      .optional()
      .describe('The workloads with the lowest share of ready pods; at most 5.'),
    firstNodes: z
      .array(z.string())
      .max(20)
      .optional()
      .describe('For order.by Cost: the nodes to start first.'),
  })
  .describe('The prediction of the latest rehearsal.');

const soak = z
  .object({
    stage: z.string(),
    startTime: time
      .optional()
      .describe('Since when all of its nodes have been Ready and done without interruption.'),
    mark: z
      .string()
      .optional()
      .describe(
        'Boots and Ready conditions of its nodes: the soak time starts again when they change.',
      ),
    lacking: z
      .array(z.object({ node: z.string(), nodeUID: z.string(), startTime: time }))
      .max(maxLacking)
      .optional()
      .describe(
        'Nodes of the stage that were done and are not Ready or not done any more. After done.withinSeconds they have failed.',
      ),
  })
  .describe('The soak time of the stage that is over, until the next one begins.');

const failure = z.object({
  node: z.string(),
  stage: z.string(),
  state: z.enum(nodeStates),
  message: z.string(),
  time,
  held: z.boolean(),
});

export const maintenancePlanStatus = z
  .object({
    phase: z.enum(planPhases).optional(),
    message: z.string().optional().describe('The state in a sentence.'),
    observedGeneration: z.int().optional(),
    specHash: z
      .string()
      .optional()
      .describe('Hash of the part of the spec that a MaintenanceApproval agrees to.'),
    run: z
      .object({
        id: z.string(),
        revision: z
          .string()
          .describe(
            'Hash of the work; from the second run of the plan on with the number of the run.',
          ),
        number: z
          .int()
          .optional()
          .describe('The number of this run of the plan, from the second on.'),
        startTime: time,
        soak: soak.optional(),
        stage: z.string().optional(),
        begun: z
          .record(z.string(), time)
          .optional()
          .describe(
            'When the first node of each stage started; only with approval.expiresAfterSeconds.',
          ),
        agreed: z
          .record(z.string(), z.string())
          .optional()
          .describe(
            'By the uid of a MaintenanceApproval without a specHash: the specHash when the operator first saw it.',
          ),
      })
      .optional(),
    nodes: z
      .object({
        selected: z.int(),
        due: z.int(),
        dueAgain: z
          .int()
          .optional()
          .describe('Nodes that this run is over with, and that are due: the next run takes them.'),
        blocked: z.int(),
        inFlight: z.int(),
        done: z.int(),
        failed: z.int(),
        skipped: z.int(),
        unavailable: z
          .int()
          .describe('Selected nodes that are out of service, whatever the cause.'),
        progress: z.string().describe('Nodes done, of all that take part.'),
      })
      .optional(),
    resolved: z
      .object({ maxInFlight: z.int(), maxUnavailable: z.int().optional() })
      .optional()
      .describe('Percentages of spec.concurrency as numbers of nodes.'),
    stages: z
      .array(z.object({ name: z.string(), selected: z.int(), done: z.int(), phase: z.string() }))
      .optional(),
    inFlight: z.array(inFlight).max(maxSlots).optional(),
    preparing: z
      .array(preparing)
      .max(maxSlots)
      .optional()
      .describe('Nodes that are being prepared before they are held.'),
    waiting: z
      .array(
        z.object({
          reason: z.string(),
          message: z.string(),
          node: z.string().optional(),
          startTime: time,
          until: time.optional(),
        }),
      )
      .max(50)
      .optional()
      .describe('What the plan or its nodes wait for.'),
    waitingFor: z.string().optional().describe('The reason of the first entry of waiting.'),
    upNext: z
      .array(z.string())
      .max(maxUpNext)
      .optional()
      .describe('The next nodes of the current stage, in order.'),
    hooks: z
      .array(hookRun)
      .max(maxHookRuns)
      .optional()
      .describe('Hooks of this run that something waits for.'),
    gates: z
      .array(
        z.object({
          name: z.string(),
          value: z.enum(['True', 'False', 'Unknown']),
          startTime: time,
          message: z.string(),
        }),
      )
      .max(16)
      .optional()
      .describe('The value of each gate, and since when.'),
    haltedBy: z
      .object({ gate: z.string(), message: z.string(), time })
      .optional()
      .describe('The gate that halted the plan.'),
    passedOver: z
      .array(z.object({ node: z.string(), nodeUID: z.string(), startTime: time }))
      .max(20)
      .optional()
      .describe(
        'Nodes that limits keep waiting while other nodes start, for order.starvedAfterSeconds.',
      ),
    failures: z
      .array(failure)
      .max(50)
      .optional()
      .describe('The latest failures; all verdicts are in MaintenancePlanRecords.'),
    estimatedCompletionTime: time
      .optional()
      .describe('When the plan will be complete, at the observed rate; whole minutes.'),
    rehearsal: rehearsal.optional().describe('The rehearsal that is running or has failed.'),
    forecast: forecast.optional(),
    completionTime: time.optional(),
    conditions,
  })
  .describe('Written by Drydock.');

const verdict = z.object({
  nodeUID: z.string(),
  stage: z.string(),
  verdict: z.enum(verdictTypes),
  state: z.enum(nodeStates),
  message: z.string().max(2048),
  startTime: time,
  completionTime: time,
  attempts: z.int(),
  rebooted: z.boolean(),
  held: z.boolean().describe('The node stays held: delete its Maintenance to release it.'),
  requeues: z.int(),
  workSeconds: z
    .int()
    .optional()
    .describe('Duration of the work in seconds, until the reboot where there was one.'),
  rebootSeconds: z.int().optional(),
});

export const maintenancePlanRecordSpec = z
  .object({
    planName: objectName,
    planUID: z.string().max(63),
    runID: z.string().max(63),
    revision: z.string().max(63),
    slice: z.int32().min(0),
    verdicts: z
      .record(z.string(), verdict)
      .meta({ maxProperties: 500 })
      .describe('The verdicts by the name of the node.'),
  })
  .describe('The verdicts of up to 500 nodes in one run of a MaintenancePlan. Written by Drydock.');

export const maintenanceApprovalSpec = z
  .object({
    planName: objectName,
    runID: z.string().min(1).max(63).describe('status.run.id of the plan.'),
    revision: z
      .string()
      .min(1)
      .max(63)
      .describe('status.run.revision of the plan: an edit of the work invalidates the approval.'),
    specHash: z
      .string()
      .min(1)
      .max(63)
      .optional()
      .describe(
        'status.specHash of the plan: an edit of anything but pauses, retries, skipped nodes and pace invalidates the approval. Defaults to the spec that the operator finds when it first sees the approval.',
      ),
    stage: stageName
      .optional()
      .describe('The stage after which the plan may proceed. When left out, the run may begin.'),
    promote: z
      .enum(['Stage', 'Full'])
      .optional()
      .describe(
        'Stage: skip the soak time of the stage. Full: the run may begin, and proceeds after each stage without approval or soak time.',
      ),
  })
  .meta(
    rules(
      rule('self == oldSelf', 'an approval cannot be changed: create another one'),
      rule(
        "!has(self.promote) || (self.promote == 'Stage') == has(self.stage)",
        'promote Stage needs a stage; promote Full must not have one',
      ),
    ),
  )
  .describe('Lets a MaintenancePlan proceed.');

export type MaintenancePlanStatus = z.input<typeof maintenancePlanStatus>;
export type MaintenancePlanRecordSpec = z.input<typeof maintenancePlanRecordSpec>;
export type MaintenanceApprovalSpec = z.input<typeof maintenanceApprovalSpec>;

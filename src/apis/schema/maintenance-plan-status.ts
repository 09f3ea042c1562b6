import { z } from 'zod';
import { mostHookRuns, mostSlots, nodeStates, preparingStates, verdictWords, workKinds } from '../../core/plan/in-flight.ts';
import { mostAttempts, mostUpNext, planPhases } from '../../core/plan/plan.ts';
import { hookStates } from '../../core/plan/pods/hook.ts';
import { rehearsalStates } from '../../core/plan/rehearsal/rehearsal.ts';
import { conditions, objectName, rule, rules, stageName, time } from './common.ts';

/** The status of a MaintenancePlan, and the kinds beside it: the records of its runs, and approvals. */

const inFlight = z.object({
  node: z.string(),
  nodeUID: z.string(),
  stage: z.string(),
  revision: z.string(),
  work: z
    .object({ kind: z.enum(workKinds), rebootsNode: z.boolean(), timeoutSeconds: z.int() })
    .describe('As the node was begun with, whatever the plan is edited to meanwhile.'),
  domains: z.record(z.string(), z.string()).optional().describe('Its labels that concurrency.perTopology names.'),
  state: z.enum(nodeStates),
  startTime: time,
  since: time.describe('When it came to this state.'),
  attempt: z.int32().min(0).max(mostAttempts),
  bootIDBefore: z.string().optional(),
  podUID: z.string().optional(),
  workStartTime: time.optional(),
  rebootStartTime: time.optional(),
  workEndTime: time.optional(),
  soakSince: time.optional(),
  rebooted: z.boolean().optional(),
  outcome: z.object({ verdict: z.enum(verdictWords), step: z.enum(nodeStates), message: z.string(), held: z.boolean() }).optional(),
});

const preparing = z.object({
  node: z.string(),
  nodeUID: z.string(),
  state: z.enum(preparingStates),
  since: time,
  pod: z.string(),
  podUID: z.string().optional(),
  message: z.string(),
});

const hookRun = z.object({
  name: z.string(),
  of: z.string().describe('The run, the halt, a stage or a node.'),
  state: z.enum(hookStates),
  attempt: z.int(),
  since: time,
  pod: z.string(),
  podUID: z.string().optional(),
  message: z.string(),
});

const rehearsal = z.object({
  state: z.enum(rehearsalStates),
  runID: z.string(),
  specHash: z.string(),
  attempt: z.int(),
  since: time,
  pod: z.string(),
  podUID: z.string().optional(),
  message: z.string(),
});

const forecast = z
  .object({
    rehearsedAt: time.describe('When the rehearsal had ended.'),
    takenAt: time.describe('When the copy of the cluster was taken.'),
    runID: z.string(),
    specHash: z.string().describe('Of the fields of the plan that the rehearsal depends on.'),
    finishes: z.boolean().describe('All nodes are done in the end.'),
    endTime: time.optional().describe('When the plan is over: half of the simulated runs end by then.'),
    latestEndTime: time.optional().describe('The same for nine in ten.'),
    firstEndTime: time.optional().describe('What the first rehearsal of the run had said.'),
    driftSeconds: z.int().optional().describe('By how much the end is later than the first rehearsal had said.'),
    nodes: z.int().describe('Nodes that the plan begins with.'),
    windows: z.int().describe('Openings of the windows in which it begins with them.'),
    podsMoved: z.int(),
    podsMovedAgain: z.int().describe('Of these, the pods that are moved more than once.'),
    blocked: z
      .array(z.object({ node: z.string(), message: z.string() }))
      .max(10)
      .optional()
      .describe('The first of them.'),
    blockedNodes: z.int().describe('Nodes that get stuck.'),
    lowest: z
      .array(z.object({ workload: z.string(), ready: z.int(), replicas: z.int() }))
      .max(5)
      .optional()
      .describe('Workloads with the fewest ready pods.'),
    firstNodes: z.array(z.string()).max(20).optional().describe('With order.by Cost: the nodes to begin with.'),
  })
  .describe('How the plan goes on, as its latest rehearsal has it.');

const failure = z.object({ node: z.string(), stage: z.string(), step: z.enum(nodeStates), message: z.string(), time, held: z.boolean() });

export const maintenancePlanStatus = z
  .object({
    phase: z.enum(planPhases).optional(),
    message: z.string().optional().describe('The state in a sentence.'),
    observedGeneration: z.int().optional(),
    run: z
      .object({
        id: z.string(),
        revision: z.string(),
        startTime: time,
        stage: z.string().optional(),
        begun: z.record(z.string(), time).optional().describe('When the first node of each stage began, where approvals expire.'),
      })
      .optional(),
    nodes: z
      .object({
        selected: z.int(),
        due: z.int(),
        blocked: z.int(),
        inFlight: z.int(),
        done: z.int(),
        failed: z.int(),
        skipped: z.int(),
        unavailable: z.int().describe('Selected nodes that are out of service, whatever took them.'),
        progress: z.string().describe('Done of all that take part.'),
      })
      .optional(),
    resolved: z.object({ maxInFlight: z.int(), maxUnavailable: z.int().optional() }).optional().describe('What percents come to.'),
    stages: z.array(z.object({ name: z.string(), selected: z.int(), done: z.int(), phase: z.string() })).optional(),
    inFlight: z.array(inFlight).max(mostSlots).optional(),
    preparing: z.array(preparing).max(mostSlots).optional().describe('Nodes that are got ready before they are held.'),
    waiting: z
      .array(z.object({ word: z.string(), who: z.string(), node: z.string().optional(), since: time, ends: time.optional() }))
      .max(50)
      .optional()
      .describe('What keeps the plan, or a node, from going on.'),
    waitingFor: z.string().optional().describe('The first word of waiting.'),
    upNext: z
      .array(z.string())
      .max(mostUpNext)
      .optional()
      .describe('The nodes that come next in the stage that is under way, in their order.'),
    hooks: z.array(hookRun).max(mostHookRuns).optional().describe('Hooks of this run, as far as something waits for them.'),
    gates: z
      .array(z.object({ name: z.string(), value: z.enum(['True', 'False', 'Unknown']), since: time, message: z.string() }))
      .max(16)
      .optional()
      .describe('What each gate says, and since when.'),
    haltedBy: z.object({ gate: z.string(), message: z.string(), time }).optional().describe('The gate that has stopped the plan.'),
    passedOver: z
      .array(z.object({ node: z.string(), nodeUID: z.string(), since: time }))
      .max(20)
      .optional()
      .describe('Nodes that limits keep while others begin, for order.starvedAfterSeconds.'),
    failures: z.array(failure).max(50).optional().describe('The latest failures; all verdicts are in MaintenancePlanRecords.'),
    expectedEndTime: time.optional().describe('When the plan will be over, by what it has seen so far; whole minutes.'),
    rehearsal: rehearsal.optional().describe('The rehearsal that runs, or has failed.'),
    forecast: forecast.optional(),
    completionTime: time.optional(),
    conditions,
  })
  .describe('Written by Drydock.');

const verdict = z.object({
  nodeUID: z.string(),
  stage: z.string(),
  verdict: z.enum(verdictWords),
  step: z.enum(nodeStates),
  message: z.string().max(2048),
  startTime: time,
  completionTime: time,
  attempts: z.int(),
  rebooted: z.boolean(),
  held: z.boolean().describe('The node stays held: delete its Maintenance to release it.'),
  requeues: z.int(),
  workSeconds: z.int().optional().describe('How long the work took, until the reboot where there was one.'),
  rebootSeconds: z.int().optional(),
});

export const maintenancePlanRecordSpec = z
  .object({
    planName: objectName,
    planUID: z.string().max(63),
    runID: z.string().max(63),
    revision: z.string().max(63),
    slice: z.int32().min(0),
    verdicts: z.record(z.string(), verdict).meta({ maxProperties: 500 }).describe('By the name of the node.'),
  })
  .describe('What has become of up to 500 nodes in one run of a MaintenancePlan. Written by Drydock.');

export const maintenanceApprovalSpec = z
  .object({
    planName: objectName,
    runID: z.string().min(1).max(63).describe('status.run.id of the plan.'),
    revision: z.string().min(1).max(63).describe('status.run.revision of the plan: an edit of the work makes the approval void.'),
    stage: stageName.optional().describe('The stage after which the plan may go on. Left out: the run may begin.'),
    promote: z
      .enum(['Stage', 'Full'])
      .optional()
      .describe(
        'Stage: the quiet time after the stage is over too. Full: the run may begin, and goes on after all of its stages, without their quiet times.',
      ),
  })
  .meta(
    rules(
      rule('self == oldSelf', 'an approval cannot be changed: create another one'),
      rule(
        "!has(self.promote) || (self.promote == 'Stage') == has(self.stage)",
        'promote Stage names a stage, and promote Full names none',
      ),
    ),
  )
  .describe('Somebody agrees that a MaintenancePlan goes on.');

export type MaintenancePlanStatus = z.input<typeof maintenancePlanStatus>;
export type MaintenancePlanRecordSpec = z.input<typeof maintenancePlanRecordSpec>;
export type MaintenanceApprovalSpec = z.input<typeof maintenanceApprovalSpec>;

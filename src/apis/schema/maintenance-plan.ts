import { z } from 'zod';
import { mostFirst, mostGates } from '../../core/plan/plan.ts';
import { expression, labelSelector, objectName, rule, rules, stageName, time, withoutDefaults } from './common.ts';
import { drain } from './maintenance.ts';
import { gate } from './maintenance-plan-gates.ts';
import { rehearse } from './maintenance-plan-rehearse.ts';
import { hook, prepare, work } from './maintenance-plan-work.ts';

/** drydock.dev/v1alpha1 MaintenancePlan: the source of its CRD, of the types of its reader and of its reference. */

const amount = (what: string) =>
  z
    .union([z.int(), z.string()])
    .meta({ 'x-kubernetes-int-or-string': true, minimum: 0, pattern: '^(100|[1-9][0-9]?)%$' })
    .describe(`${what} A number, or a percent of the selected nodes: rounded down, at least 1.`);

const seconds = z.int32().min(0);

const due = z
  .object({
    expression: expression('Whether a node is due.').optional(),
    olderThanSeconds: seconds.optional().describe('Only nodes that have existed for longer than this.'),
  })
  .describe('Which nodes are due; all conditions must be met. Defaults to each node once a run.');

const done = z
  .object({
    expression: expression('Whether a node is done. Defaults to: it is not due any more.').optional(),
    rebooted: z
      .enum(['Required', 'Optional'])
      .optional()
      .describe('Whether the boot ID of the node must have changed. Defaults to Required when the work reboots the node.'),
    withinSeconds: seconds.default(600).describe('The proof must be there this long after the work has ended.'),
  })
  .describe('How a node proves that it is done: Ready, rebooted, and by the expression.');

const concurrency = z
  .object({
    maxInFlight: amount('How many nodes of this plan may be in flight at once; 0 starts none.').default(1),
    maxUnavailable: amount('How many of the selected nodes may be out of service, whatever took them: no start passes it.').optional(),
    maxUnavailableAbsolute: z.int32().min(1).optional().describe('The same as a number: of both the lower one binds.'),
    perTopology: z
      .array(
        z.object({
          key: z.string().min(1).max(317).describe('A label of nodes, for example topology.kubernetes.io/zone.'),
          maxUnavailable: z.int32().min(1).optional().describe('How many nodes of one value may be out of service.'),
          maxDomains: z.int32().min(1).optional().describe('Of how many values nodes may be in flight at once.'),
        }),
      )
      .max(8)
      .optional(),
    foreignCordon: z
      .enum(['Wait', 'TakeFirst', 'Skip'])
      .default('Wait')
      .describe(
        'Nodes that somebody else has cordoned. Wait: until they are uncordoned. TakeFirst: begin with them. Skip: leave them out.',
      ),
    startsPerWindow: z
      .int32()
      .min(1)
      .optional()
      .describe('How many nodes of a run may begin in one opening of the windows. Without windows that are for the node it says nothing.'),
    ramp: z
      .object({ start: z.int32().min(1).default(1), factor: z.int32().min(1).max(10).default(2) })
      .optional()
      .describe(
        'How many nodes may be in flight at first, and how that grows: by factor after as many successes; back to start after a failure.',
      ),
  })
  .describe('How many nodes at once.');

const stage = z
  .object({
    name: stageName.meta(rules(rule("!(self in ['rest', 'control-plane'])", 'rest and control-plane are the names of the implied stages'))),
    nodeSelector: labelSelector.optional().describe('Of the nodes that no earlier stage has taken. Defaults to all of them.'),
    limit: z.int32().min(1).optional().describe('At most so many nodes.'),
    maxInFlight: amount('How many nodes of this stage may be in flight at once.').optional(),
    soakSeconds: seconds.default(0).describe('Quiet time after the last node of the stage.'),
    approveAfter: z.boolean().default(false).describe('Somebody has to agree before the next stage: a MaintenanceApproval.'),
  })
  .describe('One stage after the other. A last stage, rest, takes what is left.');

const halt = z
  .object({
    maxFailures: amount('So many nodes may fail; one more halts the plan.').default('3%'),
    consecutive: seconds.default(2).describe('So many failures in a row halt the plan; 0: never.'),
    inFirstStage: seconds.default(1).describe('So many failures in the first of several stages halt the plan; 0: never.'),
  })
  .describe('When the plan starts nothing any more. What is in flight goes on.');

const rollback = z
  .object({ due: due.optional(), done: done.optional(), prepare: prepare.optional(), work })
  .describe(
    'What takes the work back: it stands in for due, done, prepare and work while undo is true. due defaults to the nodes for which spec.due.expression is false.',
  );

export const maintenancePlanSpec = z
  .object({
    nodeSelector: labelSelector.describe('The nodes of the plan. An empty selector selects all nodes.'),
    membership: z
      .enum(['Follow', 'Snapshot'])
      .default('Follow')
      .describe('Follow: nodes that come later join their stage. Snapshot: only nodes that existed when the run began.'),
    due: due.optional(),
    done: done.optional(),
    concurrency: concurrency.optional(),
    order: z
      .object({
        by: z
          .array(z.enum(['Zone', 'Age', 'Cost', 'Name']))
          .max(4)
          .optional()
          .describe(
            'Defaults to Zone, Name. Oldest first, names in order. Cost: as spec.rehearse has found that fewer pods are moved more than once.',
          ),
        expression: expression('A number for each node; lower ones first, before anything else.').optional(),
        starvedAfterSeconds: z
          .int32()
          .min(1)
          .optional()
          .describe('A node that limits have kept for so long while others of the plan began reserves them: nobody else begins before it.'),
        first: z
          .array(objectName)
          .max(mostFirst)
          .optional()
          .describe('Nodes that come before the others of their stage, in this order. No node changes its stage by that.'),
      })
      .optional(),
    stages: z
      .array(stage)
      .max(32)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] }),
    controlPlane: z
      .enum(['First', 'Last', 'Never', 'AsSelected'])
      .default('First')
      .describe('When the nodes of the control plane have their turn, one at a time; the quorum is asked in any case.'),
    pace: z
      .object({
        deadline: time.describe(
          'When the plan should be over. No limit is passed for that; the condition Predicted says whether it will be.',
        ),
        mode: z
          .enum(['AsSoonAsPossible', 'Spread'])
          .default('AsSoonAsPossible')
          .describe('Spread: nodes begin evenly over what is left of the open time until the deadline.'),
      })
      .optional()
      .describe('How fast the plan goes.'),
    windows: z.enum(['Respect', 'Ignore']).default('Respect').describe('Whether nodes begin only when the MaintenanceWindows allow it.'),
    expectedSeconds: z.int32().min(1).optional().describe('How long one node takes. Defaults to the longest that this run has seen.'),
    template: z
      .object({
        maintenance: z
          .object({
            reason: z.string().max(1024).optional().describe('Reason for the maintenance, for people.'),
            drain: withoutDefaults(drain).optional().describe('How to drain the nodes: as in a Maintenance.'),
          })
          .optional(),
      })
      .optional()
      .describe('The Maintenance that is made for each node.'),
    prepare: prepare.optional(),
    work,
    rollback: rollback.optional(),
    undo: z
      .boolean()
      .default(false)
      .describe(
        'Take the work back, by rollback, in the reverse order within each stage. Changing it begins a new run; change runID with it.',
      ),
    hooks: z
      .array(hook)
      .max(8)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] }),
    gates: z
      .array(gate)
      .max(mostGates)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
      .describe('What must be true beside the nodes themselves. What cannot be told is waited for, and said.'),
    soakSeconds: seconds.default(0).describe('Everything must stay well this long without a break before the node is released.'),
    soakAfterReleaseSeconds: seconds.default(0).describe('The same after the release, with pods on the node.'),
    approval: z
      .object({
        run: z
          .enum(['NotRequired', 'Required'])
          .default('NotRequired')
          .describe('Required: the run does not begin before there is a MaintenanceApproval for it.'),
        expiresAfterSeconds: z
          .int32()
          .min(1)
          .optional()
          .describe('An approval that is older when the run or the next stage would begin is void. What has begun under it goes on.'),
      })
      .optional()
      .describe('What somebody has to agree to, and for how long that counts.'),
    onFailure: z
      .object({
        node: z
          .enum(['Hold', 'GiveBack'])
          .default('Hold')
          .describe('What becomes of a node that fails after the work began. Before that it is always given back.'),
        drainStuck: z
          .object({ afterSeconds: z.int32().min(1), times: z.int32().min(0).max(100).default(1) })
          .optional()
          .describe('A node whose drain takes longer is given back and comes again later, so many times; then it has failed.'),
      })
      .optional(),
    halt: halt.optional(),
    rehearse: rehearse.optional(),
    paused: z.boolean().default(false).describe('Start no more nodes.'),
    pause: z
      .object({
        reason: z.string().min(1).max(256).optional().describe('Why, for people.'),
        until: time.optional().describe('When the plan goes on by itself. Defaults to: when pause is removed.'),
      })
      .optional()
      .describe('Start no more nodes, with a reason and until a time. paused, which has no end, does the same for as long as it is true.'),
    aborted: z.boolean().default(false).describe('Start no more nodes, and give back those on which nothing was done yet.'),
    onDelete: z
      .enum(['FinishNodes', 'Release'])
      .default('Release')
      .describe(
        'What becomes of nodes in flight when the plan is deleted; no others begin. Release: those whose work has not begun are released, the others finish. FinishNodes: all of them finish.',
      ),
    runID: z.string().min(1).max(63).default('1').describe('Another value begins a new run.'),
    skipNodes: z
      .array(z.object({ name: objectName, reason: z.string().max(1024).optional() }))
      .max(1000)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
      .describe('Nodes that are left out.'),
    retries: z
      .array(z.object({ name: z.string().min(1).max(253).describe('A node, or * for all.'), before: time }))
      .max(1000)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
      .describe('Failures of before this time are set aside: the nodes have their turn again.'),
  })
  .meta(
    rules(
      rule('!has(self.undo) || !self.undo || has(self.rollback)', 'undo needs rollback: it says what takes the work back'),
      rule(
        '!has(self.rollback) || has(self.rollback.due) || has(self.due) && has(self.due.expression)',
        'rollback needs a due of its own where due has no expression: it says which nodes the work is taken back from',
      ),
    ),
  )
  .describe('Takes many nodes out of service one after the other, within limits, works on them, and proves that they are done.');

export type MaintenancePlanSpec = z.input<typeof maintenancePlanSpec>;

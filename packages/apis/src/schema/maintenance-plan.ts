import { maxFirst, maxGates } from '@drydock/core/plan';
import { z } from 'zod';
import {
  expression,
  labelSelector,
  objectName,
  rule,
  rules,
  stageName,
  time,
  withoutDefaults,
} from './common.ts';
import { drain } from './maintenance.ts';
import { gate } from './maintenance-plan-gates.ts';
import { amount, concurrency, hook, prepare, rehearse, work } from './maintenance-plan-work.ts';

/**
 * drydock.dev/v1alpha1 MaintenancePlan: the source of its CRD, of the types of its reader and of
 * its reference.
 */

const seconds = z.int32().min(0);

const due = z
  .object({
    expression: expression('Whether a node is due.').optional(),
    olderThanSeconds: seconds.optional().describe('Only nodes older than this many seconds.'),
  })
  .describe(
    'Selects the nodes that are due; all conditions must be met. Defaults to every node, once per run.',
  );

const done = z
  .object({
    expression: expression(
      'Whether a node is done. Defaults to: the node is no longer due.',
    ).optional(),
    rebooted: z
      .enum(['Required', 'Optional'])
      .optional()
      .describe(
        'Whether the boot ID of the node must have changed. Defaults to Required when the work reboots the node.',
      ),
    withinSeconds: seconds
      .default(600)
      .describe(
        'Seconds after the end of the work within which the node must prove that it is done; otherwise it fails.',
      ),
  })
  .describe(
    'How a node proves that it is done: it is Ready, it has rebooted if required, and the expression is true.',
  );

const stage = z
  .object({
    name: stageName.meta(
      rules(
        rule(
          "!(self in ['rest', 'control-plane'])",
          'rest and control-plane are reserved for the implied stages',
        ),
      ),
    ),
    nodeSelector: labelSelector
      .optional()
      .describe(
        'Selects among the nodes that no earlier stage has taken. Defaults to all of them.',
      ),
    limit: z.int32().min(1).optional().describe('Maximum number of nodes in this stage.'),
    maxInFlight: amount('Maximum number of nodes of this stage in flight at once.').optional(),
    soakSeconds: seconds
      .default(0)
      .describe('Seconds to wait after the last node of the stage before the next stage begins.'),
    approveAfter: z
      .boolean()
      .default(false)
      .describe('Whether the next stage needs a MaintenanceApproval.'),
  })
  .describe(
    'Stages run one after the other. An implied last stage, rest, takes the remaining nodes.',
  );

const halt = z
  .object({
    maxFailures: amount('Maximum number of failed nodes; one more halts the plan.').default('3%'),
    consecutive: seconds
      .default(2)
      .describe('Number of consecutive failures that halts the plan; 0: never.'),
    inFirstStage: seconds
      .default(1)
      .describe('Number of failures in the first of several stages that halts the plan; 0: never.'),
  })
  .describe(
    'Failures that halt the plan. A halted plan starts no more nodes; nodes in flight continue.',
  );

const rollback = z
  .object({ due: due.optional(), done: done.optional(), prepare: prepare.optional(), work })
  .describe(
    'Undoes the work: replaces due, done, prepare and work while direction is Rollback. due defaults to the nodes for which spec.due.expression is false.',
  );

export const maintenancePlanSpec = z
  .object({
    nodeSelector: labelSelector.describe(
      'The nodes of the plan. An empty selector selects all nodes.',
    ),
    membership: z
      .enum(['Follow', 'Snapshot'])
      .default('Follow')
      .describe(
        'Follow: nodes that are added later join their stage. Snapshot: only nodes that existed when the run began take part.',
      ),
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
            'Order of the nodes within a stage. Defaults to Zone, Name. Age: oldest first. Name: alphabetical. Cost: the order that spec.rehearse has found to move the fewest pods more than once.',
          ),
        expression: expression(
          'A number for each node: lower numbers first. Takes precedence over by.',
        ).optional(),
        starvedAfterSeconds: z
          .int32()
          .min(1)
          .optional()
          .describe(
            'A node that limits have kept waiting this many seconds while other nodes of the plan started reserves those limits: no other node starts before it.',
          ),
        first: z
          .array(objectName)
          .max(maxFirst)
          .optional()
          .describe(
            'Nodes that start before the others of their stage, in this order. Does not change the stage of a node.',
          ),
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
      .describe(
        'When the control plane nodes start, one at a time. The etcd quorum is checked in any case.',
      ),
    pace: z
      .object({
        deadline: time.describe(
          'When the plan should be complete. Does not override any limit; the condition Predicted reports whether the plan will meet it.',
        ),
        mode: z
          .enum(['AsSoonAsPossible', 'Spread'])
          .default('AsSoonAsPossible')
          .describe(
            'Spread: start nodes evenly over the open time that is left until the deadline.',
          ),
      })
      .optional()
      .describe('How fast the plan proceeds.'),
    windows: z
      .enum(['Respect', 'Ignore'])
      .default('Respect')
      .describe(
        'Respect: start nodes only when the MaintenanceWindows allow it. Ignore: start nodes at any time.',
      ),
    expectedSeconds: z
      .int32()
      .min(1)
      .optional()
      .describe(
        'Expected duration of one node, in seconds. Defaults to the longest duration in this run.',
      ),
    template: z
      .object({
        maintenance: z
          .object({
            reason: z
              .string()
              .max(1024)
              .optional()
              .describe('Reason for the maintenance, for people.'),
            drain: withoutDefaults(drain)
              .optional()
              .describe('How to drain the nodes: as in a Maintenance.'),
          })
          .optional(),
      })
      .optional()
      .describe('The Maintenance that the plan creates for each node.'),
    prepare: prepare.optional(),
    work,
    rollback: rollback.optional(),
    direction: z
      .enum(['Forward', 'Rollback'])
      .default('Forward')
      .describe(
        'Rollback: undo the work as rollback defines, in reverse order within each stage. A change begins a new run; change runID as well.',
      ),
    hooks: z
      .array(hook)
      .max(8)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] }),
    gates: z
      .array(gate)
      .max(maxGates)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
      .describe(
        'Conditions outside of the nodes that must be true. The plan waits for, and reports, a gate whose value is unknown.',
      ),
    soakSeconds: seconds
      .default(0)
      .describe(
        'Seconds for which the node and the gates must stay healthy without interruption before the node is released.',
      ),
    soakAfterReleaseSeconds: seconds
      .default(0)
      .describe('Seconds for which the same must hold after the release, with pods on the node.'),
    approval: z
      .object({
        run: z
          .enum(['NotRequired', 'Required'])
          .default('NotRequired')
          .describe('Required: the run begins only with a MaintenanceApproval.'),
        expiresAfterSeconds: z
          .int32()
          .min(1)
          .optional()
          .describe(
            'Seconds until an approval expires. An expired approval does not let the run or the next stage begin; what has already begun continues.',
          ),
      })
      .optional()
      .describe('What needs a MaintenanceApproval, and how long an approval is valid.'),
    onFailure: z
      .object({
        node: z
          .enum(['Hold', 'Release'])
          .default('Hold')
          .describe(
            'What happens to a node that fails after its work began. Hold: it stays held. Release: it is released. A node that fails earlier is always released.',
          ),
        drainStuck: z
          .object({ afterSeconds: z.int32().min(1), times: z.int32().min(0).max(100).default(1) })
          .optional()
          .describe(
            'Releases a node whose drain takes longer than afterSeconds and starts it again later, at most times times; then the node fails.',
          ),
      })
      .optional(),
    halt: halt.optional(),
    rehearse: rehearse.optional(),
    state: z
      .enum(['Running', 'Paused', 'Aborted'])
      .default('Running')
      .describe(
        'Running: nodes start. Paused: start no more nodes. Aborted: start no more nodes, and release those whose work has not begun.',
      ),
    pause: z
      .object({
        reason: z.string().min(1).max(256).optional().describe('Why, for people.'),
        until: time
          .optional()
          .describe('When the plan continues by itself. Without it: when state is Running again.'),
      })
      .optional()
      .describe('Why, and until when, the plan is Paused. Ignored when it is Aborted.'),
    onDelete: z
      .enum(['FinishNodes', 'Release'])
      .default('Release')
      .describe(
        'What happens to nodes in flight when the plan is deleted; no others begin. Release: those whose work has not begun are released, the others finish. FinishNodes: all of them finish.',
      ),
    runID: z
      .string()
      .min(1)
      .max(63)
      .default('1')
      .describe('Identifies the run: a new value begins a new run.'),
    skipNodes: z
      .array(z.object({ name: objectName, reason: z.string().max(1024).optional() }))
      .max(1000)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
      .describe('Nodes to leave out.'),
    retries: z
      .array(
        z.object({
          name: z
            .string()
            .min(1)
            .max(253)
            .describe('A node, or * for all nodes and for hooks, gates and rehearsals.'),
          before: time,
        }),
      )
      .max(1000)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
      .describe('Set aside failures before this time, so that the nodes start again.'),
  })
  .meta(
    rules(
      rule(
        "!has(self.pause) || has(self.state) && self.state != 'Running'",
        'pause says why, and until when, a plan is Paused: set state to Paused, or remove pause',
      ),
      rule(
        "!has(self.direction) || self.direction == 'Forward' || has(self.rollback)",
        'direction Rollback needs rollback, which defines how to undo the work',
      ),
      rule(
        '!has(self.rollback) || has(self.rollback.due) || has(self.due) && has(self.due.expression)',
        'rollback.due is required when due has no expression: it selects the nodes on which to undo the work',
      ),
    ),
  )
  .describe(
    'Takes many nodes out of service within limits, works on each, and verifies that each is done.',
  );

export type MaintenancePlanSpec = z.input<typeof maintenancePlanSpec>;

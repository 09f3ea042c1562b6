import { z } from 'zod';
import { mostAttempts } from '../../core/plan/plan.ts';
import { hookPlaces } from '../../core/plan/pods/hook.ts';
import { expression, rule, rules, stageName } from './common.ts';

/** The work of a MaintenancePlan: what is done on each node. */

const container = z
  .object({ name: z.string().min(1).max(63), image: z.string().min(1).max(1024) })
  .meta({ 'x-kubernetes-preserve-unknown-fields': true });

const podSpec = (what: string) =>
  z
    .object({ containers: z.array(container).min(1).max(32) })
    .meta({ 'x-kubernetes-preserve-unknown-fields': true })
    .describe(`PodSpec of ${what}. nodeName, restartPolicy and tolerations are set by Drydock.`);

export const prepare = z
  .object({
    job: z.object({ podSpec: podSpec('what gets a node ready'), timeoutSeconds: z.int32().min(1).default(1800) }),
    refusalCode: z.int32().min(1).max(255).default(3).describe('Exit code that says: not this node. It is Blocked, and others pass it.'),
  })
  .describe('What is done on the next nodes before they are held, for example pulling an image or checking a firmware. It costs no limit.');

export const hook = z
  .object({
    name: stageName,
    at: z.enum(hookPlaces).describe('When it runs. OnHalt: each time that the plan is halted.'),
    job: z.object({ podSpec: podSpec('the hook, on any node'), timeoutSeconds: z.int32().min(1).default(600) }),
    onFailure: z
      .enum(['Pause', 'Continue'])
      .default('Pause')
      .describe('Pause: what comes behind it waits until somebody has it run again, by spec.retries.'),
  })
  .describe('A pod beside the nodes. It is told of its moment by DRYDOCK_PLAN, DRYDOCK_RUN, DRYDOCK_HOOK, DRYDOCK_STAGE and DRYDOCK_NODE.');

const job = z
  .object({
    podSpec: podSpec('the work'),
    rebootsNode: z.boolean().default(false).describe('The work reboots its own node: its pod may die, only a new boot ID counts.'),
    timeoutSeconds: z.int32().min(1).default(1800),
    attempts: z.int32().min(1).max(mostAttempts).default(1),
  })
  .describe('A pod on the node, which tolerates every taint.');

export const work = z
  .object({
    job: job.optional(),
    reboot: z
      .object({
        image: z.string().min(1).max(1024).optional().describe('Image of Drydock for the pod. Defaults to that of the operator.'),
        timeoutSeconds: z.int32().min(1).default(900).describe('How long it may take until the node is Ready again.'),
      })
      .optional()
      .describe('Drydock reboots the node, by systemd, and waits for its new boot ID.'),
    external: z
      .object({
        annotations: z
          .record(z.string(), z.string().max(1024))
          .meta({
            maxProperties: 32,
            ...rules(rule("self.all(key, !key.contains('drydock.dev/'))", 'annotations of drydock.dev are those of Drydock itself')),
          })
          .optional()
          .describe('On the Maintenance, for whoever does the work.'),
        finished: z.object({ expression: expression('Whether the work on the node has ended.') }),
        timeoutSeconds: z.int32().min(1).default(7200),
      })
      .optional()
      .describe('Somebody else does the work, from the moment that the Maintenance of the node is Drained.'),
    replace: z
      .object({
        strategy: z
          .enum(['Replace', 'ReplaceWithSurge'])
          .default('Replace')
          .describe('ReplaceWithSurge: another machine is Ready before the node is drained.'),
        timeoutSeconds: z.int32().min(1).default(7200).describe('How long it may take until as many machines are Ready as should be.'),
      })
      .optional()
      .describe('The machine of the node is replaced, by a MachineMaintenance. Nodes that come after the run began have no part in it.'),
    none: z.object({}).optional().describe('The node is drained and released.'),
  })
  .meta(
    rules(
      rule(
        '[has(self.job), has(self.reboot), has(self.external), has(self.replace), has(self.none)].filter(one, one).size() == 1',
        'exactly one of job, reboot, external, replace and none is the work',
      ),
    ),
  )
  .describe('What is done on each node while it is held.');

import { hookPlaces, maxAttempts, rehearsalRefusals } from '@drydock/core/plan';
import { z } from 'zod';
import { expression, rule, rules, stageName } from './common.ts';

/** Work of a MaintenancePlan: what is done on each node. */

const container = z
  .object({ name: z.string().min(1).max(63), image: z.string().min(1).max(1024) })
  .meta({ 'x-kubernetes-preserve-unknown-fields': true });

function podSpec(what: string) {
  return z
    .object({ containers: z.array(container).min(1).max(32) })
    .meta({ 'x-kubernetes-preserve-unknown-fields': true })
    .describe(`PodSpec of ${what}. Drydock sets nodeName, restartPolicy and tolerations.`);
}

export const prepare = z
  .object({
    job: z.object({
      podSpec: podSpec('the pod that prepares a node'),
      timeoutSeconds: z.int32().min(1).default(1800),
    }),
    refusalCode: z
      .int32()
      .min(1)
      .max(255)
      .default(3)
      .describe(
        'Exit code that rejects the node: the node is Blocked, and other nodes start instead.',
      ),
  })
  .describe(
    'Prepares the next nodes before they are held, for example by pulling an image or checking a firmware. Does not count towards any limit.',
  );

export const hook = z
  .object({
    name: stageName,
    at: z.enum(hookPlaces).describe('When the hook runs. OnHalt: each time the plan is halted.'),
    job: z.object({
      podSpec: podSpec('the pod of the hook, which runs on any node'),
      timeoutSeconds: z.int32().min(1).default(600),
    }),
    onFailure: z
      .enum(['Pause', 'Continue'])
      .default('Pause')
      .describe(
        'Pause: whatever follows the hook waits until the hook runs again, by spec.retries, and succeeds. Continue: the failure is only reported.',
      ),
  })
  .describe(
    'A pod that runs at a moment of the run. Its environment has DRYDOCK_PLAN, DRYDOCK_RUN, DRYDOCK_HOOK, DRYDOCK_STAGE and DRYDOCK_NODE.',
  );

const job = z
  .object({
    podSpec: podSpec('the pod that does the work'),
    rebootsNode: z
      .boolean()
      .default(false)
      .describe(
        'Whether the work reboots its own node: the pod may die, and only a new boot ID ends the work.',
      ),
    timeoutSeconds: z.int32().min(1).default(1800),
    attempts: z.int32().min(1).max(maxAttempts).default(1),
  })
  .describe('Runs a pod on the node; the pod tolerates every taint.');

export const work = z
  .object({
    job: job.optional(),
    reboot: z
      .object({
        image: z
          .string()
          .min(1)
          .max(1024)
          .optional()
          .describe('Drydock image for the pod. Defaults to the image of the operator.'),
        timeoutSeconds: z
          .int32()
          .min(1)
          .default(900)
          .describe('Seconds within which the node must be Ready again.'),
      })
      .optional()
      .describe('Reboots the node by systemd and waits for the new boot ID.'),
    external: z
      .object({
        annotations: z
          .record(z.string(), z.string().max(1024))
          .meta({
            maxProperties: 32,
            ...rules(
              rule(
                "self.all(key, !key.contains('drydock.dev/'))",
                'annotations of drydock.dev are reserved for Drydock',
              ),
            ),
          })
          .optional()
          .describe(
            'Annotations for the Maintenance of the node, which whoever does the work can read.',
          ),
        finished: z.object({ expression: expression('Whether the work on the node has ended.') }),
        timeoutSeconds: z.int32().min(1).default(7200),
      })
      .optional()
      .describe(
        'Another program or a person does the work once the Maintenance of the node is Drained.',
      ),
    replace: z
      .object({
        strategy: z
          .enum(['Replace', 'ReplaceWithSurge'])
          .default('Replace')
          .describe(
            'Replace: drain the node, then delete its machine. ReplaceWithSurge: wait for an additional machine to be Ready before draining.',
          ),
        timeoutSeconds: z
          .int32()
          .min(1)
          .default(7200)
          .describe('Seconds within which the desired number of machines must be Ready again.'),
      })
      .optional()
      .describe(
        'Replaces the machine of the node, by a MachineMaintenance. Nodes that join after the run began do not take part.',
      ),
    none: z.object({}).optional().describe('Only drains and releases the node.'),
  })
  .meta(
    rules(
      rule(
        '[has(self.job), has(self.reboot), has(self.external), has(self.replace), has(self.none)].filter(one, one).size() == 1',
        'set exactly one of job, reboot, external, replace and none',
      ),
    ),
  )
  .describe('The work on each node while it is held.');

/** Schema of how many nodes of a MaintenancePlan may be in flight, or out of service, at once. */

export function amount(what: string) {
  return z
    .union([z.int(), z.string()])
    .meta({ 'x-kubernetes-int-or-string': true, minimum: 0, pattern: '^(100|[1-9][0-9]?)%$' })
    .describe(`${what} A number, or a percentage of the selected nodes, rounded down, at least 1.`);
}

export const concurrency = z
  .object({
    maxInFlight: amount(
      'Maximum number of nodes of this plan in flight at once; 0 starts none.',
    ).default(1),
    maxUnavailable: amount(
      'Maximum number of selected nodes out of service, whatever the cause: no node starts beyond it.',
    ).optional(),
    maxUnavailableAbsolute: z
      .int32()
      .min(1)
      .optional()
      .describe('Absolute cap on maxUnavailable: the lower of the two applies.'),
    perTopology: z
      .array(
        z.object({
          key: z
            .string()
            .min(1)
            .max(317)
            .describe('A node label, for example topology.kubernetes.io/zone.'),
          maxUnavailable: z
            .int32()
            .min(1)
            .optional()
            .describe('Maximum number of nodes out of service per value of the label.'),
          maxDomains: z
            .int32()
            .min(1)
            .optional()
            .describe('Maximum number of label values with nodes in flight at once.'),
        }),
      )
      .max(8)
      .optional(),
    foreignCordon: z
      .enum(['Wait', 'TakeFirst', 'Skip'])
      .default('Wait')
      .describe(
        'Nodes that somebody else has cordoned. Wait: start them once they are uncordoned. TakeFirst: start them first. Skip: leave them out.',
      ),
    startsPerWindow: z
      .int32()
      .min(1)
      .optional()
      .describe(
        'Maximum number of nodes of a run that start in one opening of the windows. Does not limit nodes to which no window applies.',
      ),
    ramp: z
      .object({ start: z.int32().min(1).default(1), factor: z.int32().min(1).max(10).default(2) })
      .optional()
      .describe(
        'Limits the nodes in flight to start at first. After that many successes the limit is multiplied by factor; a failure resets it to start.',
      ),
  })
  .describe('Limits how many nodes are in flight or out of service at once.');

/** Schema of when a MaintenancePlan is rehearsed, and what follows from it. */
export const rehearse = z
  .object({
    before: z
      .enum(['Required', 'NotRequired'])
      .default('Required')
      .describe('Required: no node starts before the current plan has been rehearsed.'),
    everySeconds: z
      .int32()
      .min(60)
      .optional()
      .describe('Interval of further rehearsals during the run, in seconds. Defaults to none.'),
    refuse: z
      .array(z.enum(rehearsalRefusals))
      .max(rehearsalRefusals.length)
      .optional()
      .describe(
        'Forecasts that keep the run from its first node. MissesDeadline: the run ends after pace.deadline. BlockedNodes: nodes get stuck. Unfinished: not all nodes are done at the end.',
      ),
    timeoutSeconds: z
      .int32()
      .min(30)
      .max(86_400)
      .default(900)
      .describe('Time limit of one rehearsal, in seconds, including the start of its pod.'),
    image: z
      .string()
      .min(1)
      .max(1024)
      .optional()
      .describe(
        'Drydock image for the pod of the rehearsal. Defaults to the image of the operator.',
      ),
    workSeconds: z
      .int32()
      .min(0)
      .optional()
      .describe(
        'Duration of the work on one node, in seconds. Defaults to the durations recorded by earlier runs.',
      ),
    rebootSeconds: z
      .int32()
      .min(0)
      .optional()
      .describe(
        'Duration of a reboot, in seconds. Defaults to the durations recorded by earlier runs.',
      ),
  })
  .describe(
    'Simulates the plan on a copy of the cluster, in a pod that only reads; status.forecast has the result.',
  );

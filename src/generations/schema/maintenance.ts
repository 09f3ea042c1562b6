import { z } from 'zod';
import { conditions, labelSelector, objectName, rule, rules, time } from './common.ts';

/** drydock.dev/v1alpha1 Maintenance: the source of its CRD, of the types of its reader and of its reference. */

const pick = z
  .object({
    podSelector: labelSelector.optional(),
    namespaces: z.array(z.string().min(1).max(63)).max(64).optional().describe('Only pods of these namespaces.'),
    maxPriority: z.int32().optional().describe('Only pods whose priority value is at most this.'),
    ownerKinds: z
      .array(z.string().min(1).max(63))
      .max(16)
      .optional()
      .describe('Only pods whose controller is of one of these kinds, for example Job.'),
  })
  .describe('Picks pods. All that is given must fit; an empty one picks every pod.');

const rung = z
  .object({
    afterSeconds: z.int32().min(0).describe('Counted from the start of the drain.'),
    action: z
      .enum(['KeepTrying', 'Delete', 'Fail', 'Release'])
      .describe(
        'KeepTrying: go on evicting. Delete: delete what is left, past its budgets. Fail: stop evicting and keep the node held. Release: stop and give the node back.',
      ),
    gracePeriodSeconds: z
      .int32()
      .min(1)
      .optional()
      .describe("For Delete: grace period of the deleted pods, in seconds. The pod's own when left out."),
  })
  .meta(rules(rule("self.action == 'Delete' || !has(self.gracePeriodSeconds)", 'gracePeriodSeconds goes with action Delete only')));

export const drain = z
  .object({
    podSelector: labelSelector.optional().describe("Only these pods are the drain's business; all when left out."),
    gracePeriodSeconds: z.int32().min(-1).default(-1).describe("Seconds that each pod gets to end; -1 is the pod's own."),
    maxGracePeriodSeconds: z
      .int32()
      .min(1)
      .optional()
      .describe('No pod gets longer than this to end, whatever it asks for; for machines that are about to vanish.'),
    deleteEmptyDirData: z.boolean().default(false).describe('Evict pods with emptyDir volumes too: their data is lost.'),
    force: z.boolean().default(false).describe('Evict pods too that no controller will bring back.'),
    ignoreDaemonSets: z.boolean().default(true).describe('Leave DaemonSet pods where they are. false: such pods are refused.'),
    disableEviction: z.boolean().default(false).describe('Delete pods instead of evicting them: budgets are not asked.'),
    skipWaitForDeleteTimeoutSeconds: z
      .int32()
      .min(0)
      .default(0)
      .describe('Do not wait for pods that have been terminating for longer than this many seconds; 0 waits for ever.'),
    timeoutSeconds: z
      .int32()
      .min(0)
      .default(0)
      .describe('Give up after this many seconds and keep the node held; 0 never. A ladder with the one rung Fail.'),
    waves: z
      .array(pick)
      .max(32)
      .optional()
      .describe(
        'Pods of the first entry that picks them go first; an entry starts when the one before is empty. Pods that none picks come last.',
      ),
    ignorePods: z.array(pick).max(32).optional().describe('Pods that stay where they are.'),
    awaitPods: z.array(pick).max(32).optional().describe('Pods that are left to finish by themselves.'),
    ladder: z.array(rung).max(8).optional().describe('What happens when the drain takes too long, each rung at its time.'),
    waitForVolumeDetach: z.boolean().default(true).describe('Drained means also: no volume of a pod that left is attached any more.'),
  })
  .meta(
    rules(
      rule(
        '!has(self.timeoutSeconds) || self.timeoutSeconds == 0 || !has(self.ladder) || self.ladder.size() == 0',
        'timeoutSeconds is a ladder with one rung: give one of the two',
      ),
    ),
  )
  .describe("How the node is emptied. The names are kubectl drain's where it has the same choice.");

const start = z
  .object({
    notBefore: time.optional().describe('The node is not touched before this.'),
    deadline: time.optional().describe('The maintenance should be under way and done by then: see missed of the MaintenanceWindows.'),
    windows: z
      .enum(['Respect', 'Ignore'])
      .default('Respect')
      .describe('Respect: begins when the MaintenanceWindows for its node allow it; at once where there is none.'),
    expectedSeconds: z.int32().min(1).optional().describe('How long it will take; what has been seen so far when left out.'),
  })
  .describe('When it begins.');

export const maintenanceSpec = z
  .object({
    nodeName: objectName
      .describe('The node to take out of service.')
      .meta(rules(rule('self == oldSelf', 'nodeName cannot be changed: create another Maintenance'))),
    reason: z.string().max(1024).optional().describe('Why, for people.'),
    requester: z.string().max(253).optional().describe('Who asks, as a domain-prefixed name, for example firmware.example.com/updater.'),
    stage: z
      .enum(['Announce', 'Cordon', 'Drain'])
      .default('Drain')
      .describe('How far to go. Announce: say so on the node, touch nothing. Cordon: keep new pods away. Drain: empty the node.'),
    start: start.optional(),
    drain: drain.optional(),
  })
  .describe('One node that is to be out of service for as long as this object exists.');

const blocker = z.object({
  cause: z
    .string()
    .describe('Why, as a word: DisruptionBudget, BudgetNeverAllows, MultipleBudgets, StuckTerminating, LocalData, Unmanaged and others.'),
  pod: z.object({ namespace: z.string(), name: z.string() }).optional(),
  budgets: z.array(z.string()).optional().describe('namespace/name of the budgets.'),
  volume: z.string().optional(),
  message: z.string(),
  remedy: z.string().optional().describe('What would help.'),
  since: time,
});

export const maintenanceStatus = z
  .object({
    phase: z.enum(['Pending', 'Announced', 'Cordoned', 'Draining', 'Detaching', 'Drained', 'Failed', 'Releasing']).optional(),
    message: z.string().optional().describe('The state in a sentence.'),
    observedGeneration: z.int().optional(),
    scheduledTime: time.optional().describe('When it will begin, if it waits for that.'),
    startTime: time.optional().describe('When the drain began.'),
    completionTime: time.optional().describe('When the node was drained for the first time.'),
    estimatedCompletionTime: time.optional().describe('When it will be, at the rate seen so far.'),
    pods: z
      .object({
        total: z.int().describe('On the node, those that may stay included.'),
        toEvict: z.int().describe('That had to leave since the beginning.'),
        gone: z.int().describe('That have left.'),
        waiting: z.int().describe('That still have to leave.'),
      })
      .optional(),
    progress: z.int().optional().describe('Percent of the pods that have left.'),
    blockers: z
      .array(blocker)
      .max(20)
      .optional()
      .describe('What keeps the drain from being complete, the ones that need help first; 20 at most.'),
    blockerCount: z.int().optional().describe('How many there are.'),
    failure: z.enum(['NodeNotFound', 'LeaseLost', 'DeadlineExceeded', 'GivenBack']).optional(),
    leaseErrors: z.int().optional().describe('How often in a row the node lease was found in other hands.'),
    conditions,
  })
  .describe('Written by Drydock.');

export type MaintenanceSpec = z.input<typeof maintenanceSpec>;
export type MaintenanceStatus = z.input<typeof maintenanceStatus>;

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

const virtualMachines = z
  .object({
    notMigratable: z
      .enum(['Wait', 'ShutDown', 'Refuse'])
      .default('Wait')
      .describe(
        'VMs that are to be migrated and cannot be. Wait: until they can, or somebody helps. ShutDown: their guests are shut down shutDownAfterSeconds after the drain began. Refuse: nothing on the node is moved.',
      ),
    notMigrated: z
      .enum(['Evict', 'Wait', 'Refuse'])
      .default('Evict')
      .describe(
        'VMs that an eviction shuts down, because their evictionStrategy says so (None is the default of KubeVirt). Evict: as it says. Wait: not before somebody moves them. Refuse: nothing on the node is moved.',
      ),
    shutDownAfterSeconds: z.int32().min(0).default(0).describe('For ShutDown: counted from the start of the drain.'),
    shutDownGracePeriodSeconds: z
      .int32()
      .min(1)
      .optional()
      .describe("For ShutDown: seconds that a guest gets to shut down. The VM's own when left out."),
  })
  .meta(
    rules(
      rule(
        "self.notMigratable == 'ShutDown' || !has(self.shutDownGracePeriodSeconds)",
        'shutDownGracePeriodSeconds goes with notMigratable ShutDown only',
      ),
    ),
  )
  .describe("What is done about KubeVirt's VMs that an eviction does not move to another node.");

const servers = z
  .object({
    active: z.enum(['LiveMigrate', 'Leave']).default('LiveMigrate').describe('Active ones.'),
    paused: z.enum(['LiveMigrate', 'Leave']).default('LiveMigrate').describe('Paused ones; they stay paused.'),
    stopped: z.enum(['ColdMigrate', 'Leave']).default('ColdMigrate').describe('Shut off ones; they stay shut off.'),
    failed: z
      .enum(['Wait', 'Leave'])
      .default('Wait')
      .describe('Those in error, which Nova does not move. Wait: until somebody has mended or deleted them.'),
    localDisk: z.enum(['Migrate', 'Leave']).default('Migrate').describe('Those with disks on the host itself: Nova copies them.'),
  })
  .describe('What is done about the servers of the OpenStack hypervisor that the node is. Leave: they stay, and are not waited for.');

export const drain = z
  .object({
    podSelector: labelSelector.optional().describe("Only these pods are the drain's business; all when left out."),
    gracePeriodSeconds: z
      .int32()
      .min(-1)
      .default(-1)
      .describe("Seconds that each pod gets to end; -1 is the pod's own. Not 0: such a pod is gone while its containers still run.")
      .meta(
        rules(
          rule('self != 0', 'gracePeriodSeconds is not 0, which forgets pods while their containers still run: it is 1 or more, or -1'),
        ),
      ),
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
    virtualMachines: virtualMachines.optional(),
    servers: servers.optional(),
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
  server: z.object({ id: z.string(), name: z.string() }).optional().describe('Of OpenStack.'),
  message: z.string(),
  remedy: z.string().optional().describe('What would help.'),
  since: time,
});

const vm = z.object({
  platform: z.enum(['KubeVirt', 'OpenStack']),
  id: z.string().describe('uid of the VirtualMachineInstance, UUID of the server.'),
  name: z.string().describe('namespace/name of the VirtualMachineInstance, name of the server.'),
  state: z.enum(['Waiting', 'Migrating', 'Moved', 'Stopped', 'Cannot', 'Left']),
  message: z.string().optional(),
  remedy: z.string().optional().describe('What would help.'),
  progress: z.int().optional().describe('Percent, where the platform tells it.'),
  target: z.string().optional().describe('Where it goes, or went.'),
  since: time.optional(),
});

const vms = z.object({
  total: z.int(),
  waiting: z.int(),
  migrating: z.int(),
  moved: z.int(),
  stopped: z.int().describe('Shut down; whoever runs them may have started them elsewhere.'),
  cannot: z.int().describe('That cannot move unless somebody helps.'),
  left: z.int().describe('That stay, as the policy says.'),
  items: z.array(vm).max(20).optional().describe('Those that need help first, those that have moved last; 20 at most.'),
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
    virtualMachines: vms.optional().describe('The VMs that were to leave; missing where there was none.'),
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

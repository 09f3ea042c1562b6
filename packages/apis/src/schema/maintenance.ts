import { z } from 'zod';
import { conditions, labelSelector, objectName, rule, rules, time } from './common.ts';

/**
 * drydock.dev/v1alpha1 Maintenance: the source of its CRD, of the types of its reader and of its
 * reference.
 */

const pick = z
  .object({
    podSelector: labelSelector.optional(),
    namespaces: z
      .array(z.string().min(1).max(63))
      .max(64)
      .optional()
      .describe('Only pods of these namespaces.'),
    maxPriority: z.int32().optional().describe('Only pods whose priority value is at most this.'),
    ownerKinds: z
      .array(z.string().min(1).max(63))
      .max(16)
      .optional()
      .describe('Only pods whose controller is of one of these kinds, for example Job.'),
  })
  .describe('Selects pods. All given fields must match; an empty selector selects every pod.');

const rung = z
  .object({
    afterSeconds: z.int32().min(0).describe('Seconds after the start of the drain.'),
    action: z
      .enum(['KeepTrying', 'Delete', 'Fail', 'Release'])
      .describe(
        'KeepTrying: continue evicting. Delete: delete the remaining pods, bypassing budgets. Fail: stop evicting and keep the node held. Release: stop evicting and release the node.',
      ),
    gracePeriodSeconds: z
      .int32()
      .min(1)
      .optional()
      .describe(
        "For Delete: grace period of the deleted pods, in seconds. Defaults to the pod's own.",
      ),
  })
  .meta(
    rules(
      rule(
        "self.action == 'Delete' || !has(self.gracePeriodSeconds)",
        'gracePeriodSeconds is only valid with action Delete',
      ),
    ),
  );

const virtualMachines = z
  .object({
    notMigratable: z
      .enum(['Wait', 'ShutDown', 'Refuse'])
      .default('Wait')
      .describe(
        'VMs that must be migrated and cannot be. Wait: until they can, or somebody helps. ShutDown: their guests are shut down shutDownAfterSeconds after the drain began. Refuse: do not drain the node.',
      ),
    notMigrated: z
      .enum(['Evict', 'Wait', 'Refuse'])
      .default('Evict')
      .describe(
        'VMs that an eviction shuts down, because of their evictionStrategy (None is the default of KubeVirt). Evict: evict them. Wait: until somebody moves them. Refuse: do not drain the node.',
      ),
    shutDownAfterSeconds: z
      .int32()
      .min(0)
      .default(0)
      .describe('For ShutDown: seconds after the start of the drain.'),
    shutDownGracePeriodSeconds: z
      .int32()
      .min(1)
      .optional()
      .describe(
        "For ShutDown: seconds that a guest may take to shut down. Defaults to the VM's own.",
      ),
  })
  .meta(
    rules(
      rule(
        "self.notMigratable == 'ShutDown' || !has(self.shutDownGracePeriodSeconds)",
        'shutDownGracePeriodSeconds is only valid with notMigratable ShutDown',
      ),
    ),
  )
  .describe('The policy for KubeVirt VMs that an eviction does not move to another node.');

const servers = z
  .object({
    active: z.enum(['LiveMigrate', 'Leave']).default('LiveMigrate').describe('Active servers.'),
    paused: z
      .enum(['LiveMigrate', 'Leave'])
      .default('LiveMigrate')
      .describe('Paused servers; they stay paused.'),
    stopped: z
      .enum(['ColdMigrate', 'Leave'])
      .default('ColdMigrate')
      .describe('Shut off servers; they stay shut off.'),
    failed: z
      .enum(['Wait', 'Leave'])
      .default('Wait')
      .describe(
        'Servers in error, which Nova does not move. Wait: until somebody has repaired or deleted them.',
      ),
    localDisk: z
      .enum(['Migrate', 'Leave'])
      .default('Migrate')
      .describe('Servers with disks on the host itself: Nova copies the disks.'),
  })
  .describe(
    "The policy for the servers of the node's OpenStack hypervisor. Leave: the servers stay, and the drain does not wait for them.",
  );

export const drain = z
  .object({
    podSelector: labelSelector.optional().describe('Drain only these pods. Defaults to all pods.'),
    gracePeriodSeconds: z
      .int32()
      .min(-1)
      .default(-1)
      .describe(
        "Grace period of each pod, in seconds; -1 uses the pod's own. 0 is invalid: such a pod is gone while its containers still run.",
      )
      .meta(
        rules(
          rule(
            'self != 0',
            'gracePeriodSeconds must be -1 or at least 1: 0 removes pods while their containers still run',
          ),
        ),
      ),
    maxGracePeriodSeconds: z
      .int32()
      .min(1)
      .optional()
      .describe(
        'Upper limit of all grace periods, in seconds; for machines that are about to vanish.',
      ),
    deleteEmptyDirData: z
      .boolean()
      .default(false)
      .describe('Evict pods with emptyDir volumes; their data is lost.'),
    force: z.boolean().default(false).describe('Evict pods that no controller recreates.'),
    ignoreDaemonSets: z
      .boolean()
      .default(true)
      .describe('Leave DaemonSet pods on the node. false: such pods block the drain.'),
    disableEviction: z
      .boolean()
      .default(false)
      .describe('Delete pods instead of evicting them: bypasses budgets.'),
    skipWaitForDeleteTimeoutSeconds: z
      .int32()
      .min(0)
      .default(0)
      .describe(
        'Do not wait for pods whose deletionTimestamp, which is the end of their grace period, is more than this many seconds ago; 0 waits forever.',
      ),
    timeoutSeconds: z
      .int32()
      .min(0)
      .default(0)
      .describe(
        'Stop draining after this many seconds and keep the node held (0: no limit). The same as a ladder with the one rung Fail.',
      ),
    waves: z
      .array(pick)
      .max(32)
      .optional()
      .describe(
        'Waves of evictions. A pod belongs to the first entry that selects it; an entry starts when the one before is empty. Pods that no entry selects come last.',
      ),
    ignorePods: z.array(pick).max(32).optional().describe('Pods that stay on the node.'),
    awaitPods: z
      .array(pick)
      .max(32)
      .optional()
      .describe('Pods that the drain leaves to finish by themselves.'),
    ladder: z
      .array(rung)
      .max(8)
      .optional()
      .describe('Escalates a drain that takes too long, one rung after the other.'),
    waitForVolumeDetach: z
      .boolean()
      .default(true)
      .describe('Drained also requires that no volume of an evicted pod is attached any more.'),
    virtualMachines: virtualMachines.optional(),
    servers: servers.optional(),
  })
  .meta(
    rules(
      rule(
        '!has(self.timeoutSeconds) || self.timeoutSeconds == 0 || !has(self.ladder) || self.ladder.size() == 0',
        'timeoutSeconds and ladder exclude each other: timeoutSeconds is a ladder with one rung',
      ),
    ),
  )
  .describe('How to drain the node. Options of kubectl drain keep their names.');

const start = z
  .object({
    notBefore: time.optional().describe('Do not touch the node before this time.'),
    deadline: time
      .optional()
      .describe(
        'The time by which the maintenance should be complete: see missed of the MaintenanceWindows.',
      ),
    windows: z
      .enum(['Respect', 'Ignore'])
      .default('Respect')
      .describe(
        'Respect: begin when the MaintenanceWindows for the node allow it; at once where there is none.',
      ),
    expectedSeconds: z
      .int32()
      .min(1)
      .optional()
      .describe('Expected duration in seconds. Defaults to the observed durations.'),
  })
  .describe('When the maintenance begins.');

export const maintenanceSpec = z
  .object({
    nodeName: objectName
      .describe('The node to take out of service.')
      .meta(
        rules(rule('self == oldSelf', 'nodeName cannot be changed: create another Maintenance')),
      ),
    reason: z.string().max(1024).optional().describe('Reason for the maintenance, for people.'),
    requester: z
      .string()
      .max(253)
      .optional()
      .describe(
        'The requester as a domain-prefixed name, for example firmware.example.com/updater.',
      ),
    level: z
      .enum(['Announce', 'Cordon', 'Drain'])
      .default('Drain')
      .describe(
        'How far to go. Announce: report on the node, change nothing else. Cordon: keep new pods away. Drain: evict the pods.',
      ),
    start: start.optional(),
    drain: drain.optional(),
  })
  .describe('Keeps one node out of service for as long as this object exists.');

const blocker = z.object({
  reason: z
    .string()
    .describe(
      'Reason: DisruptionBudget, BudgetNeverAllows, MultipleBudgets, StuckTerminating, NodeNotReady, LocalData, Unmanaged and others.',
    ),
  pod: z.object({ namespace: z.string(), name: z.string() }).optional(),
  budgets: z.array(z.string()).optional().describe('The budgets, as namespace/name.'),
  volume: z.string().optional(),
  server: z
    .object({ id: z.string(), name: z.string() })
    .optional()
    .describe('The server of OpenStack.'),
  message: z.string(),
  remedy: z.string().optional().describe('How to fix it.'),
  startTime: time,
});

const vm = z.object({
  platform: z.enum(['KubeVirt', 'OpenStack']),
  id: z.string().describe('uid of the VirtualMachineInstance, UUID of the server.'),
  name: z.string().describe('namespace/name of the VirtualMachineInstance, name of the server.'),
  state: z.enum(['Waiting', 'Migrating', 'Moved', 'Stopped', 'Cannot', 'Left']),
  message: z.string().optional(),
  remedy: z.string().optional().describe('How to fix it.'),
  progress: z.int().optional().describe('Percent, where the platform reports it.'),
  target: z.string().optional().describe('The destination.'),
  startTime: time.optional(),
});

const vms = z.object({
  total: z.int(),
  waiting: z.int(),
  migrating: z.int(),
  moved: z.int(),
  stopped: z
    .int()
    .describe('VMs that were shut down; their controllers may have started them elsewhere.'),
  cannot: z.int().describe('VMs that cannot move without help.'),
  left: z.int().describe('VMs that stay, as the policy demands.'),
  items: z
    .array(vm)
    .max(20)
    .optional()
    .describe('The VMs: those that need help first, those that have moved last; at most 20.'),
});

export const maintenanceStatus = z
  .object({
    phase: z
      .enum([
        'Pending',
        'Announced',
        'Cordoned',
        'Draining',
        'Detaching',
        'Drained',
        'Failed',
        'Releasing',
      ])
      .optional(),
    message: z.string().optional().describe('The state in a sentence.'),
    observedGeneration: z.int().optional(),
    scheduledTime: time
      .optional()
      .describe('When the maintenance will begin, if it waits for a start.'),
    startTime: time.optional().describe('When the drain began.'),
    completionTime: time.optional().describe('When the node was drained for the first time.'),
    estimatedCompletionTime: time
      .optional()
      .describe('When the node will be drained, at the observed rate.'),
    pods: z
      .object({
        total: z.int().describe('Pods on the node, including those that may stay.'),
        toEvict: z.int().describe('Pods to evict since the beginning.'),
        gone: z.int().describe('Pods that have left.'),
        waiting: z.int().describe('Pods still to evict.'),
      })
      .optional(),
    virtualMachines: vms.optional().describe('The VMs to move; absent when there are none.'),
    progress: z.int().optional().describe('Percent of the pods that have left.'),
    blockers: z
      .array(blocker)
      .max(20)
      .optional()
      .describe(
        'What keeps the drain from completing: one blocker of each reason, then the others; in both those that need help first; at most 20.',
      ),
    blockerCount: z.int().optional().describe('Number of blockers.'),
    blockerReasons: z
      .array(
        z.object({
          reason: z.string().describe('Why they cannot go.'),
          count: z.int().describe('Number of blockers with this reason.'),
        }),
      )
      .max(50)
      .optional()
      .describe(
        'Every reason that keeps the drain from completing, those that need help first, also of blockers that are not listed.',
      ),
    failure: z.enum(['NodeNotFound', 'LeaseLost', 'DeadlineExceeded', 'Released']).optional(),
    leaseErrors: z
      .int()
      .optional()
      .describe('Number of consecutive attempts at which another holder had the node lease.'),
    conditions,
  })
  .describe('Written by Drydock.');

export type MaintenanceSpec = z.input<typeof maintenanceSpec>;
export type MaintenanceStatus = z.input<typeof maintenanceStatus>;

import { eventKinds } from '@drydock/core';
import {
  eventStates,
  machinePhases,
  presetNames,
  strategies,
  troubleReasons,
} from '@drydock/core/machine';
import { z } from 'zod';
import { conditions, objectName, rule, rules, time, withoutDefaults } from './common.ts';
import { drain } from './maintenance.ts';

/**
 * machinemaintenance.managed.openshift.io/v1alpha1 MachineMaintenance: the seed's five fields, and
 * the fields that were added to them.
 */

const machineEvent = z
  .object({
    provider: z
      .string()
      .min(1)
      .max(1024)
      .describe("The announcing party: aws, azure, gcp, node, or the sender's own name."),
    id: z.string().min(1).max(1024),
    kind: z.enum(eventKinds),
    code: z
      .string()
      .max(1024)
      .optional()
      .describe("The provider's own code, for example instance-stop."),
    instance: z.string().max(1024).optional().describe("The machine's name in its cloud."),
    resource: z.string().max(2048).optional(),
    notBefore: time.optional(),
    notAfter: time.optional(),
    deadline: time.optional().describe('The time by which the machine must be empty.'),
    state: z.enum(eventStates),
    occurrence: z
      .int32()
      .min(2)
      .optional()
      .describe(
        'Which time it is that this id is announced, where it was over before. Counted by Drydock.',
      ),
    announcedTime: time
      .optional()
      .describe(
        "When the sender wrote it, by the sender's clock: of two reports by one sender the later counts, in whatever order they arrive.",
      ),
    description: z.string().max(4096).optional(),
    source: z
      .string()
      .min(1)
      .max(253)
      .describe('The MachineEventSource or the agent that reported the event.'),
  })
  .describe('Announcements about a machine.');

export const machineMaintenanceSpec = z
  .object({
    maintenancescheduled: z
      .boolean()
      .describe(
        'Whether the deletion of the machine has been issued or is about to be. Written by Drydock; false in a new object.',
      ),
    eventcode: z.string().optional().describe('AWS event code of the first event.'),
    eventid: z.string().optional().describe('AWS InstanceEventId of the first event.'),
    machineid: z
      .string()
      .describe("The machine's name in its cloud, for example an EC2 instance id."),
    machinelink: z.string().describe('Name of the Machine; name of the node where there is none.'),
    machineRef: z
      .object({
        apiVersion: z.string().max(253).optional(),
        kind: z
          .enum(['Machine', 'Node'])
          .describe('Node: there is no Machine; drain the node only.'),
        namespace: z.string().max(63).optional(),
        name: objectName,
      })
      .optional()
      .describe(
        'The full reference of the machine in machinelink. Defaults to a Machine of that name in any namespace.',
      ),
    nodeName: objectName.optional().describe('The node, where the Machine does not name it.'),
    events: z
      .array(machineEvent)
      .max(32)
      .optional()
      .describe('The announcements. Their reporter keeps them up to date.'),
    strategy: z
      .enum(strategies)
      .optional()
      .describe(
        'Drain: hold and drain the node, wait until the event is over, release it. Replace: drain, then delete the Machine. ReplaceWithSurge: add another machine first. Notify: take no action. Defaults to the strategy for the kinds of the events.',
      ),
    notBefore: time.optional().describe('The maintenance does not begin before this time.'),
    deadline: time
      .optional()
      .describe('The time by which the machine must be empty. Defaults to that of the events.'),
    approval: z
      .enum(['NotRequired', 'Required'])
      .optional()
      .describe('Required: the maintenance does not begin before approved is true.'),
    approved: z
      .boolean()
      .optional()
      .describe(
        'Approves the maintenance. The annotation drydock.dev/approved: "true" has the same effect.',
      ),
    gates: z
      .array(z.string().min(1).max(316))
      .max(16)
      .optional()
      .describe(
        'Node conditions, in addition to Ready, that must be True before a drained node is released.',
      ),
    drain: withoutDefaults(drain)
      .optional()
      .describe(
        'How to drain the node: as in a Maintenance, but deleteEmptyDirData and force default to true.',
      ),
    keepSeconds: z
      .int32()
      .min(0)
      .optional()
      .describe('How long the object is kept after its end, in seconds. Defaults to 259200.'),
  })
  .describe('A machine that its cloud will restart, stop or take away.');

const record = z.object({ time, phase: z.string(), reason: z.string(), message: z.string() });

export const machineMaintenanceStatus = z
  .object({
    phase: z.enum(machinePhases).optional(),
    waitingFor: z
      .string()
      .optional()
      .describe(
        'What the maintenance waits for: MaintenanceWindow, Approval, Turn, Drain, Replacement, MachineDeletion, EventPending and others.',
      ),
    message: z.string().optional().describe('The state in a sentence.'),
    observedGeneration: z.int().optional(),
    strategy: z
      .enum(strategies)
      .optional()
      .describe('The strategy in force since the maintenance began.'),
    scheduledTime: time.optional().describe('When the maintenance will begin.'),
    deadline: time.optional(),
    startTime: time.optional(),
    drainedTime: time.optional(),
    eventsEndTime: time.optional().describe('When its events were first seen to be over.'),
    completionTime: time.optional(),
    beganForDeadline: z
      .boolean()
      .optional()
      .describe(
        'Whether the maintenance began outside of an opening because its deadline left no time.',
      ),
    maintenanceName: z.string().optional().describe('The Maintenance that drains the node.'),
    nodeName: z.string().optional(),
    bootID: z.string().optional().describe('Boot ID of the node when the maintenance began.'),
    machineUID: z
      .string()
      .optional()
      .describe(
        'uid of the Machine when the maintenance began: a successor of its name is another one.',
      ),
    set: z.string().optional().describe('The set that replaces the machine.'),
    handledEvents: z
      .array(z.string())
      .optional()
      .describe(
        'The events that this maintenance has handled: provider, id and, from the second on, which occurrence of that id.',
      ),
    history: z.array(record).max(30).optional().describe('The latest transitions, oldest first.'),
    conditions,
  })
  .describe('Written by Drydock.');

export type MachineMaintenanceSpec = z.input<typeof machineMaintenanceSpec>;
export type MachineMaintenanceStatus = z.input<typeof machineMaintenanceStatus>;
export type RawMachineEvent = z.input<typeof machineEvent>;

/** drydock.dev/v1alpha1 MachineEventSource and NodeNotice: the sources of announcements. */

const aws = z
  .object({
    region: z
      .string()
      .max(64)
      .optional()
      .describe(
        "AWS region. Defaults to the region in the machines' provider ids, else to that of OpenShift's Infrastructure or install configuration.",
      ),
    credentialsSecret: z
      .object({ namespace: z.string().min(1).max(63), name: z.string().min(1).max(253) })
      .optional()
      .describe(
        "Secret with the keys aws_access_key_id and aws_secret_access_key. Defaults to drydock-cloud-credentials in the operator's namespace, if it exists, else the SDK's credential chain (environment, web identity, instance role).",
      ),
    endpoint: z
      .string()
      .max(2048)
      .optional()
      .describe(
        "EC2 endpoint for private clouds: one of Amazon's over https, or one that the operator's flag --allowed-aws-endpoint allows.",
      ),
    intervalSeconds: z
      .int32()
      .min(60)
      .max(86_400)
      .default(3600)
      .describe('Interval between two scans, in seconds; shorter near a deadline.'),
  })
  .describe('Polls the scheduled events of EC2.');

const signal = z
  .object({
    condition: z
      .object({
        type: z.string().min(1).max(316),
        status: z.enum(['True', 'False', 'Unknown']).default('True'),
        messageContains: z
          .string()
          .max(1024)
          .optional()
          .describe(
            "What the condition's message contains, in any case of letters: for conditions that stand for several things.",
          ),
      })
      .optional(),
    taint: z
      .object({
        key: z.string().min(1).max(316),
        value: z.string().max(63).optional(),
        effect: z.string().max(32).optional(),
      })
      .optional(),
    label: z
      .object({ key: z.string().min(1).max(316), value: z.string().max(63).optional() })
      .optional(),
    annotation: z
      .object({ key: z.string().min(1).max(316), value: z.string().max(1024).optional() })
      .optional(),
    kind: z.enum(eventKinds).describe('The meaning of the signal.'),
    description: z.string().max(1024).optional(),
    state: z
      .enum(['Scheduled', 'Active'])
      .optional()
      .describe('Defaults to Scheduled where a time is known, else to Active.'),
    notBeforeAnnotation: z
      .string()
      .max(316)
      .optional()
      .describe('Annotation of the node with an RFC 3339 time: the start of the event.'),
    deadlineAnnotation: z
      .string()
      .max(316)
      .optional()
      .describe(
        'Annotation of the node with an RFC 3339 time: the time by which the machine must be empty.',
      ),
    notBeforeLabel: z
      .string()
      .max(316)
      .optional()
      .describe('Label of the node with seconds since 1970: the start of the event.'),
    notBeforeInMessage: z
      .boolean()
      .optional()
      .describe("The condition's message contains the time in HTTP's format."),
  })
  .meta(
    rules(
      rule(
        '(has(self.condition) ? 1 : 0) + (has(self.taint) ? 1 : 0) + (has(self.label) ? 1 : 0) + (has(self.annotation) ? 1 : 0) == 1',
        'set exactly one of condition, taint, label and annotation',
      ),
    ),
  );

const override = z
  .object({
    kinds: z.array(z.enum(eventKinds)).min(1).max(9),
    strategy: z.enum(strategies).optional(),
    approval: z.enum(['NotRequired', 'Required']).optional(),
  })
  .describe('The response to events of these kinds.');

export const machineEventSourceSpec = z
  .object({
    aws: aws.optional(),
    signals: z
      .array(signal)
      .max(64)
      .optional()
      .describe(
        'Conditions, labels, annotations and taints of a node that count as announcements.',
      ),
    presets: z
      .array(z.enum(presetNames))
      .max(16)
      .optional()
      .describe('Predefined signals by name: see docs/machine-events.md.'),
    responses: z.array(override).max(16).optional(),
    urgency: z
      .enum(['Heeded', 'Ignored'])
      .default('Heeded')
      .describe(
        'For aws: Heeded: approval, windows and limits do not delay a machine that will be gone within ten minutes. Ignored: such a machine waits like any other. Signals of nodes are never urgent.',
      ),
    drain: withoutDefaults(drain)
      .optional()
      .describe('spec.drain of the MachineMaintenances that this source creates.'),
    gates: z
      .array(z.string().min(1).max(316))
      .max(16)
      .optional()
      .describe('spec.gates of the MachineMaintenances that this source creates.'),
  })
  .meta(
    rules(
      rule(
        'has(self.aws) || has(self.signals) || has(self.presets)',
        'set at least one of aws, signals and presets',
      ),
    ),
  )
  .describe('Where announcements about machines come from.');

export const machineEventSourceStatus = z
  .object({
    observedGeneration: z.int().optional(),
    lastScanTime: time.optional(),
    nextScanTime: time.optional(),
    machines: z.int().optional().describe('Number of machines whose events the source reads.'),
    events: z.int().optional().describe('Number of pending events.'),
    unknownMachines: z
      .array(z.string())
      .max(20)
      .optional()
      .describe('Instances that the cloud does not know; at most 20.'),
    withoutProviderID: z
      .array(z.string())
      .max(20)
      .optional()
      .describe('Machines (namespace/name) without a provider id; at most 20.'),
    trouble: z.enum(troubleReasons).optional(),
    conditions,
  })
  .describe('Written by Drydock.');

export type MachineEventSourceSpec = z.input<typeof machineEventSourceSpec>;
export type MachineEventSourceStatus = z.input<typeof machineEventSourceStatus>;

export const nodeNoticeSpec = z
  .object({
    provider: z.enum(['aws', 'azure', 'gcp']),
    instance: z.string().min(1).max(253).describe("The machine's name in its cloud."),
    observedTime: time.describe('When the agent last saw a change.'),
    events: z.array(machineEvent).max(32),
    trouble: z.object({ reason: z.enum(troubleReasons), message: z.string().max(1024) }).optional(),
  })
  .describe(
    "The announcements that the agent of a node received from its cloud's metadata service. The object has the name of the node.",
  );

export type NodeNoticeSpec = z.input<typeof nodeNoticeSpec>;

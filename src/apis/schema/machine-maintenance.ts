import { z } from 'zod';
import { eventKinds, eventStates } from '../../core/machine/event.ts';
import { machinePhases, strategies } from '../../core/machine/request.ts';
import { conditions, objectName, time, withoutDefaults } from './common.ts';
import { drain } from './maintenance.ts';

/** machinemaintenance.managed.openshift.io/v1alpha1 MachineMaintenance: the seed's five fields, and what was added to them. */

export const machineEvent = z
  .object({
    provider: z.string().min(1).max(1024).describe('Whose word it is: aws, azure, gcp, node, or what the sender calls itself.'),
    id: z.string().min(1).max(1024),
    kind: z.enum(eventKinds),
    code: z.string().max(1024).optional().describe("The provider's own word, for example instance-stop."),
    instance: z.string().max(1024).optional().describe('The machine as its cloud calls it.'),
    resource: z.string().max(2048).optional(),
    notBefore: time.optional(),
    notAfter: time.optional(),
    deadline: time.optional().describe('By then the machine has to be empty.'),
    state: z.enum(eventStates),
    description: z.string().max(4096).optional(),
    source: z.string().min(1).max(253).describe('The MachineEventSource or the agent that has told it.'),
  })
  .describe('What is announced about a machine.');

export const machineMaintenanceSpec = z
  .object({
    maintenancescheduled: z
      .boolean()
      .describe('The machine is to go: its deletion has been issued or is about to be. Written by Drydock; false in a new object.'),
    eventcode: z.string().optional().describe('AWS event code of the first event.'),
    eventid: z.string().optional().describe('AWS InstanceEventId of the first event.'),
    machineid: z.string().describe('The machine as its cloud calls it, for example an EC2 instance id.'),
    machinelink: z.string().describe('Name of the Machine; name of the node where there is none.'),
    machineRef: z
      .object({
        apiVersion: z.string().max(253).optional(),
        kind: z.enum(['Machine', 'Node']).describe('Node: there is no Machine, only the node is drained.'),
        namespace: z.string().max(63).optional(),
        name: objectName,
      })
      .optional()
      .describe('What machinelink names, in full. A Machine of that name in any namespace when left out.'),
    nodeName: objectName.optional().describe('The node, where the Machine does not say it.'),
    events: z.array(machineEvent).max(32).optional().describe('What is announced. Kept up to date by whoever has reported it.'),
    strategy: z
      .enum(strategies)
      .optional()
      .describe(
        'Drain: hold and drain the node, wait until the event is over, give it back. Replace: drain, then delete the Machine. ReplaceWithSurge: another machine first. Notify: nothing. By the kinds of the events when left out.',
      ),
    notBefore: time.optional().describe('Nothing begins before this.'),
    deadline: time.optional().describe("By then the machine has to be empty; the events' own when left out."),
    approval: z.enum(['NotRequired', 'Required']).optional().describe('Required: nothing begins before approved is true.'),
    approved: z.boolean().optional().describe('Somebody agrees. The annotation drydock.dev/approved: "true" says the same.'),
    gates: z
      .array(z.string().min(1).max(316))
      .max(16)
      .optional()
      .describe('Node conditions that must be True beside Ready before a drained node is released.'),
    drain: withoutDefaults(drain)
      .optional()
      .describe('How the node is emptied: as in a Maintenance, but deleteEmptyDirData and force are true when left out.'),
    keepSeconds: z.int32().min(0).optional().describe('How long the object is kept after its end, in seconds; 259200 when left out.'),
  })
  .describe('A machine that its cloud will restart, stop or take away.');

const record = z.object({ time, phase: z.string(), reason: z.string(), message: z.string() });

export const machineMaintenanceStatus = z
  .object({
    phase: z.enum(machinePhases).optional(),
    waitingFor: z
      .string()
      .optional()
      .describe('As a word: MaintenanceWindow, Approval, Turn, Drain, Replacement, MachineDeletion, EventPending and others.'),
    message: z.string().optional().describe('The same in a sentence.'),
    observedGeneration: z.int().optional(),
    strategy: z.enum(strategies).optional().describe('In force since it began.'),
    scheduledTime: time.optional().describe('When it will begin.'),
    deadline: time.optional(),
    startTime: time.optional(),
    drainedTime: time.optional(),
    eventsOverTime: time.optional().describe('When its events were first seen to be over.'),
    completionTime: time.optional(),
    beganForDeadline: z.boolean().optional().describe('It did not wait for an opening, because its deadline left no time.'),
    maintenanceName: z.string().optional().describe('The Maintenance that drains the node.'),
    nodeName: z.string().optional(),
    bootID: z.string().optional().describe('Of the node when it began.'),
    set: z.string().optional().describe('What replaces the machine.'),
    handledEvents: z.array(z.string()).optional().describe('Ids of the events that have been dealt with.'),
    history: z.array(record).max(30).optional().describe('The last transitions, the oldest first.'),
    conditions,
  })
  .describe('Written by Drydock.');

export type MachineMaintenanceSpec = z.input<typeof machineMaintenanceSpec>;
export type MachineMaintenanceStatus = z.input<typeof machineMaintenanceStatus>;
export type RawMachineEvent = z.input<typeof machineEvent>;

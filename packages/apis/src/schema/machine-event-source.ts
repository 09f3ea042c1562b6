import { eventKinds } from '@drydock/core';
import { presetNames, strategies, troubleReasons } from '@drydock/core/machine';
import { z } from 'zod';
import { conditions, rule, rules, time, withoutDefaults } from './common.ts';
import { machineEvent } from './machine-maintenance.ts';
import { drain } from './maintenance.ts';

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

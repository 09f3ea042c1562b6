import type { JsonObject } from '@drydock/apimachinery';
import type { EventKind } from '../event-kind.ts';
import type { MachineEvent, TroubleReason } from './event.ts';
import type { MachineStrategy } from './request.ts';

export type Mark = { readonly key: string; readonly value?: string };

/** A signal on a Node. A part that is left out matches everything. */
type NodeSignal =
  | {
      /** `messageContains` distinguishes signals that share a condition, regardless of case. */
      readonly condition: {
        readonly type: string;
        readonly status: string;
        readonly messageContains?: string;
      };
    }
  | { readonly taint: Mark & { readonly effect?: string } }
  | { readonly annotation: Mark }
  | { readonly label: Mark };

export type Signal = NodeSignal & {
  readonly kind: EventKind;
  /** Annotation with an RFC 3339 time: the earliest start. */
  readonly notBeforeAnnotation?: string;
  /**
   * Annotation with an RFC 3339 time by which the machine has to be empty; the earliest start if
   * left out.
   */
  readonly deadlineAnnotation?: string;
  /** Label with seconds since 1970: the earliest start. Labels cannot contain an RFC 3339 time. */
  readonly notBeforeLabel?: string;
  /**
   * True if the condition's message contains a time as in HTTP (`Wed, 26 Feb 2025 10:13:13 GMT`):
   * the earliest start.
   */
  readonly notBeforeInMessage?: boolean;
  /** State of the event; if left out: Scheduled if a time is known, otherwise Active. */
  readonly state?: 'Scheduled' | 'Active';
  /** Description; the condition's own message, or the signal itself, if left out. */
  readonly description?: string;
};

/** Collection paths. */
export const sourcesPath = '/apis/drydock.dev/v1alpha1/machineeventsources';
export const noticesPath = '/apis/drydock.dev/v1alpha1/nodenotices';

/** Names of ready-made signals, by which they are enabled. */
export const presetNames = [
  'node-problem-detector',
  'gke',
  'aks',
  'aws-node-termination-handler',
  'karpenter',
] as const;
export type PresetName = (typeof presetNames)[number];

/** Response to events of some kinds. */
export type EventResponse = {
  readonly kinds: readonly EventKind[];
  readonly strategy?: MachineStrategy;
  readonly approval?: 'NotRequired' | 'Required';
};

/** Settings for EC2, which is queried centrally. */
type AwsSource = {
  readonly region?: string;
  readonly credentialsSecret?: { readonly namespace: string; readonly name: string };
  readonly endpoint?: string;
  readonly intervalSeconds: number;
};

/** A MachineEventSource in the form that the core uses. */
export type EventSource = {
  readonly key: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly aws?: AwsSource;
  readonly signals: readonly Signal[];
  readonly presets: readonly PresetName[];
  readonly responses: readonly EventResponse[];
  /**
   * Urgency of its announcements: Heeded if the announcement that a machine goes within minutes
   * overrides approval, windows and limits.
   */
  readonly urgency: 'Heeded' | 'Ignored';
  readonly drain: JsonObject;
  readonly gates: readonly string[];
  readonly status: JsonObject;
};

/** Events from the agent of a node. */
export type Notice = {
  /** Name of the node. */
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly provider: string;
  readonly instance: string;
  readonly events: readonly MachineEvent[];
  /** True if a part could not be read: an event that is missing here may still exist. */
  readonly incomplete: boolean;
  /** Ids of the events that the node has been drained for, as the operator has noted them there. */
  readonly drainedFor: readonly string[];
};

/**
 * Annotation on a NodeNotice: ids of the events that its node has been drained for, separated by
 * commas. An agent that is configured to do so reports them to its cloud.
 */
export const drainedForAnnotation = 'drydock.dev/drained-for';

/** Result of a scan, for the status of its source. */
export type ScanResult = {
  readonly at: Temporal.Instant;
  readonly nextAt?: Temporal.Instant;
  /** Number of machines whose events are known; left out if nodes are read as they change. */
  readonly machines?: number;
  readonly pending?: number;
  readonly unknown: readonly string[];
  /** Machines as `namespace/name`. */
  readonly withoutProviderId: readonly string[];
  readonly trouble?: { readonly reason: TroubleReason; readonly message: string };
};

/** Returns the reference to the source, for events about it. */
export function sourceSubject({ name, uid, resourceVersion }: EventSource) {
  return {
    apiVersion: 'drydock.dev/v1alpha1',
    kind: 'MachineEventSource',
    name,
    uid,
    resourceVersion,
  };
}

import type { EventKind } from '../event-kind.ts';
import type { JsonObject } from '../json.ts';
import type { MachineEvent, TroubleReason } from './event.ts';
import type { MachineStrategy } from './request.ts';

export type Mark = { readonly key: string; readonly value?: string };

/** What on a Node means something. What a signal leaves out fits everything. */
type NodeSignal =
  | {
      /** `messageContains` tells apart what shares a condition; letters' case makes no difference. */
      readonly condition: { readonly type: string; readonly status: string; readonly messageContains?: string };
    }
  | { readonly taint: Mark & { readonly effect?: string } }
  | { readonly annotation: Mark }
  | { readonly label: Mark };

export type Signal = NodeSignal & {
  readonly kind: EventKind;
  /** An annotation with an RFC 3339 time: when it may begin. */
  readonly notBeforeAnnotation?: string;
  /** An annotation with an RFC 3339 time: when the machine has to be empty. Left out: when it may begin. */
  readonly deadlineAnnotation?: string;
  /** A label with seconds since 1970: when it may begin. Labels cannot hold an RFC 3339 time. */
  readonly notBeforeLabel?: string;
  /** The condition's message has a time as in HTTP (`Wed, 26 Feb 2025 10:13:13 GMT`): when it may begin. */
  readonly notBeforeInMessage?: boolean;
  /** Left out: Scheduled where a time is known, else Active. */
  readonly state?: 'Scheduled' | 'Active';
  /** Left out: the condition's own message, or what the signal is. */
  readonly description?: string;
};

/** Collection paths. */
export const sourcesPath = '/apis/drydock.dev/v1alpha1/machineeventsources';
export const noticesPath = '/apis/drydock.dev/v1alpha1/nodenotices';

/** Ready-made signals, by the names under which they are switched on. */
export const presetNames = ['node-problem-detector', 'gke', 'aks', 'aws-node-termination-handler', 'karpenter'] as const;
export type PresetName = (typeof presetNames)[number];

/** How events of some kinds are answered. */
export type EventResponse = {
  readonly kinds: readonly EventKind[];
  readonly strategy?: MachineStrategy;
  readonly approval?: 'NotRequired' | 'Required';
};

/** EC2, asked for centrally. */
type AwsSource = {
  readonly region?: string;
  readonly credentialsSecret?: { readonly namespace: string; readonly name: string };
  readonly endpoint?: string;
  readonly intervalSeconds: number;
};

/** A MachineEventSource as the core sees it. */
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
  /** Whether its word that a machine goes within minutes presses past approval, windows and limits. */
  readonly urgency: 'Heeded' | 'Ignored';
  readonly drain: JsonObject;
  readonly gates: readonly string[];
  readonly status: JsonObject;
};

/** What the agent of a node has heard. */
export type Notice = {
  /** The node's name. */
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly provider: string;
  readonly instance: string;
  readonly events: readonly MachineEvent[];
  /** It could not ask for everything: what it does not tell may still be so. */
  readonly incomplete: boolean;
  /** Ids of the events that the node has been drained for, as the operator has noted them there. */
  readonly drainedFor: readonly string[];
};

/** On a NodeNotice: ids of the events that its node has been drained for, by commas. An agent that is asked to tells its cloud. */
export const drainedForAnnotation = 'drydock.dev/drained-for';

/** What a scan has come to, for the status of its source. */
export type ScanResult = {
  readonly at: Temporal.Instant;
  readonly nextAt?: Temporal.Instant;
  /** Machines whose events are known; left out where nodes are looked at as they change. */
  readonly machines?: number;
  readonly pending?: number;
  readonly unknown: readonly string[];
  /** `namespace/name`. */
  readonly withoutProviderId: readonly string[];
  readonly trouble?: { readonly reason: TroubleReason; readonly message: string };
};

/** An object of a source's own, by which it is named in events. */
export const sourceSubject = ({ name, uid, resourceVersion }: EventSource) => ({
  apiVersion: 'drydock.dev/v1alpha1',
  kind: 'MachineEventSource',
  name,
  uid,
  resourceVersion,
});

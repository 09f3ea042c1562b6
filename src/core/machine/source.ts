import type { JsonObject } from '../json.ts';
import type { EventKind, MachineEvent, TroubleReason } from './event.ts';
import type { Strategy } from './request.ts';

/** What on a node itself counts as an announcement. Exactly one of condition, taint, label and annotation is there. */
export type Signal = {
  readonly condition?: { readonly type: string; readonly status?: 'True' | 'False' | 'Unknown' };
  readonly taint?: { readonly key: string; readonly value?: string; readonly effect?: string };
  readonly label?: { readonly key: string; readonly value?: string };
  readonly annotation?: { readonly key: string; readonly value?: string };
  readonly kind: EventKind;
  readonly description?: string;
  readonly notBeforeAnnotation?: string;
  readonly deadlineAnnotation?: string;
};

/** How events of some kinds are answered. */
export type Response = {
  readonly kinds: readonly EventKind[];
  readonly strategy?: Strategy;
  readonly approval?: 'NotRequired' | 'Required';
};

/** EC2, asked for centrally. */
export type AwsSource = {
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
  readonly presets: readonly string[];
  readonly responses: readonly Response[];
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
};

/** What a scan has come to, for the status of its source. */
export type ScanResult = {
  readonly at: Temporal.Instant;
  readonly nextAt: Temporal.Instant;
  /** Machines whose events are known. */
  readonly machines: number;
  readonly pending: number;
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

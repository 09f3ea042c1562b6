import type { IntOrPercent, JsonObject } from '@drydock/apimachinery';
import type { EventKind } from '../event-kind.ts';
import type { Node } from '../node/node.ts';
import type { MaintenanceRequest } from '../request/request.ts';
import type { MaintenanceWindow } from '../window/spans.ts';
import type { Write } from '../write.ts';
import type { MachineEvent, MachinePause, TroubleReason } from './event.ts';
import type { Machine, MachineSet } from './machine.ts';
import type { MachinePhase, MachineRequest, MachineStrategy } from './request.ts';

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

/** Another machine maintenance, as far as it may interfere. */
export type ConcurrentMaintenance = {
  readonly key: string;
  /** True if it has begun and is not over. */
  readonly active: boolean;
  /**
   * True if it responds to announcements: it was requested neither by a user nor by a plan, which
   * has limits of its own.
   */
  readonly responds: boolean;
  readonly set?: string;
  readonly zone?: string;
  readonly controlPlane: boolean;
  /** Ids of pending events that its node is not drained for yet. */
  readonly undrained: ReadonlySet<string>;
};

/** Numbers of machines that may be worked on at the same time; 0 is no limit. */
export type MachineLimits = {
  readonly perSet: number;
  readonly perZone: number;
  /**
   * Limit of all nodes, with and without Machines, that are out of service in response to
   * announcements. A number, or a percentage of all nodes.
   */
  readonly nodes: IntOrPercent;
};

/** A machine that is not being deleted and has no node that is Ready. */
export type UnreadyMachine = {
  readonly machine: Machine;
  /**
   * Time since when its node is not Ready, by that node's own condition. Missing: no node is known,
   * or the condition has no time.
   */
  readonly since?: Temporal.Instant;
};

/** The set that is to replace a machine, and its present members. */
export type ReplacementSet = {
  readonly set: MachineSet;
  /** Machines of the set, including those being deleted. */
  readonly members: readonly Machine[];
  /** Number of them that are not being deleted and have a node that is Ready. */
  readonly ready: number;
  readonly unready: readonly UnreadyMachine[];
};

/** Everything known about one machine maintenance at one moment. */
export type MachineSnapshot = {
  readonly request: MachineRequest;
  /** True if a machine API is served and has been read. */
  readonly machineApi: boolean;
  /** Machine; missing: there is none (any more), or the request is about a node only. */
  readonly machine?: Machine;
  /** Node of the machine, by its identity (`identity.ts`). */
  readonly node?: Node;
  /** Reason why the node that the machine names, or the Machine of the node, is not accepted. */
  readonly unidentified?: string;
  /**
   * True if the API server has confirmed that it has no node of the name, or of the providerID,
   * that the machine has.
   */
  readonly nodeIsGone?: true;
  /**
   * Pod of the operator that decides this (`namespace/name`), if it runs on the node: it would be
   * lost with the machine.
   */
  readonly operatorPod?: string;
  /** Pause of the machine, or why it is not known whether it is paused. */
  readonly pause?: MachinePause;
  /** Replacement; missing: nothing would replace the machine. */
  readonly replacement?: ReplacementSet;
  /** Sets that have a surge machine because of this request. */
  readonly surged: readonly MachineSet[];
  /** The Maintenance that drains the node for this request. */
  readonly child?: MaintenanceRequest;
  /**
   * True if its drain policy differs from what this request wants, because a user has changed it.
   */
  readonly childChanged?: true;
  /**
   * A Maintenance of that name that is not part of this request: of another node, or of another
   * owner.
   */
  readonly stranger?: MaintenanceRequest;
  /** Sources whose announcements that a machine goes within minutes are trusted. */
  readonly urgentSources: ReadonlySet<string>;
  /** Events from the agent of the node. */
  readonly notice?: Notice;
  /** All windows of the cluster. */
  readonly windows: readonly MaintenanceWindow[];
  /**
   * Reason why it is not known whether there is another window that is older than the request.
   * Missing if all are known.
   */
  readonly windowsProblem?: string | undefined;
  readonly others: readonly ConcurrentMaintenance[];
  readonly limits: MachineLimits;
  /** Number of nodes of the cluster. */
  readonly nodeCount: number;
  /** Seconds that others of each strategy have taken; missing as long as there were none. */
  readonly seen: ReadonlyMap<MachineStrategy, number>;
  /**
   * Seconds before the cloud's earliest start at which the drain of a node begins, unless a window
   * determines it.
   */
  readonly drainLeadSeconds: number;
};

/** Facts that are stored when the work begins, and stay. */
type Beginning = {
  readonly strategy: MachineStrategy;
  readonly becauseOfDeadline: boolean;
  readonly set?: string;
  readonly machineUid?: string;
  readonly nodeName?: string;
  readonly bootId?: string;
};

/** State of a machine maintenance, and what is to be done for the next step. */
export type MachineDecision = {
  readonly phase: MachinePhase;
  /** Reason of the wait, as a word. */
  readonly reason: string;
  /** Reason for people. */
  readonly message: string;
  /** True if it does not go on without help. */
  readonly warning?: true;
  readonly writes?: readonly Write[];
  /** Write of the request itself: its status is written in the next pass. */
  readonly own?: Write;
  readonly begins?: Beginning;
  /** True if the work is undone and begins again at another time. */
  readonly restarts?: true;
  /**
   * Node that has to be looked up before anything more can be decided: by its name, or by the
   * providerID that it would have.
   */
  readonly unseenNode?: { readonly name: string } | { readonly providerId: string };
  /** True if nothing begins before the API server has been queried for other windows. */
  readonly asksForWindows?: true;
  /** Time of its start. */
  readonly startsAt?: Temporal.Instant;
  /** Time of the next look, even if nothing changes before. */
  readonly requeueAt?: Temporal.Instant;
};

/** A step of a machine maintenance: returns undefined when it is done. */
export type MachineStep = (
  snapshot: MachineSnapshot,
  now: Temporal.Instant,
) => MachineDecision | undefined;

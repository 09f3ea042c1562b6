import type { JsonObject } from '@drydock/apimachinery';
import type { EventKind } from '../event-kind.ts';
import type { MachineEvent } from './event.ts';

/** Strategies for an announcement. */
export const strategies = ['Drain', 'Replace', 'ReplaceWithSurge', 'Notify'] as const;
export type MachineStrategy = (typeof strategies)[number];

/** Phases of a machine maintenance. */
export const machinePhases = [
  'Pending',
  'AwaitingApproval',
  'Scheduled',
  'Surging',
  'Draining',
  'Drained',
  'Replacing',
  'Releasing',
  'Notified',
  'Succeeded',
  'Cancelled',
] as const;
export type MachinePhase = (typeof machinePhases)[number];

/** Reports whether it is over: nothing more is done unless a new event comes. */
export function isOver(phase: MachinePhase | undefined): boolean {
  return phase === 'Succeeded' || phase === 'Cancelled';
}

/** History in the stored status. */
export type MachineHistory = {
  readonly phase?: MachinePhase;
  readonly startedAt?: Temporal.Instant;
  /** Time at which the node was empty for the first time since it began. */
  readonly drainedAt?: Temporal.Instant;
  /** Time at which its events were first observed to be over. */
  readonly eventsEndedAt?: Temporal.Instant;
  readonly completedAt?: Temporal.Instant;
  /**
   * True if it began because its deadline left no time to wait for an opening: the end of a window
   * does not affect it.
   */
  readonly becauseOfDeadline: boolean;
  /** Strategy that it began with. Drain becomes Replace if such an event is announced meanwhile. */
  readonly strategy?: MachineStrategy;
  /** Key of the set that is to replace the machine, for when the machine is gone. */
  readonly set?: string;
  /** uid of the Machine that it began with: a successor of its name is another machine. */
  readonly machineUid?: string;
  /** Name of the node that is drained, for when the machine is gone. */
  readonly nodeName?: string;
  /** Boot ID of the node when it began. */
  readonly bootId?: string;
  /** Occurrences of events (`occurrenceOf`) that have been handled. */
  readonly handled: ReadonlySet<string>;
};

/** A MachineMaintenance in the form that the core uses. */
export type MachineRequest = {
  /** Key `namespace/name`. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly createdAt: Temporal.Instant;
  readonly deleting: boolean;
  readonly finalizers: readonly string[];
  /** Flag of the seed: the deletion of the machine has been decided. */
  readonly deletionIssued: boolean;
  /** Name of the Machine, or of the node if there is no machine API. */
  readonly machineName: string;
  readonly instance: string;
  /** Namespace of its Machine; a Machine of this name in any namespace if left out. */
  readonly machineNamespace?: string;
  /** True if the machine has no Machine object: only the node is to be drained. */
  readonly nodeOnly: boolean;
  readonly nodeName?: string;
  /** Name of the MaintenancePlan that it is part of, according to the object. */
  readonly plan?: string;
  readonly events: readonly MachineEvent[];
  /** True if it was requested before anything was announced: the end of events does not end it. */
  readonly independent: boolean;
  /** Strategy of the request; by the kind of event if left out. */
  readonly strategy?: MachineStrategy;
  readonly notBefore?: Temporal.Instant;
  readonly deadline?: Temporal.Instant;
  readonly needsApproval: boolean;
  readonly approved: boolean;
  /** Types of node conditions that have to be True beside Ready before the node is released. */
  readonly gates: readonly string[];
  /** `spec.drain` of the Maintenance that drains the node, as written in the request. */
  readonly drain: JsonObject;
  /** Seconds for which it is kept after its end. */
  readonly keepSeconds: number;
  readonly history: MachineHistory;
  /** Stored status, so that only differences are written. */
  readonly status: JsonObject;
};

/**
 * Reports whether it responds to announcements: requests by a user, or by a plan, have limits of
 * their own.
 */
export function isResponse({
  independent,
  plan,
}: Pick<MachineRequest, 'independent' | 'plan'>): boolean {
  return !independent && plan === undefined;
}

/**
 * Returns the node of a request: the one that its machine names now, otherwise the one that the
 * request names, otherwise the one that it began with.
 */
export function nodeNameOf(
  request: MachineRequest,
  machine: { readonly nodeName?: string } | undefined,
): string | undefined {
  return machine?.nodeName ?? request.nodeName ?? request.history.nodeName;
}

/** Strategies by kind of event, if none is set and the machine has an API that replaces it. */
const byKind: Readonly<Record<EventKind, MachineStrategy>> = {
  reboot: 'Drain',
  redeploy: 'Drain',
  maintenance: 'Drain',
  freeze: 'Notify',
  rebalance: 'Notify',
  stop: 'Replace',
  retirement: 'Replace',
  termination: 'Replace',
  preemption: 'Replace',
};

const strongest: readonly MachineStrategy[] = ['Replace', 'Drain', 'Notify'];

/**
 * Returns the default for several events at once: the strongest of theirs. A request without any
 * event comes from the replaced operator: its machine is to be replaced.
 */
export function defaultStrategy(events: readonly Pick<MachineEvent, 'kind'>[]): MachineStrategy {
  return events.length === 0
    ? 'Replace'
    : (strongest.find(strategy => events.some(({ kind }) => byKind[kind] === strategy)) ??
        'Notify');
}

/**
 * Reports whether the cloud takes the machine away within seconds or minutes, regardless of any
 * calendar.
 */
export function takesAtOnce({ kind }: Pick<MachineEvent, 'kind'>): boolean {
  return kind === 'preemption' || kind === 'termination';
}

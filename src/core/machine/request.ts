import type { EventKind } from '../event-kind.ts';
import type { JsonObject } from '../json.ts';
import type { MachineEvent } from './event.ts';

/** How an announcement is answered. */
export const strategies = ['Drain', 'Replace', 'ReplaceWithSurge', 'Notify'] as const;
export type MachineStrategy = (typeof strategies)[number];

/** How far a machine maintenance is. */
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

/** It is over: nothing is done any more unless a new event comes. */
export const isOver = (phase: MachinePhase | undefined): boolean => phase === 'Succeeded' || phase === 'Cancelled';

/** What the stored status says of the past. */
export type MachineHistory = {
  readonly phase?: MachinePhase;
  readonly startedAt?: Temporal.Instant;
  /** When the node was empty for the first time since it began. */
  readonly drainedAt?: Temporal.Instant;
  /** When its events were first seen to be over. */
  readonly eventsOverAt?: Temporal.Instant;
  readonly completedAt?: Temporal.Instant;
  /** It began because its deadline left no time to wait for an opening: the end of a window does not concern it. */
  readonly becauseOfDeadline: boolean;
  /** The strategy that it began with. Drain becomes Replace when such an event is announced meanwhile. */
  readonly strategy?: MachineStrategy;
  /** Key of what is to replace the machine, for when the machine is gone. */
  readonly set?: string;
  /** The Machine that it began with: a successor of its name is another one. */
  readonly machineUid?: string;
  /** The node that is drained, for when the machine is gone. */
  readonly nodeName?: string;
  /** Boot ID of the node when it began. */
  readonly bootId?: string;
  /** The occurrences of events (`occurrenceOf`) that have been dealt with. */
  readonly handled: ReadonlySet<string>;
};

/** A MachineMaintenance as the core sees it. */
export type MachineRequest = {
  /** `namespace/name`. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly createdAt: Temporal.Instant;
  readonly deleting: boolean;
  readonly finalizers: readonly string[];
  /** The seed's flag: the deletion of the machine has been decided. */
  readonly deletionIssued: boolean;
  /** Of the Machine, or of the node where there is no machine API. */
  readonly machineName: string;
  readonly instance: string;
  /** Where its Machine is; a Machine of this name in any namespace when left out. */
  readonly machineNamespace?: string;
  /** The machine has no Machine object: only the node is to be drained. */
  readonly nodeOnly: boolean;
  readonly nodeName?: string;
  /** The MaintenancePlan that it is part of, by its own word. */
  readonly plan?: string;
  readonly events: readonly MachineEvent[];
  /** Somebody has asked for it before anything was announced: that events end does not end it. */
  readonly independent: boolean;
  /** What the request says; by the kind of event when left out. */
  readonly strategy?: MachineStrategy;
  readonly notBefore?: Temporal.Instant;
  readonly deadline?: Temporal.Instant;
  readonly needsApproval: boolean;
  readonly approved: boolean;
  /** Node conditions that have to be True beside Ready before the node is released. */
  readonly gates: readonly string[];
  /** `spec.drain` of the Maintenance that drains the node, as it is written there. */
  readonly drain: JsonObject;
  /** Seconds after its end that it is kept. */
  readonly keepSeconds: number;
  readonly history: MachineHistory;
  /** The status as stored, to write only what differs. */
  readonly status: JsonObject;
};

/** Whether it responds to announcements: what somebody, or a plan, has asked for by itself goes by their limits. */
export const isResponse = ({ independent, plan }: Pick<MachineRequest, 'independent' | 'plan'>): boolean =>
  !independent && plan === undefined;

/** The node that a request is about: the one that its machine names now, else the one that the request names, else the one that it began with. */
export const nodeNameOf = (request: MachineRequest, machine: { readonly nodeName?: string } | undefined): string | undefined =>
  machine?.nodeName ?? request.nodeName ?? request.history.nodeName;

/** What is done about an event where nobody says otherwise and the machine has an API that replaces it. */
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
 * The default for several events at once: the strongest of theirs. A request without any event is what the replaced operator made: its machine
 * is to be replaced.
 */
export const defaultStrategy = (events: readonly Pick<MachineEvent, 'kind'>[]): MachineStrategy =>
  events.length === 0 ? 'Replace' : (strongest.find(strategy => events.some(({ kind }) => byKind[kind] === strategy)) ?? 'Notify');

/** The events that the cloud takes the machine away for within seconds or minutes, whatever a calendar says. */
export const takesAtOnce = ({ kind }: Pick<MachineEvent, 'kind'>): boolean => kind === 'preemption' || kind === 'termination';

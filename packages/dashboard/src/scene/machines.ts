import type { EventKind } from '@drydock/core';
import type { EventState, MachinePhase, MachineStrategy } from '@drydock/core/machine';

/** Machines, the events that are announced about them, and the windows in which Drydock may act. */

/** An event that is announced about a machine. */
export type AnnouncedView = {
  /** Provider that announced the event. */
  readonly provider: string;
  readonly kind: EventKind;
  readonly state: EventState;
  readonly description?: string;
  /** RFC 3339: deadline by which the machine has to be empty, or start of the event. */
  readonly at?: string;
};

/** A MachineMaintenance: the events of a machine, and Drydock's response. */
export type MachineView = {
  /** Key: `namespace/name`. */
  readonly key: string;
  /** Name of the machine; the node's name where it has no Machine. */
  readonly machine: string;
  /** Name of the node; missing while unknown. The node may be gone already. */
  readonly node?: string;
  readonly phase: MachinePhase;
  /** Whether the maintenance is over: Drydock does nothing any more. */
  readonly over: boolean;
  readonly deleting: boolean;
  /** Condition that it waits for, as a word and in a sentence. */
  readonly waitingFor?: string;
  readonly message: string;
  readonly strategy?: MachineStrategy;
  /** RFC 3339: time of creation, of the start, and the deadline for the machine to be empty. */
  readonly since: string;
  readonly begins?: string;
  readonly deadline?: string;
  /** Announced events, the most urgent first. */
  readonly announced: readonly AnnouncedView[];
};

/** A MaintenanceWindow, with the state that the operator last reported. */
export type WindowView = {
  /** Name of the window. */
  readonly key: string;
  /** Whether it is open; missing when not reported. */
  readonly open?: boolean;
  /** RFC 3339: time of the next opening or closing. */
  readonly until?: string;
  /** Error in the window. */
  readonly problem?: string;
};

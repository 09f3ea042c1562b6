import type { EventKind } from '../../../core/event-kind.ts';
import type { EventState } from '../../../core/machine/event.ts';
import type { MachinePhase, MachineStrategy } from '../../../core/machine/request.ts';

/** Machines, what is announced about them, and when something may be done about it. */

/** Something that is announced about a machine. */
export type AnnouncedView = {
  /** Whose word it is. */
  readonly provider: string;
  readonly kind: EventKind;
  readonly state: EventState;
  readonly description?: string;
  /** RFC 3339: by then the machine has to be empty, or from then on it may happen. */
  readonly at?: string;
};

/** A MachineMaintenance: what is announced about a machine, and what is done about it. */
export type MachineView = {
  /** `namespace/name`. */
  readonly key: string;
  /** Its machine; the node's name where it has no Machine. */
  readonly machine: string;
  /** Missing as long as nobody knows it. It may be gone already. */
  readonly node?: string;
  readonly phase: MachinePhase;
  /** It is over: nothing is done any more. */
  readonly over: boolean;
  readonly deleting: boolean;
  /** What it waits for, as a word and in a sentence. */
  readonly waitingFor?: string;
  readonly message: string;
  readonly strategy?: MachineStrategy;
  /** RFC 3339, when it was made, when it will begin, and by when the machine has to be empty. */
  readonly since: string;
  readonly begins?: string;
  readonly deadline?: string;
  /** The most urgent first. */
  readonly announced: readonly AnnouncedView[];
};

/** A MaintenanceWindow, as the operator has last said of it. */
export type WindowView = {
  /** Its name. */
  readonly key: string;
  /** Missing when nobody has said it. */
  readonly open?: boolean;
  /** RFC 3339: when it opens next, or closes. */
  readonly until?: string;
  /** What is wrong with it. */
  readonly problem?: string;
};

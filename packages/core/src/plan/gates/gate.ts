/**
 * Conditions beside the nodes themselves: before a node begins, and without a break while a node
 * soaks.
 */

/** Places at which a gate is evaluated. */
export const gatePlaces = ['BeforeNode', 'Soak'] as const;
export type GatePlace = (typeof gatePlaces)[number];

type GateCommon = {
  readonly name: string;
  readonly at: readonly GatePlace[];
  /**
   * Reaction to false. Wait: until it is true again. Halt: nothing more begins until a user sets it
   * aside.
   */
  readonly onFalse: 'Wait' | 'Halt';
  /** Seconds for which it must have been true before a node begins. */
  readonly forSeconds: number;
};

/**
 * A gate that is true if no PodDisruptionBudget has fewer healthy pods than it wants; of these
 * namespaces only, if there are any.
 */
export type WorkloadGate = GateCommon & {
  readonly kind: 'workloads';
  readonly namespaces: readonly string[];
};

/** A gate with a CEL expression over one object of any kind. */
export type ObjectGate = GateCommon & {
  readonly kind: 'object';
  readonly apiVersion: string;
  /** Plural of the resource, as in its path. */
  readonly resource: string;
  readonly namespace?: string;
  readonly object: string;
  readonly expression: string;
};

/**
 * A gate with a CEL expression over each sample of a PromQL query; true if it is true for all of
 * them.
 */
export type PromqlGate = GateCommon & {
  readonly kind: 'promql';
  /** Name of a configured source. */
  readonly source: string;
  readonly query: string;
  readonly expression: string;
  /** Number of samples below which the value is Unknown. */
  readonly minSamples: number;
};

/**
 * A gate that is true if no alert that matches all of these is firing, except silenced or inhibited
 * ones.
 */
export type AlertGate = GateCommon & {
  readonly kind: 'alerts';
  readonly source: string;
  readonly matchers: readonly string[] /** Alerts about nodes in flight do not count. */;
  readonly excludesHeldNodes: boolean;
};

export type Gate = WorkloadGate | ObjectGate | PromqlGate | AlertGate;

/**
 * Value of a gate. Unknown: it cannot be read, or is neither true nor false; it must never count as
 * true.
 */
export type GateValue = { readonly value: 'True' | 'False' | 'Unknown'; readonly message: string };

/** State of a gate as it is stored. */
export type GateState = GateValue & { readonly name: string; readonly since: Temporal.Instant };

/** A gate that has halted the plan. */
export type GateHalt = {
  readonly gate: string;
  readonly message: string;
  readonly at: Temporal.Instant;
};

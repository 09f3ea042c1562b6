/** What must be true beside the nodes themselves: before a node is begun with, and without a break while one soaks. */

/** Where a gate is asked. */
export const gatePlaces = ['BeforeNode', 'Soak'] as const;
export type GatePlace = (typeof gatePlaces)[number];

type GateCommon = {
  readonly name: string;
  readonly at: readonly GatePlace[];
  /** Wait: until it is true again. Halt: nothing more begins until somebody sets it aside. */
  readonly onFalse: 'Wait' | 'Halt';
  /** It must have been true for so long before a node is begun with. */
  readonly forSeconds: number;
};

/** Healthy: no PodDisruptionBudget has fewer healthy pods than it wants; of these namespaces only, where there are some. */
export type WorkloadGate = GateCommon & { readonly kind: 'workloads'; readonly namespaces: readonly string[] };

/** CEL over one object of any kind. */
export type ObjectGate = GateCommon & {
  readonly kind: 'object';
  readonly apiVersion: string;
  /** Plural, as in its path. */
  readonly resource: string;
  readonly namespace?: string;
  readonly object: string;
  readonly expression: string;
};

/** CEL over each sample of a PromQL query; true when it is of all of them. */
export type PromqlGate = GateCommon & {
  readonly kind: 'promql';
  /** Of those that the operator has been given. */
  readonly source: string;
  readonly query: string;
  readonly expression: string;
  /** Fewer say nothing. */
  readonly minSamples: number;
};

/** True when no alert that matches all of these is firing, but for those that are silenced or inhibited. */
export type AlertGate = GateCommon & {
  readonly kind: 'alerts';
  readonly source: string;
  readonly matchers: readonly string[] /** Those about nodes in flight do not count. */;
  readonly excludesHeldNodes: boolean;
};

export type Gate = WorkloadGate | ObjectGate | PromqlGate | AlertGate;

/** Unknown: it cannot be read, or says neither; nobody may take that for true. */
export type GateValue = { readonly value: 'True' | 'False' | 'Unknown'; readonly message: string };

/** As it is stored. */
export type GateState = GateValue & { readonly name: string; readonly since: Temporal.Instant };

/** A gate has stopped the plan. */
export type GateHalt = { readonly gate: string; readonly message: string; readonly at: Temporal.Instant };

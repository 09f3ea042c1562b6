import { isBefore, secondsAfter } from '../../time.ts';
import type { NodeVerdict } from '../in-flight.ts';
import { isRetried } from '../retries.ts';
import type { PlanSnapshot, Waiting } from '../snapshot.ts';
import type { Gate, GateHalt, GateState, GateValue } from './gate.ts';

/** What the gates of a plan let through. */

const unknown: GateValue = { value: 'Unknown', message: 'it has not been evaluated yet' };

const valueOf = ({ gates }: Pick<PlanSnapshot, 'gates'>, { name }: Gate): GateValue => gates.get(name) ?? unknown;

/** A gate, and what it says now. */
export type AskedGate = { readonly gate: Gate; readonly state: GateState };

/** Every gate now, and since when it says what it says. */
export const evaluateGates = (snapshot: PlanSnapshot, now: Temporal.Instant): readonly AskedGate[] =>
  snapshot.plan.gates.map(gate => {
    const { value, message } = valueOf(snapshot, gate);
    const before = snapshot.plan.gateStates.get(gate.name);
    return { gate, state: { name: gate.name, value, message, since: before?.value === value ? before.since : now } };
  });

const notTrue = ({ name }: Gate, { value, message }: GateValue): Waiting => ({
  word: value === 'False' ? 'Gate' : 'GateUnknown',
  who: value === 'False' ? `gate ${name}: ${message}` : `gate ${name} is unknown: ${message}`,
});

/** What keeps nodes from being begun with: a gate that is not true, or not for long enough. */
export const gateBeforeNode = (gates: readonly AskedGate[], now: Temporal.Instant): Waiting | undefined => {
  for (const { gate, state } of gates) {
    if (!gate.at.includes('BeforeNode')) continue;
    if (state.value !== 'True') return notTrue(gate, state);
    const until = secondsAfter(state.since, gate.forSeconds);
    if (isBefore(now, until)) return { word: 'Gate', who: `gate ${gate.name} has not been true for ${gate.forSeconds} s yet`, ends: until };
  }
  return undefined;
};

/** What breaks the quiet time of a node; undefined when every gate that is asked there is true. */
export const gateAtSoak = (snapshot: PlanSnapshot): string | undefined => {
  for (const gate of snapshot.plan.gates) {
    const value = valueOf(snapshot, gate);
    if (gate.at.includes('Soak') && value.value !== 'True') return notTrue(gate, value).who;
  }
  return undefined;
};

/**
 * The gate that has stopped the plan, until somebody sets it aside: true again is not enough. A gate that is false before any node was begun with is waited for: it
 * says nothing of what the plan has done.
 */
export const gateHaltOf = (
  { plan }: Pick<PlanSnapshot, 'plan'>,
  gates: readonly AskedGate[],
  verdicts: ReadonlyMap<string, NodeVerdict>,
  now: Temporal.Instant,
): GateHalt | undefined => {
  if (plan.gateHalt !== undefined && !isRetried(plan.gateHalt.at, plan)) return plan.gateHalt;
  if (verdicts.size === 0 && plan.inFlight.length === 0) return undefined;
  const closed = gates.find(({ gate, state }) => gate.onFalse === 'Halt' && state.value === 'False')?.state;
  return closed && { gate: closed.name, message: closed.message, at: now };
};

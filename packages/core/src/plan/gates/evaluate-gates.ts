import { isBefore, secondsAfter } from '@drydock/apimachinery';
import { isRetried } from '../contest.ts';
import type { NodeVerdict } from '../in-flight.ts';
import type { PlanSnapshot, WaitReason } from '../snapshot.ts';
import type { Gate, GateHalt, GateState, GateValue } from './gate.ts';

/** Evaluation of the gates of a plan. */

const unknown: GateValue = { value: 'Unknown', message: 'it has not been evaluated yet' };

function valueOf({ gates }: Pick<PlanSnapshot, 'gates'>, { name }: Gate): GateValue {
  return gates.get(name) ?? unknown;
}

/** A gate and its current state. */
export type AskedGate = { readonly gate: Gate; readonly state: GateState };

/** Returns every gate with its current value, and since when it has that value. */
export function evaluateGates(snapshot: PlanSnapshot, now: Temporal.Instant): readonly AskedGate[] {
  return snapshot.plan.gates.map(gate => {
    const { value, message } = valueOf(snapshot, gate);
    const before = snapshot.plan.gateStates.get(gate.name);
    return {
      gate,
      state: {
        name: gate.name,
        value,
        message,
        since: before?.value === value ? before.since : now,
      },
    };
  });
}

function notTrue({ name }: Gate, { value, message }: GateValue): WaitReason {
  return {
    reason: value === 'False' ? 'Gate' : 'GateUnknown',
    message: value === 'False' ? `gate ${name}: ${message}` : `gate ${name} is unknown: ${message}`,
  };
}

/** Returns the gate that keeps nodes from beginning: it is not true, or not for long enough. */
export function gateBeforeNode(
  gates: readonly AskedGate[],
  now: Temporal.Instant,
): WaitReason | undefined {
  for (const { gate, state } of gates) {
    if (!gate.at.includes('BeforeNode')) continue;
    if (state.value !== 'True') return notTrue(gate, state);
    const until = secondsAfter(state.since, gate.forSeconds);
    if (isBefore(now, until))
      return {
        reason: 'Gate',
        message: `gate ${gate.name} has not been true for ${gate.forSeconds} s yet`,
        until: until,
      };
  }
  return undefined;
}

/**
 * Returns why the quiet time of a node is broken; undefined if every gate with the place Soak is
 * true.
 */
export function gateAtSoak(snapshot: PlanSnapshot): string | undefined {
  for (const gate of snapshot.plan.gates) {
    const value = valueOf(snapshot, gate);
    if (gate.at.includes('Soak') && value.value !== 'True') return notTrue(gate, value).message;
  }
  return undefined;
}

/**
 * Returns the gate that has halted the plan, until a user sets it aside: true again is not enough.
 * If a gate is false before any node has begun, the plan waits for it: its value is no effect of
 * the plan.
 */
export function gateHaltOf(
  { plan }: Pick<PlanSnapshot, 'plan'>,
  gates: readonly AskedGate[],
  verdicts: ReadonlyMap<string, NodeVerdict>,
  now: Temporal.Instant,
): GateHalt | undefined {
  if (plan.gateHalt !== undefined && !isRetried(plan.gateHalt.at, plan)) return plan.gateHalt;
  if (verdicts.size === 0 && plan.inFlight.length === 0) return undefined;
  const closed = gates.find(
    ({ gate, state }) => gate.onFalse === 'Halt' && state.value === 'False',
  )?.state;
  return closed && { gate: closed.name, message: closed.message, at: now };
}

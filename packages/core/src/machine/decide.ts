import type { MachineDecision, MachineSnapshot, MachineStep } from './snapshot.ts';
import { approval, begin, escalateStrategy, unpaused } from './steps/begin.ts';
import { release, succeed, waitThrough } from './steps/finish.ts';
import {
  cancelObsolete,
  cancelOnEventEnd,
  claim,
  cleanUp,
  identified,
  joined,
  notify,
  requireMachineApi,
  restart,
  retention,
} from './steps/life.ts';
import { validateStrategy } from './steps/strategy.ts';
import { drain, replace, surge } from './steps/work.ts';

/** Steps in the life of a machine maintenance: the first one that is not done decides. */
const steps: readonly MachineStep[] = [
  claim,
  cleanUp,
  retention,
  requireMachineApi,
  cancelObsolete,
  identified,
  validateStrategy,
  notify,
  joined,
  unpaused,
  approval,
  begin,
  escalateStrategy,
  cancelOnEventEnd,
  surge,
  drain,
  replace,
  waitThrough,
  release,
  restart,
  succeed,
];

/**
 * Decides what to do about a machine maintenance now: a pure function of the snapshot and the time.
 * Everything that it depends on is stored in the API, most of it on the objects that it changes, so
 * a process that is killed between any two writes continues after its restart where it was.
 */
export function decideMachine(snapshot: MachineSnapshot, now: Temporal.Instant): MachineDecision {
  for (const step of steps) {
    const verdict = step(snapshot, now);
    if (verdict !== undefined) return verdict;
  }
  throw new Error('the last step of a machine maintenance always has a verdict');
}

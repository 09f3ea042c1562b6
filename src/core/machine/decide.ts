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

/** Read aloud, this list is the life of a machine maintenance: the first step that is not done says what is to be done now. */
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
 * What to do about a machine maintenance now: a pure function of what is known and of the time. Everything it goes by is stored in the API, most
 * of it on the objects that it changes, so a process that is killed between any two writes and started again goes on where it was.
 */
export const decideMachine = (snapshot: MachineSnapshot, now: Temporal.Instant): MachineDecision => {
  for (const step of steps) {
    const verdict = step(snapshot, now);
    if (verdict !== undefined) return verdict;
  }
  throw new Error('the last step of a machine maintenance always has a verdict');
};

import type { MachineDecision, MachineSnapshot, MachineStep } from './snapshot.ts';
import { approval, begin, outgrow, unpaused } from './steps/begin.ts';
import { release, succeed, waitThrough } from './steps/finish.ts';
import { calledOff, claim, identified, joined, next, notify, over, pointless, readable, undo } from './steps/life.ts';
import { possible } from './steps/strategy.ts';
import { drain, replace, surge } from './steps/work.ts';

/** Read aloud, this list is the life of a machine maintenance: the first step that is not done says what is to be done now. */
const steps: readonly MachineStep[] = [
  claim,
  undo,
  over,
  readable,
  pointless,
  identified,
  possible,
  notify,
  joined,
  unpaused,
  approval,
  begin,
  outgrow,
  calledOff,
  surge,
  drain,
  replace,
  waitThrough,
  release,
  next,
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

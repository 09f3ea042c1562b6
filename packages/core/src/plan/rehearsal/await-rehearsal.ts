import type { Waiting } from '../snapshot.ts';
import type { PlanView } from '../view.ts';
import { refusalOf } from './refusals.ts';
import { isAbout, subjectOf } from './run-rehearsal.ts';

/** Returns what the next node of the plan waits for in its rehearsal, if anything. */
export function awaitRehearsal(view: PlanView): Waiting | undefined {
  const { rehearse, rehearsal, forecast, name } = view.snapshot.plan;
  if (rehearse === undefined) return undefined;
  if (forecast !== undefined && isAbout(forecast, subjectOf(view.snapshot.plan, rehearse)))
    return refusalOf(view, forecast, rehearse);
  if (!rehearse.required) return undefined;
  if (rehearsal?.state !== 'Failed')
    return { word: 'NotRehearsed', who: 'the plan is being rehearsed' };
  const who = `its rehearsal has failed: ${rehearsal.message}; it is retried automatically, or at once by drydock plan retry ${name} --failed`;
  return { word: 'NotRehearsed', who };
}

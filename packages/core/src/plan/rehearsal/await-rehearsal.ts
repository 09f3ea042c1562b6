import type { WaitReason } from '../snapshot.ts';
import type { PlanView } from '../view.ts';
import { refusalOf } from './refusals.ts';
import { isAbout, subjectOf } from './run-rehearsal.ts';

/** Returns what the next node of the plan waits for in its rehearsal, if anything. */
export function awaitRehearsal(view: PlanView): WaitReason | undefined {
  const { rehearse, rehearsal, forecast, name } = view.snapshot.plan;
  if (rehearse === undefined) return undefined;
  if (forecast !== undefined && isAbout(forecast, subjectOf(view.snapshot.plan, rehearse)))
    return refusalOf(view, forecast, rehearse);
  if (!rehearse.required) return undefined;
  if (rehearsal?.state !== 'Failed')
    return { reason: 'NotRehearsed', message: 'the plan is being rehearsed' };
  const message = `its rehearsal has failed: ${rehearsal.message}; it is retried automatically, or at once by drydock plan retry ${name} --failed`;
  return { reason: 'NotRehearsed', message };
}

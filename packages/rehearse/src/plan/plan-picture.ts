import { barsPicture } from '../report/picture.ts';
import { durationText } from '../report/words.ts';
import { settingText } from './plan-words.ts';
import type { PlanForecast } from './rehearse-plan.ts';

/**
 * Returns a picture of several settings of one plan: a bar each, until half of the runs are
 * complete and until nine in ten are.
 */
export function comparisonPicture(all: readonly PlanForecast[]): string {
  return barsPicture(
    `Plan ${all[0]?.plan.name ?? ''}: nodes at once, and when it is complete`,
    all.map(({ plan, moves }) => ({
      name: settingText(plan.setting),
      ...(plan.complete && { toMs: plan.complete.medianMs, lateMs: plan.complete.p90Ms }),
      said:
        plan.complete === undefined
          ? 'does not finish'
          : `${durationText(plan.complete.medianMs)}, ${moves.again} moved again`,
    })),
  );
}

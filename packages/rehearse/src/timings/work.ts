import type { JsonObject } from '@drydock/apimachinery';
import { at, text } from '@drydock/kube-sim';
import { ofKind } from '../snapshot/kept.ts';

/** Durations of plans' work and reboots, from the records of earlier runs. */

export type LearnedWork = {
  readonly workMs: number;
  readonly rebootMs: number;
  /** Number of nodes it was learned from; zero where it was given or is a guess. */
  readonly learnedFrom: { readonly work: number; readonly reboots: number };
};

const guessMs = { work: 60_000, reboot: 120_000 };

function middle(all: readonly number[]): number | undefined {
  return all.toSorted((one, other) => one - other)[Math.floor(all.length / 2)];
}

function secondsIn(
  records: readonly JsonObject[],
  field: 'workSeconds' | 'rebootSeconds',
): readonly number[] {
  return records.flatMap(record =>
    Object.values(at(record, 'spec', 'verdicts') ?? {}).flatMap(verdict => {
      const seconds = Number(at(verdict, field));
      return text(verdict, 'verdict') === 'Done' && Number.isFinite(seconds) ? [seconds] : [];
    }),
  );
}

/**
 * Returns the durations for this plan's nodes in milliseconds: as given; else the median of the
 * nodes that it has done; of all plans where it has none; else a minute of work and two of reboot.
 */
export function learnWork(
  all: readonly JsonObject[],
  plan: string,
  given: { readonly workMs?: number | undefined; readonly rebootMs?: number | undefined },
): LearnedWork {
  const records = ofKind(all, 'MaintenancePlanRecord');
  const own = records.filter(record => text(record, 'spec', 'planName') === plan);
  const learned = (field: 'workSeconds' | 'rebootSeconds'): readonly number[] => {
    const seen = secondsIn(own, field);
    return seen.length > 0 ? seen : secondsIn(records, field);
  };
  const work = given.workMs === undefined ? learned('workSeconds') : [];
  const reboots = given.rebootMs === undefined ? learned('rebootSeconds') : [];
  const [workSeconds, rebootSeconds] = [middle(work), middle(reboots)];
  return {
    workMs: given.workMs ?? (workSeconds === undefined ? guessMs.work : 1000 * workSeconds),
    rebootMs:
      given.rebootMs ?? (rebootSeconds === undefined ? guessMs.reboot : 1000 * rebootSeconds),
    learnedFrom: { work: work.length, reboots: reboots.length },
  };
}

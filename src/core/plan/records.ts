import type { RecordSlice } from './snapshot.ts';

/** Runs whose records are kept beside the one that is under way. */
const keptRuns = 3;

const lastOf = (slices: readonly RecordSlice[]): number =>
  Math.max(0, ...slices.flatMap(({ verdicts }) => verdicts.map(({ completedAt }) => completedAt.epochMilliseconds)));

/** The records of a plan: those of this run, and those of runs so long ago that they are deleted. */
export const sortRecords = (
  all: readonly RecordSlice[],
  run: { readonly id: string; readonly revision: string },
): { readonly slices: readonly RecordSlice[]; readonly outdated: readonly RecordSlice[] } => {
  const runs = Map.groupBy(all, slice => JSON.stringify([slice.run, slice.revision]));
  const current = JSON.stringify([run.id, run.revision]);
  const slices = (runs.get(current) ?? []).toSorted((one, other) => one.slice - other.slice);
  runs.delete(current);
  const outdated = [...runs.values()].toSorted((one, other) => lastOf(other) - lastOf(one)).slice(keptRuns);
  return { slices, outdated: outdated.flat() };
};

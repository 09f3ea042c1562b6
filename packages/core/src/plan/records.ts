import type { NodeVerdict } from './in-flight.ts';
import type { Run } from './plan.ts';
import type { RecordSlice } from './snapshot.ts';

/** Number of past runs whose records are kept beside the current one. */
const keptRuns = 3;

/**
 * Returns the revision of a run in records and approvals: no other run of the plan has it, even if
 * runID and work return to earlier values.
 */
export function revisionOfRun({ revision, number = 1 }: Pick<Run, 'revision' | 'number'>): string {
  return number === 1 ? revision : `${revision}-${number}`;
}

function lastOf(slices: readonly RecordSlice[]): number {
  return Math.max(
    0,
    ...slices.flatMap(({ verdicts }) =>
      verdicts.map(({ completedAt }) => completedAt.epochMilliseconds),
    ),
  );
}

/** Reports whether anything was done to the node in that turn, beyond holding and draining it. */
export function hadBegun({ state }: Pick<NodeVerdict, 'state'>): boolean {
  return state !== 'Starting' && state !== 'Holding';
}

/**
 * Returns the uids of nodes whose last verdict among these is a failure of the work: how far it
 * came on them is unknown.
 */
export function unfinishedIn(verdicts: readonly NodeVerdict[]): ReadonlySet<string> {
  const last = new Map<string, NodeVerdict>();
  for (const one of verdicts) {
    const before = last.get(one.uid);
    const isDecided = one.verdict === 'Done' || (one.verdict === 'Failed' && hadBegun(one));
    if (
      isDecided &&
      (before === undefined || Temporal.Instant.compare(before.completedAt, one.completedAt) <= 0)
    )
      last.set(one.uid, one);
  }
  return new Set(
    [...last.values()].flatMap(({ uid, verdict }) => (verdict === 'Failed' ? uid : [])),
  );
}

type Sorted = {
  readonly slices: readonly RecordSlice[];
  readonly outdated: readonly RecordSlice[];
  readonly unfinished: ReadonlySet<string>;
};

/**
 * Sorts the records of a plan: those of this run, those of old runs, which are deleted, and the
 * nodes that earlier runs have left unfinished.
 */
export function sortRecords(
  all: readonly RecordSlice[],
  run: Pick<Run, 'id' | 'revision' | 'number'>,
): Sorted {
  const runs = Map.groupBy(all, slice => JSON.stringify([slice.run, slice.revision]));
  const current = JSON.stringify([run.id, revisionOfRun(run)]);
  const slices = (runs.get(current) ?? []).toSorted((one, other) => one.slice - other.slice);
  runs.delete(current);
  const before = [...runs.values()];
  const outdated = before.toSorted((one, other) => lastOf(other) - lastOf(one)).slice(keptRuns);
  return {
    slices,
    outdated: outdated.flat(),
    unfinished: unfinishedIn(before.flat().flatMap(({ verdicts }) => verdicts)),
  };
}

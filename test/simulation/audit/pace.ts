import type { Around, Checker } from './checker.ts';

/** Calls: never more than what happens gives reason for. */

/**
 * Of one kind about one object in one minute. What loses races is tried again after pauses that
 * begin with 20 ms.
 */
const maxOfOneKind = 240;

/**
 * By one process in one minute, beside those that what has changed in it gives reason for: with
 * every watch cut again and again, some 120.
 */
const maxIdle = 400;

/** For each change of the cluster that is not the answer to a call of the operator. */
const maxForAChange = 4;

const minuteMs = 60_000;

export function paceChecker({ fail, nowMs }: Around): Checker {
  let minute = 0;
  const calls = new Map<number, number>();
  let changes = 0;
  const kinds = new Map<string, number>();
  const turn = (): void => {
    const now = Math.floor(nowMs() / minuteMs);
    if (now === minute) return;
    minute = now;
    calls.clear();
    changes = 0;
    kinds.clear();
  };
  return {
    before: ({ process, call: { method, path, query } }) => {
      turn();
      const ofProcess = (calls.get(process) ?? 0) + 1;
      calls.set(process, ofProcess);
      const kind = `${method} ${path} ${String(query?.['fieldSelector'] ?? '')}`;
      const count = (kinds.get(kind) ?? 0) + 1;
      kinds.set(kind, count);
      if (count > maxOfOneKind) fail('no call loops', `${count} calls ${kind} in one minute`);
      if (ofProcess > maxIdle + maxForAChange * changes)
        fail(
          'no call loops',
          `${ofProcess} calls of one process in one minute, after ${changes} changes`,
        );
    },
    changed: () => {
      turn();
      changes += 1;
    },
  };
}

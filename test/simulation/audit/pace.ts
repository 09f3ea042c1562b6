import type { Around, Checker } from './checker.ts';

/** Calls: never more than what happens gives reason for. */

/** Of one kind about one object in one minute. What loses races is tried again after pauses that begin with 20 ms. */
const mostOfOneKind = 240;

/** In one minute, beside those that what has changed in it gives reason for. */
const mostIdle = 400;

/** For each change of the cluster that is not the answer to a call of the operator. */
const mostForAChange = 4;

const minuteMs = 60_000;

export const paceChecker = ({ fail, nowMs }: Around): Checker => {
  let minute = 0;
  let calls = 0;
  let changes = 0;
  const kinds = new Map<string, number>();
  const turn = (): void => {
    const now = Math.floor(nowMs() / minuteMs);
    if (now === minute) return;
    minute = now;
    calls = 0;
    changes = 0;
    kinds.clear();
  };
  return {
    before: ({ call: { method, path, query } }) => {
      turn();
      calls += 1;
      const kind = `${method} ${path} ${String(query?.['fieldSelector'] ?? '')}`;
      const count = (kinds.get(kind) ?? 0) + 1;
      kinds.set(kind, count);
      if (count > mostOfOneKind) fail('no call loops', `${count} calls ${kind} in one minute`);
      if (calls > mostIdle + mostForAChange * changes) fail('no call loops', `${calls} calls in one minute, after ${changes} changes`);
    },
    changed: () => {
      turn();
      changes += 1;
    },
  };
};

import { objects, part, type Stored, text } from '@drydock/kube-sim';
import { maintenanceResources } from '../story/story.ts';
import { type Around, type Checker, isDone, type Served } from './checker.ts';
import { Keepers } from './keepers.ts';
import { drainTaints, foreignChange, isHeld, marksOf, recordedOf } from './marks.ts';
import type { Version } from './records.ts';

/**
 * Nodes: nothing of anybody else is touched, and what was there before is there again in the end.
 */

/** When each object was made. */
function madeTimes({ store, nowMs }: Pick<Around, 'store' | 'nowMs'>): (object: Stored) => number {
  const madeAt = new Map<string, number>();
  store.subscribe(
    ({ type, object }) => void (type === 'added' && madeAt.set(object.metadata.uid, nowMs())),
  );
  return ({ metadata }) => madeAt.get(metadata.uid) ?? Number.NEGATIVE_INFINITY;
}

function asksNoWindows({ resource, object }: Version): boolean {
  return (
    resource !== maintenanceResources.Maintenance ||
    text(object, 'spec', 'level') === 'Announce' ||
    text(object, 'spec', 'start', 'windows') === 'Ignore' ||
    text(object, 'spec', 'start', 'deadline') !== ''
  );
}

/** Moments at which an opening of the windows was open, or nothing spoke against it. */
function mayBegin(
  { records, store, story, nowMs, staleMs }: Around,
  node: string,
  madeAt: (object: Stored) => number,
): boolean {
  if (story.clockSteps.length > 0) return true;
  const windows = store
    .list('maintenancewindows.drydock.dev')
    .map(window => ({ window, openings: objects(part(window, 'spec')['openings']) }));
  // One that was made after the maintenance may not be known yet; of the others the API server is
  // asked.
  const isKnown = (window: Stored, { object }: Version): boolean =>
    madeAt(window) < nowMs() - staleMs() || madeAt(window) < madeAt(object);
  const isFree = (one: Version): boolean =>
    asksNoWindows(one) ||
    !windows.some(({ window, openings }) => openings.length > 0 && isKnown(window, one));
  const wanting = records.wanting(node, staleMs());
  if (wanting.length === 0 || wanting.some(isFree)) return true;
  const slack = 2000;
  return windows.some(({ openings }) =>
    openings.some(
      one =>
        nowMs() >= Date.parse(text(one, 'from')) - slack &&
        nowMs() <= Date.parse(text(one, 'to')) + staleMs(),
    ),
  );
}

/**
 * The taints that only a hold puts on a node are all gone from it: whoever took them off has given
 * the node back.
 */
function hasNoSign(
  was: ReadonlyMap<string, string | null>,
  touched: ReadonlyMap<string, string | null>,
): boolean {
  const signs = [...drainTaints]
    .map(id => `taint ${id}`)
    .filter(mark => touched.get(mark) === null);
  return signs.length > 0 && signs.every(mark => was.get(mark) === null);
}

export function nodeChecker(around: Around): Checker {
  const { fail } = around;
  /**
   * Marks that are the operator's at the moment, with what stood there before; by the uid of the
   * node.
   */
  const taken = new Map<string, Map<string, string | null>>();
  const madeAt = madeTimes(around);
  const keepers = new Keepers(around);

  const compare = (before: Stored, after: Stored): void => {
    const { uid, name } = after.metadata;
    const touched = taken.get(uid) ?? new Map<string, string | null>();
    taken.set(uid, touched);
    const recorded = isHeld(after) ? recordedOf(after) : new Set<string>();
    const [was, is] = [marksOf(before), marksOf(after)];
    const isUnsigned = hasNoSign(was, touched);
    for (const [mark, value] of was) {
      if (recorded.has(mark) && !touched.has(mark)) touched.set(mark, value);
      const wanted = touched.get(mark);
      const isTouched = touched.has(mark);
      if (recorded.has(mark)) continue;
      touched.delete(mark);
      // Nobody wants the node any more, and somebody has given it back by hand: the record goes and
      // nothing else.
      const isUnwanted = around.records.wanting(name, around.staleMs()).length === 0 || isUnsigned;
      const isOthers = !isTouched || (is.get(mark) === value && isUnwanted);
      if (!isOthers && is.get(mark) !== wanted) {
        fail(
          'restored',
          `node ${name}: ${mark} was ${String(wanted)} before the hold, and is ${String(is.get(mark))} after it`,
        );
      } else if (!isTouched && is.get(mark) !== value) {
        fail(
          'foreign marks',
          `node ${name}: ${mark} went from ${String(value)} to ${String(is.get(mark))} without a record of it`,
        );
      }
    }
  };

  const checkKeeper = (before: Stored, after: Stored): void => {
    if (!isHeld(before) && isHeld(after)) return keepers.held(after);
    const isByHand = hasNoSign(marksOf(before), taken.get(after.metadata.uid) ?? new Map());
    const keeper = isHeld(before) && !isHeld(after) && !isByHand ? keepers.of(after) : undefined;
    if (keeper === undefined) return;
    const { object } = keeper;
    fail(
      'kept',
      `node ${after.metadata.name} is released, and ${object.metadata.name} still wants it (${text(object, 'status', 'phase')})`,
    );
  };

  const after = ({ before, target }: Served, body: Stored): void => {
    if (before === undefined) return;
    const change = foreignChange(before, body);
    if (change !== undefined) fail('foreign marks', `node ${target.name}: ${change}`);
    if (target.sub !== '') return;
    if (!isHeld(before) && isHeld(body) && !mayBegin(around, target.name, madeAt))
      fail('windows', `node ${target.name} is held while its windows are closed`);
    checkKeeper(before, body);
    compare(before, body);
  };
  return {
    after: (served, answer) => {
      if (served.target.resource !== 'nodes' || served.call.method === 'GET' || !isDone(answer))
        return;
      if (served.call.method !== 'PATCH')
        return fail('foreign marks', `${served.call.method} ${served.call.path}`);
      after(served, answer.body as Stored);
    },
  };
}

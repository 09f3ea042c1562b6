import { at, objects, part, type Stored, text } from '@drydock/kube-sim';
import type { StoreChange } from '@drydock/kube-sim/store';
import { maintenanceResources } from '../story/story.ts';
import { type Around, type Checker, clockErrorMs } from './checker.ts';
import { hasLostDaemonSet, judge } from './judgement.ts';
import { isHeld } from './marks.ts';
import { nodeOf, stageOf } from './records.ts';

/** Statuses: what they say is so. */

const kinds = new Set<string>(Object.values(maintenanceResources));

function number(status: ReturnType<typeof part>, ...path: readonly string[]): number | undefined {
  const value = at(status, ...path);
  return typeof value === 'number' ? value : undefined;
}

function isDrained(status: ReturnType<typeof part>): boolean {
  return ['Drained', 'Succeeded'].includes(text(status, 'phase'));
}

/** Numbers that cannot be. */
function wrongCounts(
  was: ReturnType<typeof part>,
  status: ReturnType<typeof part>,
): string | undefined {
  const [toEvict, gone, waiting, total] = ['toEvict', 'gone', 'waiting', 'total'].map(name =>
    number(status, 'pods', name),
  );
  const [before, progress] = [was, status].map(
    one => number(one, 'progress') ?? number(one, 'drainProgress') ?? 0,
  ) as [number, number];
  if (progress < 0 || progress > 100) return `progress is ${progress}`;
  // Once it was drained the number stays for as long as nothing newer is known: when the node has
  // gone, or cannot be written to. One that has given up, or whose volumes are still attached, may
  // have no pod left all the same.
  if (
    progress === 100 &&
    !isDrained(status) &&
    before !== 100 &&
    (waiting ?? objects(status['pendingPodsRefs']).length) > 0
  )
    return 'progress is 100 and it is not drained';
  if (toEvict === undefined || gone === undefined || waiting === undefined || total === undefined)
    return undefined;
  if (gone < 0 || waiting < 0 || gone + waiting !== toEvict || total < toEvict)
    return `counts ${JSON.stringify(status['pods'])}`;
  return isDrained(status) && waiting > 0 ? `drained with ${waiting} waiting` : undefined;
}

/** What was said before and has been taken back. */
function tookBack(
  was: ReturnType<typeof part>,
  is: ReturnType<typeof part>,
  isSteady: boolean,
): string | undefined {
  const restarts = text(was, 'startTime') !== '' && text(is, 'startTime') === '';
  if (restarts) return undefined;
  const [before, after] = [number(was, 'pods', 'gone') ?? 0, number(is, 'pods', 'gone') ?? 0];
  // Another policy, or another time of day, may want pods gone that were not to go a moment ago.
  if (after < before && isSteady && was['observedGeneration'] === is['observedGeneration'])
    return `${before} pods were gone, and then ${after}`;
  for (const field of ['startTime', 'completionTime']) {
    if (text(was, field) !== '' && text(was, field) !== text(is, field))
      return `${field} ${text(was, field)} became "${text(is, field)}"`;
  }
  return undefined;
}

export function statusChecker(around: Around): Checker {
  const { store, story, records, fail, nowMs, staleMs } = around;

  /**
   * Pods that had to go and are there; those that may have come while nobody looked do not count.
   */
  const left = (resource: string, object: Stored): readonly string[] => {
    const node = nodeOf(object);
    const versions = records
      .wanting(node, staleMs())
      .filter(one => one.object.metadata.uid === object.metadata.uid);
    const isOld = (pod: Stored): boolean =>
      nowMs() - Date.parse(pod.metadata.creationTimestamp) > staleMs() + 1500;
    const all = [...versions, { resource, object }];
    const ahead = clockErrorMs(story);
    return store
      .indexed('pods', 'spec.nodeName', node)
      .filter(
        pod =>
          isOld(pod) &&
          !hasLostDaemonSet(pod, records, staleMs()) &&
          all.every(version => judge(pod, version, store, nowMs() + ahead) !== 'stays'),
      )
      .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  };

  const checkDrained = (resource: string, object: Stored): void => {
    const what = `${resource} ${object.metadata.name}`;
    const node = store.get('nodes', '', nodeOf(object));
    if (node === undefined || stageOf(object) !== 'Drain') return;
    const there = left(resource, object);
    if (there.length > 0)
      fail(
        'status',
        `${what} says that node ${nodeOf(object)} is drained; ${there.join(', ')} had to go`,
      );
    if (!isHeld(node) && records.goneFor('nodes', '', node.metadata.name) > staleMs())
      fail('status', `${what} says drained, and node ${nodeOf(object)} is not held`);
  };

  const checkBlockers = (resource: string, object: Stored): void => {
    const status = part(object, 'status');
    const blockers = objects(status['blockers']);
    if ((number(status, 'blockerCount') ?? 0) < blockers.length)
      fail('status', `${resource} ${object.metadata.name}: fewer blockers than it lists`);
    for (const blocker of blockers) {
      const pod = [text(blocker, 'pod', 'namespace'), text(blocker, 'pod', 'name')] as const;
      if (at(blocker, 'pod') === undefined || store.get('pods', ...pod) !== undefined) continue;
      // Texts about blockers are written every five seconds at most, and are as old as what is
      // known.
      if (records.goneFor('pods', ...pod) > staleMs() + 6000)
        fail(
          'status',
          `${resource} ${object.metadata.name}: ${pod.join('/')} is named as a blocker and is not there`,
        );
    }
  };

  const changed = (change: StoreChange): void => {
    const { resource, type, object } = change;
    if (!kinds.has(resource) || type !== 'changed') return;
    const [was, is] = [part(change.before, 'status'), part(object, 'status')];
    if (was === is || JSON.stringify(was) === JSON.stringify(is)) return;
    const what = `${resource} ${object.metadata.name}`;
    const wrong = wrongCounts(was, is) ?? tookBack(was, is, story.clockSteps.length === 0);
    if (wrong !== undefined) fail('status', `${what}: ${wrong}`);
    if (isDrained(is) && !isDrained(was)) checkDrained(resource, object);
    checkBlockers(resource, object);
  };
  return { changed };
}

import { isBefore, latest, secondsAfter, short, timeText } from '@drydock/apimachinery';
import type { NodeVerdict } from '../in-flight.ts';
import { maxLacking, type SoakLack, type StageSoak } from '../plan.ts';
import type { PlanSnapshot, SoakWatch } from '../snapshot.ts';
import { livesOf, unsoundness } from '../stop.ts';
import type { PlanView } from '../view.ts';
import { startsBehind } from './node-reasons.ts';
import { doneIn, lastVerdictAt, type StageNodes } from './stages.ts';

/**
 * The soak time of a stage: its nodes are watched until a node of a later stage begins. A break
 * starts it again, and is a failure after a limit.
 */

/**
 * Returns what is not as it was proven; undefined while the node is healthy and done, and if it
 * does not exist any more.
 */
function lackOf(
  { nodes, doneSince }: PlanSnapshot,
  { node: name, uid }: Pick<NodeVerdict, 'node' | 'uid'>,
): string | undefined {
  const one = nodes.get(name);
  if (one?.node.uid !== uid) return undefined;
  if (one.node.deleting) return 'is being deleted';
  const lack = unsoundness(one.node);
  if (lack !== undefined) return lack;
  if (typeof one.done === 'object') return `may not be done any more: ${one.done.error}`;
  const other = doneSince.get(uid);
  const by = other === undefined ? '' : ` (plan ${other} was done with it meanwhile)`;
  return one.done ? undefined : `was done and is not any more${by}`;
}

function isThere(
  { nodes }: PlanSnapshot,
  { node, uid }: Pick<NodeVerdict, 'node' | 'uid'>,
): boolean {
  return nodes.get(node)?.node.uid === uid;
}

/**
 * Returns a mark of the existing nodes of a stage and their current starts: a stage may have more
 * nodes than are kept one by one.
 */
function markOf(done: readonly NodeVerdict[], { nodes }: PlanSnapshot): string {
  const lives = done.flatMap(({ node: name, uid }) => {
    const one = nodes.get(name)?.node;
    return one?.uid === uid ? `${uid}/${livesOf(one)}` : [];
  });
  return `${lives.length}/${short(lives.toSorted().join())}`;
}

/**
 * Reports whether there are as many nodes as before, and one of them has restarted: a node that has
 * gone since, or was done since, breaks nothing.
 */
function isAnother(mark: string, before: string | undefined): boolean {
  return (
    before !== undefined &&
    before !== mark &&
    Number.parseInt(before, 10) === Number.parseInt(mark, 10)
  );
}

/**
 * Returns the later of the time and the start of this process's watch: times of another process are
 * by another clock, and nothing proves what happened in between.
 */
function seenSince(since: Temporal.Instant, { watchedSince }: PlanSnapshot): Temporal.Instant {
  return latest([since, ...(watchedSince ? [watchedSince] : [])]) ?? since;
}

/** Reports whether a node of a later stage has begun since the stage's last verdict. */
function isPassed(stage: StageNodes, view: PlanView): boolean {
  const last = lastVerdictAt(stage, view.verdicts);
  return (
    last !== undefined &&
    startsBehind(view, stage.stage.name).some(startedAt => !isBefore(startedAt, last))
  );
}

/**
 * Returns the first stage that soaks: over, with a node done in it, and with a later stage that has
 * not begun.
 */
function soakingStage(view: PlanView): StageNodes | undefined {
  if (!view.stages.some(({ stage }) => stage.soakSeconds > 0)) return undefined;
  const first = view.stages.findIndex(({ stage }) => view.underWay.has(stage.name));
  return view.stages
    .slice(0, Math.max(0, first))
    .find(
      one =>
        one.stage.soakSeconds > 0 && doneIn(one, view.verdicts).length > 0 && !isPassed(one, view),
    );
}

function failedText(stage: string, what: string): string {
  return `It was done, and failed in the soak time of stage ${stage}: it ${what}`;
}

/** Returns a broken node that is gone: a repair tool has deleted it. */
function lostOf({ snapshot, verdicts }: PlanView, { lacking }: StageSoak): NodeVerdict | undefined {
  return snapshot.plan.work.kind === 'replace'
    ? undefined
    : lacking
        .map(({ uid }) => verdicts.get(uid))
        .find(one => one?.verdict === 'Done' && !isThere(snapshot, one));
}

/**
 * Keeps watching nodes that were broken when another node joined the stage, which is active again.
 */
function stillLacking(view: PlanView, soak: StageSoak): SoakWatch | undefined {
  const { snapshot, verdicts, stages } = view;
  const stage = stages.find(one => one.stage.name === soak.stage);
  if (stage === undefined || isPassed(stage, view)) return undefined;
  const lacking = soak.lacking.filter(({ uid }) => {
    const verdict = verdicts.get(uid);
    return verdict?.verdict === 'Done' && lackOf(snapshot, verdict) !== undefined;
  });
  return lacking.length === 0 ? undefined : { soak: { stage: soak.stage, lacking } };
}

type Broken = readonly [NodeVerdict, string];

function brokenText(
  [{ node }, what]: Broken,
  { since }: SoakLack,
  until: Temporal.Instant,
  stage: string,
): string {
  return `node ${node} ${what} since ${timeText(since)}: the soak time of stage ${stage} starts again when it is well, and at ${timeText(until)} the node has failed`;
}

function failing(verdict: NodeVerdict, message: string, now: Temporal.Instant): NodeVerdict {
  return {
    ...verdict,
    verdict: 'Failed',
    message,
    completedAt: now,
  };
}

/** Returns since when each of them is unhealthy, as far as that is kept. */
function lackingOf(
  broken: readonly Broken[],
  before: readonly SoakLack[],
  snapshot: PlanSnapshot,
  now: Temporal.Instant,
): readonly SoakLack[] {
  return broken.slice(0, maxLacking).map(([{ node, uid }]) => {
    const since = before.find(one => one.uid === uid)?.since;
    return { node, uid, since: since === undefined ? now : seenSince(since, snapshot) };
  });
}

function whileBroken(
  stage: string,
  [first]: readonly Broken[],
  lacking: readonly SoakLack[],
  { snapshot }: PlanView,
  now: Temporal.Instant,
): SoakWatch {
  const { provenWithinSeconds } = snapshot.plan;
  const soak = { stage, lacking };
  const [since] = lacking;
  if (first === undefined || since === undefined) return { soak };
  const until = secondsAfter(since.since, provenWithinSeconds);
  const waiting = {
    reason: 'SoakBroken',
    message: brokenText(first, since, until, stage),
    node: since.node,
    until,
  };
  if (isBefore(now, until)) return { soak, waiting };
  const message = failedText(stage, `${first[1]} for ${provenWithinSeconds} s, which is its limit`);
  return { soak, waiting, failed: failing(first[0], message, now) };
}

/** Returns the current observation of the soak time; undefined while no stage soaks. */
function watchSoak(view: PlanView, now: Temporal.Instant): SoakWatch | undefined {
  const { snapshot, verdicts } = view;
  const { soak: last } = snapshot.plan.run ?? {};
  const lost = last && lostOf(view, last);
  if (last !== undefined && lost !== undefined) {
    const message = failedText(last.stage, 'was not well, and does not exist any more');
    return {
      soak: last,
      failed: failing(lost, message, now),
      waiting: { reason: 'SoakBroken', message: `node ${lost.node}: ${message}`, node: lost.node },
    };
  }
  const one = soakingStage(view);
  if (one === undefined) return last && stillLacking(view, last);
  const { name, soakSeconds } = one.stage;
  const stored = last?.stage === name ? last : undefined;
  const broken = doneIn(one, verdicts).flatMap((verdict): readonly Broken[] => {
    const lack = lackOf(snapshot, verdict);
    return lack === undefined ? [] : [[verdict, lack]];
  });
  if (broken.length > 0) {
    // Nodes that have been broken for longest come first: the first decides.
    const before = stored?.lacking ?? [];
    const sinceOf = ([{ uid }]: Broken): number =>
      before.find(entry => entry.uid === uid)?.since.epochMilliseconds ?? Number.MAX_VALUE;
    const sorted = broken.toSorted((each, other) => sinceOf(each) - sinceOf(other));
    return whileBroken(name, sorted, lackingOf(sorted, before, snapshot, now), view, now);
  }
  const mark = markOf(doneIn(one, verdicts), snapshot);
  const since =
    stored?.since === undefined || isAnother(mark, stored.mark)
      ? now
      : seenSince(stored.since, snapshot);
  const from = latest([since, lastVerdictAt(one, verdicts) ?? since]) ?? since;
  const until = secondsAfter(from, soakSeconds);
  const soak = { stage: name, since: from, mark, lacking: [] };
  if (!isBefore(now, until)) return { soak };
  return {
    soak,
    waiting: {
      reason: 'StageSoak',
      message: `stage ${name} is done, and its soak time is not over`,
      until,
    },
  };
}

/** Returns the view with the observation of the soak time. */
export function withSoak(view: PlanView, now: Temporal.Instant): PlanView {
  const soak = watchSoak(view, now);
  return soak === undefined ? view : { ...view, soak };
}

/** Number of nodes that are named to the approver. */
const maxShown = 3;

/**
 * Returns the state of the stage's nodes for the approver: what was done, and what is unhealthy
 * since.
 */
export function shownBy(stage: StageNodes, { snapshot, verdicts }: PlanView): string {
  const done = doneIn(stage, verdicts);
  const failed = [...verdicts.values()].filter(
    one => one.stage === stage.stage.name && one.verdict === 'Failed',
  ).length;
  const lacks = done.flatMap(one => {
    const lack = lackOf(snapshot, one);
    if (lack !== undefined) return `${one.node} ${lack}`;
    return isThere(snapshot, one) || snapshot.plan.work.kind === 'replace'
      ? []
      : `${one.node} does not exist any more`;
  });
  const more =
    lacks.length > maxShown ? [`${lacks.length - maxShown} more of its nodes are not well`] : [];
  return [
    `${done.length} done`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...lacks.slice(0, maxShown),
    ...more,
  ].join(', ');
}

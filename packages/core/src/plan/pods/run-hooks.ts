import { secondsAfter, timeText } from '@drydock/apimachinery';
import type { Write } from '../../write.ts';
import { isRetried } from '../contest.ts';
import type { InFlight } from '../in-flight.ts';
import type { PlanSnapshot, WaitReason } from '../snapshot.ts';
import { type Stop, stopWaiting } from '../stop.ts';
import { createPodWrite, deletePodWrite, hookPurpose, isNamedFor, podNameFor } from '../writes.ts';
import type { Hook, HookPlace, HookRun } from './hook.ts';
import { podOfTask, stateOfTask, troubleOf } from './work-pods.ts';

/** Hooks: each runs once per scope, and whatever comes after it waits for its end. */

/** The moment of hooks, and the environment of their pods. */
type Occasion = {
  readonly at: HookPlace;
  readonly scope: string;
  readonly stage?: string;
  readonly node?: string;
  /** Reason why no pod is created now: running ones are followed, and the rest waits. */
  readonly stop?: Stop | undefined;
};

export const runScope = 'run';
export const haltScope = 'halt';
export function stageScope(name: string): string {
  return `stage ${name}`;
}
export function ofNode({ uid, startedAt }: InFlight): string {
  return `node ${uid} at ${timeText(startedAt)}`;
}

/** Entries to store, and writes to send after that. */
export type HookStep = {
  /** True if all have ended, and that is stored: whatever comes after them may go on. */
  readonly done: boolean;
  readonly runs: readonly HookRun[];
  readonly writes: readonly Write[];
  readonly waiting?: WaitReason;
  readonly requeueAt?: Temporal.Instant;
};

function fresh(
  snapshot: PlanSnapshot,
  { name }: Hook,
  scope: string,
  attempt: number,
  now: Temporal.Instant,
): HookRun {
  return {
    name,
    scope,
    attempt,
    state: 'Running',
    since: now,
    pod: podNameFor(snapshot, hookPurpose(snapshot.plan, `${name}/${scope}`, attempt)),
    message: '',
  };
}

/** Reports whether the hook ran in this run; an earlier run does not count. */
function isOfThisRun({ name, scope, attempt, pod }: HookRun, { plan }: PlanSnapshot): boolean {
  return isNamedFor(pod, hookPurpose(plan, `${name}/${scope}`, attempt));
}

/** Reports whether a user has retried the hook. */
function isSetAside({ state, since }: HookRun, { plan }: PlanSnapshot): boolean {
  return state === 'Failed' && isRetried(since, plan);
}

function environmentOf(
  { plan }: PlanSnapshot,
  { at, stage, node }: Occasion,
): Readonly<Record<string, string>> {
  return {
    DRYDOCK_PLAN: plan.name,
    DRYDOCK_RUN: plan.run?.id ?? plan.runId,
    DRYDOCK_HOOK: at,
    ...(stage !== undefined && { DRYDOCK_STAGE: stage }),
    ...(node !== undefined && { DRYDOCK_NODE: node }),
  };
}

function advanceRun(
  snapshot: PlanSnapshot,
  hook: Hook,
  occasion: Occasion,
  run: HookRun,
  now: Temporal.Instant,
): { readonly run: HookRun; readonly writes: readonly Write[] } {
  if (run.state !== 'Running') return { run, writes: [] };
  const task = stateOfTask(snapshot, run, hook.timeoutSeconds, now);
  const environment = environmentOf(snapshot, occasion);
  const place = {
    name: run.pod,
    what: `runs hook ${hook.name}`,
    environment,
    deadlineSeconds: hook.timeoutSeconds,
  };
  if (task.kind === 'missing') return { run, writes: [createPodWrite(snapshot, hook, place)] };
  if (task.kind === 'seen') return { run: { ...run, podUid: task.podUid }, writes: [] };
  if (task.kind === 'succeeded')
    return { run: { ...run, state: 'Succeeded', since: now }, writes: [] };
  return task.kind === 'failed'
    ? { run: { ...run, state: 'Failed', since: now, message: task.message }, writes: [] }
    : { run, writes: [] };
}

function waitingFor(
  snapshot: PlanSnapshot,
  { name, timeoutSeconds }: Hook,
  run: HookRun,
  node: string | undefined,
): WaitReason {
  const { plan } = snapshot;
  const trouble = troubleOf(snapshot, run);
  return {
    reason: 'Hook',
    message:
      run.state === 'Failed'
        ? `hook ${name} has failed: ${run.message}; drydock plan retry ${plan.name} --failed runs it again`
        : `hook ${name} runs${trouble === '' ? '' : `: ${trouble}`}`,
    ...(node !== undefined && { node }),
    ...(run.state === 'Running' && { until: secondsAfter(run.since, timeoutSeconds) }),
  };
}

/** Reports whether its entry is stored, and its pod is not created yet. */
function lacksPod(snapshot: PlanSnapshot, run: HookRun): boolean {
  return (
    run.state === 'Running' && run.podUid === undefined && podOfTask(snapshot, run) === undefined
  );
}

/** Runs the hooks of this moment, one after the other; each is stored before its pod is created. */
export function runHooks(
  snapshot: PlanSnapshot,
  occasion: Occasion,
  now: Temporal.Instant,
): HookStep {
  const { hooks, hookRuns } = snapshot.plan;
  const runs: HookRun[] = [];
  const writes: Write[] = [];
  let isStored = true;
  for (const hook of hooks.filter(({ at }) => at === occasion.at)) {
    const stored = hookRuns.findLast(
      run => run.name === hook.name && run.scope === occasion.scope && isOfThisRun(run, snapshot),
    );
    const again =
      stored !== undefined && isSetAside(stored, snapshot) ? stored.attempt + 1 : undefined;
    if (
      occasion.stop !== undefined &&
      (stored === undefined || again !== undefined || lacksPod(snapshot, stored))
    ) {
      return {
        done: false,
        runs,
        writes,
        waiting: stopWaiting(occasion.stop, `hook ${hook.name}`, occasion.node),
      };
    }
    const step =
      stored === undefined || again !== undefined
        ? { run: fresh(snapshot, hook, occasion.scope, again ?? 1, now), writes: [] }
        : advanceRun(snapshot, hook, occasion, stored, now);
    runs.push(step.run);
    writes.push(...step.writes);
    isStored &&= step.run === stored;
    const isOver =
      step.run.state === 'Succeeded' ||
      (step.run.state === 'Failed' && hook.onFailure === 'Continue');
    if (isOver) continue;
    const waiting = waitingFor(snapshot, hook, step.run, occasion.node);
    return {
      done: false,
      runs,
      writes,
      waiting,
      ...(waiting.until && { requeueAt: waiting.until }),
    };
  }
  return { done: isStored, runs, writes };
}

/** Reports whether the scope of the hook still exists. */
function isCurrent(run: HookRun, snapshot: PlanSnapshot, isHalted: boolean): boolean {
  const { scope } = run;
  const { inFlight } = snapshot.plan;
  const isThere =
    scope === runScope ||
    scope.startsWith('stage ') ||
    (scope === haltScope && isHalted) ||
    inFlight.some(one => scope === ofNode(one));
  return isThere && isOfThisRun(run, snapshot);
}

/** Reports whether a later attempt has replaced this one; its pod is deleted with it. */
function isOutdone(run: HookRun, all: readonly HookRun[]): boolean {
  return all.some(
    ({ name, scope, attempt }) => name === run.name && scope === run.scope && attempt > run.attempt,
  );
}

/**
 * Returns all hook runs to store; a run that is over, or whose scope is gone, loses its pod first,
 * and then its entry.
 */
export function hooksToStore(
  snapshot: PlanSnapshot,
  steps: readonly HookStep[],
  { halted, withdrawn }: { readonly halted: boolean; readonly withdrawn: boolean },
): { readonly runs: readonly HookRun[]; readonly writes: readonly Write[] } {
  const all = [
    ...new Map(
      [...snapshot.plan.hookRuns, ...steps.flatMap(({ runs }) => runs)].map(run => [run.pod, run]),
    ).values(),
  ];
  const writes: Write[] = [];
  const kept = all.filter(run => {
    const isKept = isCurrent(run, snapshot, halted) && !withdrawn && !isOutdone(run, all);
    const pod = podOfTask(snapshot, run);
    const isLeft = pod !== undefined && (!isKept || run.state !== 'Running');
    if (isLeft && !pod.deleting) writes.push(deletePodWrite(pod));
    return isKept || pod !== undefined;
  });
  return { runs: kept, writes: [...writes, ...steps.flatMap(step => step.writes)] };
}

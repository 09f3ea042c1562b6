import type { JsonObject } from '@drydock/apimachinery';
import type { Dice } from './dice.ts';
import type { NodePlan, StoryPlan } from './story.ts';
import { timeAt } from './times.ts';

/** The MaintenancePlans of a story. */

/** A node with it has left all plans. */
export const leftLabel = 'people/left';

/** What all plans select. */
const allButTheFirst = {
  matchExpressions: [
    { key: 'kubernetes.io/hostname', operator: 'NotIn', values: ['n0'] },
    { key: leftLabel, operator: 'DoesNotExist' },
  ],
};

const podSpec = { containers: [{ name: 'work', image: 'example.test/work:1' }] };

/** Work that pods do, nodes that are got ready before, and a gate over budgets. */
function workOf(dice: Dice): JsonObject {
  return {
    ...(dice.is(60) && {
      work: {
        job: { podSpec, rebootsNode: dice.is(50), timeoutSeconds: 120, attempts: dice.whole(1, 2) },
      },
    }),
    ...(dice.is(30) && { prepare: { job: { podSpec, timeoutSeconds: 90 } } }),
    ...(dice.is(30) && {
      gates: [{ name: 'healthy', workloads: {}, forSeconds: dice.of([0, 10]) }],
    }),
  };
}

/** In which order, and how many at once. */
function paceOf(dice: Dice): JsonObject {
  return {
    ...(dice.is(30) && { stages: [{ name: 'first', limit: 1, soakSeconds: dice.of([0, 15]) }] }),
    ...(dice.is(30) && { order: { by: dice.of([['Zone', 'Name'], ['Age'], ['Name']]) } }),
    ...(dice.is(20) && {
      hooks: [
        {
          name: 'told',
          at: dice.of(['BeforeNode', 'AfterNode', 'BeforeStage']),
          job: { podSpec },
          onFailure: 'Continue',
        },
      ],
    }),
    ...(dice.is(30) && { halt: { consecutive: 0, inFirstStage: 0, maxFailures: '100%' } }),
  };
}

function planConcurrency(dice: Dice): JsonObject {
  return {
    maxInFlight: dice.of<number | string>([1, 2, 3, '50%']),
    ...(dice.is(60) && { maxUnavailable: dice.of<number | string>([1, 2, '34%', '50%', '67%']) }),
    ...(dice.is(20) && {
      perTopology: [{ key: 'topology.kubernetes.io/zone', maxUnavailable: 1 }],
    }),
    ...(dice.is(15) && { ramp: { start: 1, factor: 2 } }),
    foreignCordon: dice.of(['Wait', 'TakeFirst', 'Skip']),
  };
}

/** Somebody lets a paused plan go on. */
function resumed(dice: Dice, pausedAtMs: number, faultyMs: number): StoryPlan['edits'][number] {
  return {
    atMs: pausedAtMs + dice.share() * (faultyMs - pausedAtMs),
    spec: { state: 'Running', pause: null },
  };
}

/** Somebody changes the plan while it runs: its work, its limits, or whether it goes on. */
function planEditsOf(dice: Dice, faultyMs: number): StoryPlan['edits'] {
  if (!dice.is(40)) return [];
  const other = { containers: [{ name: 'work', image: 'example.test/work:2' }] };
  const atMs = dice.share() * faultyMs;
  const spec = dice.of<() => JsonObject>([
    () => ({ work: { job: { podSpec: other, rebootsNode: dice.is(50), timeoutSeconds: 120 } } }),
    () => ({ work: { none: {} } }),
    () => ({ concurrency: planConcurrency(dice) }),
    () => ({ state: 'Paused' }),
    () => ({ runID: '2' }),
    () => ({ retries: [{ name: '*', before: timeAt(atMs) }] }),
    () => ({ skipNodes: [{ name: 'n1', reason: 'it is broken' }] }),
  ])();
  return [{ atMs, spec }, ...(spec['state'] === 'Paused' ? [resumed(dice, atMs, faultyMs)] : [])];
}

/** A pause that ends by itself. */
function pauseOf(dice: Dice, faultyMs: number): StoryPlan['edits'][number] {
  const atMs = dice.share() * faultyMs;
  return {
    atMs,
    spec: {
      state: 'Paused',
      pause: { reason: 'a release', until: timeAt(atMs + dice.share() * faultyMs) },
    },
  };
}

/** An edit of the work that is taken back, and a canary that is skipped: of dice of their own. */
function editsTakenBack(dice: Dice, { spec }: StoryPlan, faultyMs: number): StoryPlan['edits'] {
  const [first, second] = [dice.share(), dice.share()].toSorted((one, other) => one - other) as [
    number,
    number,
  ];
  const other = {
    job: {
      podSpec: { containers: [{ name: 'work', image: 'example.test/work:3' }] },
      timeoutSeconds: 120,
    },
  };
  return [
    ...(dice.is(20)
      ? [
          { atMs: first * faultyMs, spec: { work: other } },
          { atMs: second * faultyMs, spec: { work: spec['work'] ?? { none: {} } } },
        ]
      : []),
    ...(dice.is(15)
      ? [
          {
            atMs: dice.share() * faultyMs,
            spec: { skipNodes: [{ name: `n${dice.whole(1, 3)}`, reason: 'its disk is broken' }] },
          },
        ]
      : []),
  ];
}

/** What people change their minds about, in plans of which all else is drawn already. */
export function withSecondThoughts(
  dice: Dice,
  faultyMs: number,
  plans: readonly StoryPlan[],
): readonly StoryPlan[] {
  return plans.map(plan => ({
    ...plan,
    edits: [...plan.edits, ...editsTakenBack(dice, plan, faultyMs)],
  }));
}

/** Drawn last, so that the rest of the plans is the same with it and without. */
function withMore(dice: Dice, faultyMs: number, plans: readonly StoryPlan[]): readonly StoryPlan[] {
  return plans.map(plan => ({
    ...plan,
    spec: { ...plan.spec, ...(dice.is(50) && { onDelete: 'FinishNodes' }) },
    edits: [...plan.edits, ...(dice.is(20) ? [pauseOf(dice, faultyMs)] : [])],
  }));
}

/** Of a node that somebody has to decide about, a story would wait for ever. */
const template = { maintenance: { drain: { force: true, deleteEmptyDirData: true } } };

/**
 * One of three stories has plans, of dice of their own: the rest is the same with them and without.
 */
export function plansOf(dice: Dice, faultyMs: number): readonly StoryPlan[] {
  return dice.is(33)
    ? withMore(
        dice,
        faultyMs,
        dice.times(dice.whole(1, 2), index => ({
          name: `plan-${index}`,
          atMs: dice.share() * faultyMs * 0.5,
          spec: {
            nodeSelector: allButTheFirst,
            work: { none: {} },
            template,
            soakSeconds: dice.of([0, 5, 20]),
            controlPlane: 'AsSelected',
            concurrency: planConcurrency(dice),
            ...(dice.is(40) && { onFailure: { drainStuck: { afterSeconds: 60, times: 1 } } }),
            ...workOf(dice),
            ...paceOf(dice),
          },
          edits: planEditsOf(dice, faultyMs),
          ...(dice.is(20) && { deleteAtMs: dice.share() * faultyMs }),
        })),
      )
    : [];
}

/**
 * Every other story with machines has a plan that replaces them. Nodes without a machine, which
 * nothing would replace, are skipped.
 */
export function replacementOf(
  dice: Dice,
  nodes: readonly NodePlan[],
  faultyMs: number,
): readonly StoryPlan[] {
  if (!dice.is(50)) return [];
  const atMs = dice.share() * faultyMs * 0.5;
  const pausedAtMs = dice.share() * faultyMs;
  const pause = [
    { atMs: pausedAtMs, spec: { state: 'Paused' } },
    resumed(dice, pausedAtMs, faultyMs),
  ];
  const edit = dice.of<() => StoryPlan['edits']>([
    () => [],
    () => pause,
    () => [{ atMs: dice.share() * faultyMs, spec: { concurrency: planConcurrency(dice) } }],
    () => [{ atMs: dice.share() * faultyMs, spec: { runID: '2' } }],
    () => [{ atMs: dice.share() * faultyMs, spec: { work: { none: {} } } }],
  ]);
  return [
    {
      name: 'replacement',
      atMs,
      spec: {
        nodeSelector: allButTheFirst,
        skipNodes: nodes.map(({ name }) => ({ name, reason: 'it has no machine' })),
        controlPlane: 'AsSelected',
        concurrency: planConcurrency(dice),
        // For when its work is edited into another.
        template,
        work: { replace: { strategy: dice.of(['Replace', 'ReplaceWithSurge']) } },
        ...(dice.is(50) && { onDelete: 'FinishNodes' }),
        ...paceOf(dice),
      },
      edits: edit(),
      ...(dice.is(20) && { deleteAtMs: dice.share() * faultyMs }),
    },
  ];
}

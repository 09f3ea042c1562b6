import { revisionOfRun } from '../plan/contest.ts';
import type { Plan, Work } from '../plan/plan.ts';
import { type Hook, hookPlaces } from '../plan/pods/hook.ts';
import type { Approval } from '../plan/snapshot.ts';
import type { MaintenanceWindow } from '../window/spans.ts';
import { at } from './make.ts';
import { makePlan } from './make-plan.ts';
import { makeWindow } from './make-window.ts';

/** Plans and windows of stories: drawn by dice, the same for the same seed. */

export const zoneLabel = 'topology.kubernetes.io/zone';

/** Park and Miller's generator: a story is told again by its number. */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = (seed * 48_271 + 11) % 2_147_483_647;
    for (let warm = 0; warm < 5; warm += 1) this.#next();
  }

  #next(): number {
    this.#state = (this.#state * 48_271) % 2_147_483_647;
    return this.#state / 2_147_483_647;
  }

  below(limit: number): number {
    return Math.floor(this.#next() * limit);
  }

  chance(share: number): boolean {
    return this.#next() < share;
  }

  pick<T>(list: readonly T[]): T | undefined {
    return list[this.below(list.length)];
  }
}

function workOf(dice: Dice): Work {
  const job = {
    kind: 'job',
    podSpec: { containers: [] },
    timeoutSeconds: 60,
    attempts: 1 + dice.below(2),
  } as const;
  return dice.pick<Work>([
    { kind: 'none' },
    { ...job, rebootsNode: false },
    { ...job, rebootsNode: true },
  ]) as Work;
}

function hookOf(dice: Dice, name: string): Hook {
  return {
    name,
    at: dice.pick(hookPlaces) ?? 'BeforeRun',
    podSpec: { containers: [] },
    timeoutSeconds: 90,
    onFailure: dice.chance(0.5) ? 'Pause' : 'Continue',
  };
}

/** What is asked beside the nodes themselves, and what gets them ready. */
function asideOf(dice: Dice): Pick<Plan, 'gates' | 'prepare' | 'hooks'> {
  return {
    hooks: dice.chance(0.25) ? [hookOf(dice, 'one'), hookOf(dice, 'two')] : [],
    gates: dice.chance(0.25)
      ? [
          {
            name: 'calm',
            kind: 'workloads',
            namespaces: [],
            at: ['BeforeNode', 'Soak'],
            onFalse: dice.chance(0.3) ? 'Halt' : 'Wait',
            forSeconds: dice.below(15),
          },
        ]
      : [],
    ...(dice.chance(0.25) && {
      prepare: { podSpec: { containers: [] }, timeoutSeconds: 60, refusalCode: 3 },
    }),
  };
}

function concurrencyOf(dice: Dice): Plan['concurrency'] {
  return {
    maxInFlight: dice.pick([1, 2, 5, '50%']) ?? 1,
    foreignCordon: dice.pick(['Wait', 'TakeFirst', 'Skip']) ?? 'Wait',
    perTopology: dice.chance(0.3) ? [{ key: zoneLabel, maxUnavailable: 1 }] : [],
    ...(dice.chance(0.7) && { maxUnavailable: dice.pick([1, 2, 3, '25%']) ?? 1 }),
    ...(dice.chance(0.3) && { maxUnavailableAbsolute: 1 + dice.below(3) }),
    ...(dice.chance(0.4) && { startsPerWindow: 1 + dice.below(4) }),
    ...(dice.chance(0.3) && { ramp: { start: 1, factor: 2 } }),
  };
}

/** A plan that has not begun. */
export function randomPlan(dice: Dice, name: string): Plan {
  const work = workOf(dice);
  const reboots = work.kind === 'job' && work.rebootsNode;
  const { run: _run, ...plan } = makePlan({
    key: name,
    name,
    uid: `uid-${name}`,
    work,
    onDelete: dice.chance(0.5) ? 'FinishNodes' : 'Release',
    expressions: dice.chance(0.5) ? { due: 'is it patched' } : {},
    rebooted: reboots ? 'Required' : 'Optional',
    provenWithinSeconds: 20,
    soakSeconds: dice.pick([0, 5, 20]) ?? 0,
    soakAfterReleaseSeconds: dice.pick([0, 10]) ?? 0,
    onFailure: dice.chance(0.5) ? 'Hold' : 'Release',
    controlPlane: dice.pick(['First', 'Last', 'Never', 'AsSelected']) ?? 'First',
    first: dice.chance(0.2) ? [`n${dice.below(9)}`, `n${dice.below(9)}`] : [],
    ...(dice.chance(0.4) && { starvedAfterSeconds: 1 + dice.below(60) }),
    stages: dice.chance(0.5)
      ? [{ name: 'canary', limit: 1, soakSeconds: dice.below(30), approveAfter: dice.chance(0.4) }]
      : [],
    needsApproval: dice.chance(0.15),
    ...(dice.chance(0.5) && { approvalExpiresAfter: 5 + dice.below(100) }),
    concurrency: concurrencyOf(dice),
    ...(dice.chance(0.3) && {
      pace: {
        deadline: at(dice.below(400)),
        mode: dice.pick(['AsSoonAsPossible', 'Spread'] as const) ?? 'Spread',
      },
    }),
    ...asideOf(dice),
    expectedSeconds: 5 + dice.below(40),
    halt: dice.chance(0.3) ? { maxFailures: 2 } : {},
    ...(dice.chance(0.3) && { drainStuck: { afterSeconds: 40, times: 1 } }),
    finalizers: [],
  });
  return plan;
}

/** Openings every five minutes, one by one: a rule costs more to ask, and has tests of its own. */
function openingsOf(dice: Dice): MaintenanceWindow['openings'] {
  const [first, seconds] = [dice.below(100) - 100, dice.pick([60, 150, 300]) ?? 60];
  return Array.from({ length: 5 }, (_, index) => ({
    from: at(first + index * 300),
    to: at(first + index * 300 + seconds),
  }));
}

/**
 * None in most stories; else windows that open every five minutes, for all nodes or those of a
 * zone.
 */
export function randomWindows(dice: Dice): readonly MaintenanceWindow[] {
  return dice.chance(0.6)
    ? []
    : Array.from({ length: 1 + dice.below(2) }, (_, index) =>
        makeWindow({
          key: `w${index}`,
          name: `w${index}`,
          kinds: ['MaintenancePlan'],
          openings: openingsOf(dice),
          ...(dice.chance(0.3) && {
            nodeSelector: { matchLabels: { [zoneLabel]: `z${dice.below(3)}` } },
          }),
        }),
      );
}

/** What somebody agrees to of the run that is under way. */
export function randomApproval(
  dice: Dice,
  { name, run, specHash }: Plan,
  now: Temporal.Instant,
): Approval {
  const given = dice.pick<Pick<Approval, 'stage' | 'promote'>>([
    {},
    { stage: 'canary' },
    { stage: 'canary', promote: 'Stage' },
    { promote: 'Full' },
  ]);
  const uid = `${name}-${now.epochMilliseconds}`;
  return {
    key: uid,
    uid,
    resourceVersion: '1',
    createdAt: now,
    plan: name,
    run: run?.id ?? '',
    revision: run === undefined ? '' : revisionOfRun(run),
    specHash,
    ...given,
  };
}

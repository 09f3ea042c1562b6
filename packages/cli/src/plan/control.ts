import type { JsonObject } from '@drydock/apimachinery';
import { timeText } from '@drydock/apimachinery';
import type { Connection } from '@drydock/kube-client';
import type { Env } from '@drydock/utils';
import { UsageError } from '@drydock/utils';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { plainOutput } from '../shared/output.ts';
import { withCluster } from '../shared/with-cluster.ts';
import { isPaused } from './pause.ts';
import {
  changePlan,
  goesOn,
  type PlanObject,
  planNamed,
  recordsOf,
  titleOfPlan,
} from './why-plans.ts';

/** A switch of a plan: its change of the spec, and its messages. */
type Switch = {
  readonly spec: JsonObject;
  /** Whether the switch is already set. */
  readonly isSet: (plan: PlanObject, now: Temporal.Instant) => boolean;
  readonly done: string;
  readonly note: (plan: PlanObject) => string | undefined;
};

const switches = {
  resume: {
    spec: { state: 'Running', pause: null },
    isSet: (plan, now) => !isPaused(plan, now),
    done: 'resumed',
    note: ({ metadata, spec }) =>
      spec.state === 'Aborted'
        ? `plan ${metadata.name} is aborted; begin again with: drydock plan rerun ${metadata.name}`
        : undefined,
  },
  abort: {
    spec: { state: 'Aborted' },
    isSet: ({ spec }) => spec.state === 'Aborted',
    done: 'aborted',
    note: ({ status }) => {
      const many = status?.inFlight?.length ?? 0;
      return many === 0
        ? undefined
        : `${many} in flight: nodes whose work has not begun are released, the others are finished`;
    },
  },
} as const satisfies Readonly<Record<string, Switch>>;

export type PlanSwitch = keyof typeof switches;

/** `drydock plan resume|abort NAME`. Throws an ApiError with the server's message. */
export function setSwitch(
  word: PlanSwitch,
  name: string,
  flags: ConnectionFlags,
  env: Env,
): Promise<void> {
  return withCluster(flags, env, async api => {
    const { spec, isSet, done, note }: Switch = switches[word];
    const before = await changePlan(api, name, plan =>
      isSet(plan, api.clock.now()) ? undefined : spec,
    );
    plainOutput.line(
      `${titleOfPlan(name)} ${isSet(before, api.clock.now()) ? (word === 'resume' ? 'is not paused' : `already ${done}`) : done}`,
    );
    const more = note(before);
    if (more !== undefined) plainOutput.note(more);
  });
}

/**
 * Returns an unused run id: one more than the highest number, or the time where the present id is
 * not a number.
 */
export function nextRunId(current: string, used: readonly string[], now: Temporal.Instant): string {
  if (!/^\d{1,15}$/.test(current)) return timeText(now);
  const numbers = [current, ...used].filter(id => /^\d{1,15}$/.test(id)).map(Number);
  return String(Math.max(...numbers) + 1);
}

/**
 * Starts a new run; `change` returns further changes of the spec, and throws to refuse. Resolves
 * with the plan as it was before.
 */
async function beginRun(
  api: Connection,
  name: string,
  change: (plan: PlanObject) => JsonObject | undefined,
): Promise<RunBegun> {
  const used = (await recordsOf(api, await planNamed(api, name))).map(({ run }) => run);
  let run: string | undefined;
  const before = await changePlan(api, name, plan => {
    const { spec, status } = plan;
    const more = change(plan);
    run =
      more &&
      nextRunId(
        spec.runID ?? '1',
        status?.run === undefined ? used : [...used, status.run.id],
        api.clock.now(),
      );
    return run === undefined
      ? undefined
      : { ...more, runID: run, ...(spec.state === 'Aborted' && { state: 'Running', pause: null }) };
  });
  return { before, run };
}

type RunBegun = { readonly before: PlanObject; readonly run: string | undefined };

function noteIfPaused(plan: PlanObject, name: string, now: Temporal.Instant): void {
  if (isPaused(plan, now))
    plainOutput.note(`plan ${name} is paused; continue it with: drydock plan resume ${name}`);
}

/**
 * `drydock plan rerun NAME`: starts a new run, and goes forward again from a plan that was aborted
 * or undone. Throws an ApiError with the server's message.
 */
export function rerun(name: string, flags: ConnectionFlags, env: Env): Promise<void> {
  return withCluster(flags, env, async api => {
    const { before, run } = await beginRun(api, name, ({ spec }) =>
      spec.direction === 'Rollback' ? { direction: 'Forward' } : {},
    );
    plainOutput.line(`${titleOfPlan(name)} begins run ${run}`);
    noteIfPaused(before, name, api.clock.now());
  });
}

/**
 * `drydock plan undo NAME`: starts a new run that reverts the work, by spec.rollback. Throws a
 * UsageError where the plan has none.
 */
export function undo(name: string, flags: ConnectionFlags, env: Env): Promise<void> {
  return withCluster(flags, env, async api => {
    const { before, run } = await beginRun(api, name, ({ spec }) => {
      if (spec.rollback === undefined)
        throw new UsageError(
          `plan ${name} has no spec.rollback, which defines how its work is undone: drydock plan undo needs it`,
        );
      return spec.direction === 'Rollback' && spec.state !== 'Aborted'
        ? undefined
        : { direction: 'Rollback' };
    });
    if (run === undefined)
      return plainOutput.line(
        `${titleOfPlan(name)} already undone; it goes forward again with: drydock plan rerun ${name}`,
      );
    plainOutput.line(`${titleOfPlan(name)} is undone by run ${run}`);
    const going = goesOn(before);
    if (going !== undefined) plainOutput.note(going);
    noteIfPaused(before, name, api.clock.now());
  });
}

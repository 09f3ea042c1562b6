import type { JsonObject } from '@drydock/apimachinery';
import { joinRows, timeText } from '@drydock/apimachinery';
import { readMaintenancePlan } from '@drydock/apis';
import type { RecordSlice } from '@drydock/core/plan';
import { isSetAside, type Verdict, verdictTypes } from '@drydock/core/plan';
import { columns, UsageError } from '@drydock/utils';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { printText, written } from '../shared/output.ts';
import { withCluster } from '../shared/with-cluster.ts';
import { type ShownVerdict, shownVerdicts, verdictJson, verdictsTable } from './status-text.ts';
import { type PlanObject, planNamed, recordsOf } from './why-plans.ts';

export type HistoryFlags = ConnectionFlags & {
  readonly output: 'table' | 'json' | 'yaml';
  readonly run?: string;
};

/** One run, as shown. */
type ShownRun = {
  readonly run: string;
  readonly revision: string;
  /** Phase of the plan, for the current or last run. */
  readonly phase?: string;
  readonly verdicts: Readonly<Record<Verdict, number>>;
  readonly started: string;
  readonly completed?: string;
};

function shownRun(slices: readonly RecordSlice[], phase: string | undefined): ShownRun {
  const all = slices.flatMap(({ verdicts }) => verdicts);
  const many = (word: Verdict): number => all.filter(({ verdict }) => verdict === word).length;
  const sorted = (times: readonly Temporal.Instant[]): readonly Temporal.Instant[] =>
    times.toSorted((one, other) => Temporal.Instant.compare(one, other));
  const [started] = sorted(all.map(({ startedAt }) => startedAt));
  const completed = sorted(all.map(({ completedAt }) => completedAt)).at(-1);
  return {
    run: slices[0]?.run ?? '',
    revision: slices[0]?.revision ?? '',
    verdicts: Object.fromEntries(verdictTypes.map(word => [word, many(word)])) as Record<
      Verdict,
      number
    >,
    started: started === undefined ? '' : timeText(started),
    ...(phase !== undefined && { phase }),
    ...(completed && { completed: timeText(completed) }),
  };
}

/** Returns the runs of a plan, the latest last, including the current one without records. */
export function runsOf(
  { status }: Pick<PlanObject, 'status'>,
  slices: readonly RecordSlice[],
): readonly ShownRun[] {
  const now = status?.run;
  const groups = Map.groupBy(slices, ({ run, revision }) => JSON.stringify([run, revision]));
  const isNow = (run: string, revision: string): boolean =>
    run === now?.id && revision === now.revision;
  const runs = [...groups.values()].map(group => {
    const [first] = group;
    return shownRun(group, first && isNow(first.run, first.revision) ? status?.phase : undefined);
  });
  const begun: ShownRun[] =
    now === undefined || runs.some(({ run, revision }) => isNow(run, revision))
      ? []
      : [
          {
            ...shownRun([], status?.phase),
            run: now.id,
            revision: now.revision,
            started: now.startTime,
          },
        ];
  return [...runs.toSorted((one, other) => (one.started < other.started ? -1 : 1)), ...begun];
}

export function historyTable(runs: readonly ShownRun[]): string {
  const head = [
    'RUN',
    'REVISION',
    'PHASE',
    ...verdictTypes.map(word => word.toUpperCase()),
    'STARTED',
    'LAST COMPLETED',
  ];
  const rows = runs.map(({ run, revision, phase, verdicts, started, completed }) => [
    run,
    revision,
    phase ?? '-',
    ...verdictTypes.map(word => String(verdicts[word])),
    started,
    completed ?? '-',
  ]);
  return joinRows(columns([head, ...rows], 3));
}

function shown(value: JsonObject, text: string, { output }: HistoryFlags): string {
  return output === 'table' ? text : written(value, output);
}

/**
 * One run with the verdicts of its nodes; several of these share an id where the work was edited
 * and the run kept its id.
 */
type RunVerdicts = ShownRun & { readonly nodes: readonly ShownVerdict[] };

/**
 * Returns the verdicts of the run with this id. Throws a UsageError where there are none: the
 * records of old runs are deleted.
 */
export function verdictsOfRun(
  plan: PlanObject,
  slices: readonly RecordSlice[],
  id: string,
): readonly RunVerdicts[] {
  const runs = runsOf(plan, slices);
  const found = runs.filter(({ run }) => run === id);
  if (found.length === 0) {
    const known = [...new Set(runs.map(({ run }) => run))].join(', ');
    throw new UsageError(
      `plan ${plan.metadata.name} has no record of run ${id}; ${known === '' ? 'it has none' : `those it has: ${known}`}`,
    );
  }
  const read = readMaintenancePlan(plan);
  const { run: now } = plan.status ?? {};
  return found.map(one => {
    const ofIt = slices.filter(({ run, revision }) => run === one.run && revision === one.revision);
    const isNow = now?.id === one.run && now.revision === one.revision;
    return { ...one, nodes: shownVerdicts(ofIt, verdict => isNow && isSetAside(verdict, read)) };
  });
}

function runText({ nodes, ...run }: RunVerdicts): string {
  return `${historyTable([run])}\n\n${nodes.length === 0 ? 'No node has a verdict in this run yet.' : verdictsTable(nodes)}`;
}

/**
 * `drydock plan history NAME`: prints the runs of a plan from its records; with --run, the nodes of
 * one. Writes nothing.
 */
export function history(
  name: string,
  flags: HistoryFlags,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  return withCluster(flags, env, async api => {
    const plan = await planNamed(api, name);
    const slices = await recordsOf(api, plan);
    if (flags.run !== undefined) {
      const runs = verdictsOfRun(plan, slices, flags.run);
      const value = {
        runs: runs.map(({ nodes, ...run }) => ({ ...run, nodes: nodes.map(verdictJson) })),
      };
      return printText(shown(value, runs.map(runText).join('\n\n'), flags));
    }
    const runs = runsOf(plan, slices);
    const text = runs.length === 0 ? `Plan ${name} has not begun a run.` : historyTable(runs);
    printText(shown({ runs: [...runs] }, text, flags));
  });
}

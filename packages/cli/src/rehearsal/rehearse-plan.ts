import { writeFileSync } from 'node:fs';
import type { JsonObject } from '@drydock/apimachinery';
import { planApi, summaryText } from '@drydock/core/plan';
import { text } from '@drydock/kube-sim';
import { rehearsalManager } from '@drydock/rehearse';
import type { PlanRunProgress } from '@drydock/rehearse/plan';
import {
  comparisonPicture,
  comparisonText,
  nodesOfPlan,
  type PlanForecast,
  type PlanSetting,
  planForecastText,
  planSummary,
  playablePlan,
  rehearsePlan,
  settingText,
} from '@drydock/rehearse/plan';
import { durationText, forecastPicture } from '@drydock/rehearse/report';
import { type ClusterSnapshot, ofKind } from '@drydock/rehearse/snapshot';
import { learnWork } from '@drydock/rehearse/timings';
import { errorText, UsageError } from '@drydock/utils';
import { amount } from '../shared/fail.ts';
import { documentsIn, plainOutput, printText, written } from '../shared/output.ts';
import {
  asUsage,
  type CopyFlags,
  copyOf,
  defaultSeeds,
  endProgress,
  horizonMsOf,
  progressLine,
  secondsOf,
  seedsOf,
  timingOf,
} from './copy-flags.ts';

export type RehearsePlanFlags = CopyFlags & {
  readonly parallel?: string;
  readonly compare?: boolean;
  readonly workTime?: string;
  readonly rebootTime?: string;
  readonly hookTime: string;
  readonly summaryFile?: string;
  readonly output: 'text' | 'json' | 'svg';
};

/** Returns whether the argument is a file: a plan's name has no slash and no file extension. */
function isFile(what: string): boolean {
  return what === '-' || what.includes('/') || /\.(ya?ml|json)$/.test(what);
}

function planIn(file: string): JsonObject {
  const plans = documentsIn(file).filter(
    one => one['kind'] === 'MaintenancePlan' && one['apiVersion'] === planApi,
  );
  const [plan, another] = plans;
  if (plan === undefined) throw new UsageError(`${file} contains no MaintenancePlan of ${planApi}`);
  if (another !== undefined)
    throw new UsageError(
      `${file} contains ${plans.length} MaintenancePlans: a rehearsal simulates one`,
    );
  if (text(plan, 'metadata', 'name') === '')
    throw new UsageError(`${file}: the MaintenancePlan has no metadata.name`);
  return plan;
}

function planNamed(copy: ClusterSnapshot, name: string): JsonObject {
  const found = ofKind(copy.objects, 'MaintenancePlan').find(
    plan => text(plan, 'metadata', 'name') === name,
  );
  if (found !== undefined) return found;
  const refused = copy.leftOut.find(what => what.startsWith('maintenanceplans:'));
  if (refused !== undefined) throw new UsageError(`plan ${name} cannot be looked up: ${refused}`);
  throw new UsageError(
    `maintenanceplans "${name}" not found; a plan that is not made yet is rehearsed from its file: drydock plan rehearse ${name}.yaml`,
  );
}

/**
 * Returns the settings to simulate: those of --parallel, and the plan's own where there are none,
 * or with --compare.
 */
function settingsOf({ parallel, compare }: RehearsePlanFlags): readonly PlanSetting[] {
  if (parallel === undefined) return [{}];
  const values = parallel
    .split(',')
    .map(value => ({ maxInFlight: amount('--parallel', value.trim()) }));
  return compare === true ? [{}, ...values] : values;
}

function progressOf(
  setting: PlanSetting,
  run: number,
  { done, due, inFlight, madeUpMs }: PlanRunProgress,
): string {
  return `${settingText(setting)}, run ${run}: ${done} nodes done, ${inFlight} in flight, ${due} due, ${durationText(madeUpMs)} of simulated time`;
}

function printed(all: readonly PlanForecast[], output: RehearsePlanFlags['output']): string {
  const [first] = all;
  if (output === 'json') return written({ settings: all }, 'json');
  if (first === undefined) throw new Error('nothing was rehearsed');
  if (output === 'svg')
    return all.length > 1 ? comparisonPicture(all) : forecastPicture(first, 'done');
  return all.length > 1 ? comparisonText(all) : planForecastText(first);
}

/** Writes the summary file; the command then succeeds, whatever the forecast. */
function printSummary(all: readonly PlanForecast[], file: string): void {
  const [first] = all;
  if (first === undefined) throw new Error('nothing was rehearsed');
  try {
    writeFileSync(file, summaryText(planSummary(first)));
  } catch (error) {
    throw new UsageError(`cannot write --summary-file ${file}: ${errorText(error)}`, {
      cause: error,
    });
  }
}

function millisecondsOf(flag: string, value: string | undefined): number | undefined {
  return value === undefined ? undefined : 1000 * secondsOf(flag, value);
}

/**
 * `drydock plan rehearse FILE|NAME`: simulates the plan on a copy, and prints the result. Throws a
 * UsageError for a wrong call.
 */
export async function rehearsePlanCommand(
  what: string,
  flags: RehearsePlanFlags,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const [settings, timing, horizonMs, requestedSeeds] = [
    settingsOf(flags),
    timingOf(flags),
    horizonMsOf(flags),
    seedsOf(flags),
  ];
  const given = {
    workMs: millisecondsOf('--work-time', flags.workTime),
    rebootMs: millisecondsOf('--reboot-time', flags.rebootTime),
  };
  const besideMs = 1000 * secondsOf('--hook-time', flags.hookTime);
  const fromFile = isFile(what) ? planIn(what) : undefined;
  // A plan that cannot be simulated is refused before the whole cluster is read.
  if (fromFile !== undefined) await asUsage(() => playablePlan(fromFile));
  const defects = new Set<string>();
  const manager = rehearsalManager(env, message => void defects.add(message));
  const copy = await copyOf(flags, env);
  const plan = fromFile ?? planNamed(copy, what);
  const seeds = requestedSeeds ?? defaultSeeds(copy, nodesOfPlan(plan, copy));
  const times = { ...learnWork(copy.objects, text(plan, 'metadata', 'name'), given), besideMs };
  const onProgress = (setting: PlanSetting, run: number, progress: PlanRunProgress): void =>
    progressLine(progressOf(setting, run, progress));
  const all = await asUsage(() =>
    rehearsePlan({
      ...manager,
      ...timing,
      copy,
      plan,
      settings,
      times,
      seeds,
      horizonMs,
      onProgress,
    }),
  );
  endProgress();
  for (const defect of defects) plainOutput.note(`error of the operator: ${defect}`);
  printText(printed(all, flags.output));
  if (flags.summaryFile !== undefined) return printSummary(all, flags.summaryFile);
  if (all.some(({ finishes }) => !finishes)) process.exitCode = 1;
}

import type { JsonObject } from '@drydock/apimachinery';
import { matches, parseSelector } from '@drydock/apimachinery';
import type { KindAdapter } from '@drydock/core/request';
import { at, strings, text } from '@drydock/kube-sim';
import { rehearsalManager, rehearse } from '@drydock/rehearse';
import type { RehearsalForecast } from '@drydock/rehearse/report';
import { durationText, forecastText } from '@drydock/rehearse/report';
import type { Order, PlannedMaintenance, RunProgress } from '@drydock/rehearse/simulate';
import { type ClusterSnapshot, ofKind } from '@drydock/rehearse/snapshot';
import type { Env } from '@drydock/utils';
import { UsageError } from '@drydock/utils';
import { maintenanceFor } from '../maintenance/maintain.ts';
import { nodeChoice } from '../shared/nodes.ts';
import { documentsIn, plainOutput, printText, written } from '../shared/output.ts';
import {
  asUsage,
  atLeastOne,
  type CopyFlags,
  copyOf,
  defaultSeeds,
  endProgress,
  horizonMsOf,
  progressLine,
  seedsOf,
  timingOf,
} from './copy-flags.ts';

export type RehearseFlags = CopyFlags & {
  readonly selector?: string;
  readonly all?: boolean;
  readonly filename?: string;
  readonly parallel?: string;
  readonly force?: boolean;
  readonly deleteEmptydirData?: boolean;
  readonly disableEviction?: boolean;
  readonly gracePeriod: string;
  readonly timeout: string;
  readonly output: string;
};

function plannedMaintenanceFor(node: string, flags: RehearseFlags): PlannedMaintenance {
  const object = maintenanceFor(node, { ...flags, level: 'Drain' });
  return { node, name: node, object };
}

function plannedMaintenanceIn(
  file: string,
  object: JsonObject,
  adapters: readonly KindAdapter[],
): PlannedMaintenance {
  const [kind, apiVersion] = [text(object, 'kind'), text(object, 'apiVersion')];
  const adapter = adapters.find(one => one.kind === kind && one.apiVersion === apiVersion);
  if (adapter === undefined)
    throw new UsageError(
      `${file}: ${kind || 'something'} of ${apiVersion || 'no group'} is no maintenance`,
    );
  const [node, name] = [text(object, 'spec', 'nodeName'), text(object, 'metadata', 'name')];
  if (node === '' || name === '')
    throw new UsageError(`${file}: a ${kind} has no ${name === '' ? 'name' : 'spec.nodeName'}`);
  const { status: _status, ...rest } = object;
  return { node, name, object: rest };
}

/** Returns the maintenances of a file. Throws a UsageError that names the file. */
function plannedMaintenancesIn(
  file: string,
  adapters: readonly KindAdapter[],
): readonly PlannedMaintenance[] {
  const plannedMaintenances = documentsIn(file).map(object =>
    plannedMaintenanceIn(file, object, adapters),
  );
  if (plannedMaintenances.length === 0) throw new UsageError(`${file} contains no maintenance`);
  return plannedMaintenances;
}

function nodesIn(
  copy: ClusterSnapshot,
  names: readonly string[],
  { selector, all }: RehearseFlags,
): readonly string[] {
  const known = ofKind(copy.objects, 'Node');
  if (all === true && (names.length > 0 || selector !== undefined))
    throw new UsageError('--all cannot be combined with names or --selector');
  if (all === true) return known.map(node => text(node, 'metadata', 'name'));
  const choice = nodeChoice('rehearse', names, selector);
  const wanted = choice.selector === undefined ? undefined : parseSelector(choice.selector);
  if (wanted === undefined) return [...new Set(choice.names)];
  const picked = known
    .filter(node => matches(wanted, strings(at(node, 'metadata', 'labels'))))
    .map(node => text(node, 'metadata', 'name'));
  if (picked.length === 0)
    throw new UsageError(`no node has the labels of --selector "${selector ?? ''}"`);
  return picked;
}

/** Checks that every node exists, and that each is drained once. */
function checked(
  copy: ClusterSnapshot,
  plannedMaintenances: readonly PlannedMaintenance[],
): readonly PlannedMaintenance[] {
  const known = new Set(ofKind(copy.objects, 'Node').map(node => text(node, 'metadata', 'name')));
  const stranger = plannedMaintenances.find(({ node }) => !known.has(node));
  if (stranger !== undefined) throw new UsageError(`nodes "${stranger.node}" not found`);
  const twice = plannedMaintenances.find(
    ({ node }, index) => plannedMaintenances.findIndex(one => one.node === node) < index,
  );
  if (twice !== undefined && plannedMaintenances.length < 1000)
    throw new UsageError(`node ${twice.node} is named twice`);
  return plannedMaintenances;
}

/**
 * Returns the progress line. The last run may be followed by another, with a policy that refuses no
 * pods.
 */
function progressOf(
  seeds: number,
  run: number,
  { drained, of, gone, madeUpMs }: RunProgress,
): string {
  const which = run > seeds ? 'one more run, with no pod refused' : `run ${run} of ${seeds}`;
  return `${which}: ${drained} of ${of} nodes done, ${gone} pods moved, ${durationText(madeUpMs)} of simulated time`;
}

async function printed(forecast: RehearsalForecast, output: string): Promise<string> {
  if (output === 'json') return written(forecast, 'json');
  if (output === 'svg') return (await import('@drydock/rehearse/report')).forecastPicture(forecast);
  return forecastText(forecast);
}

function orderOf(plannedMaintenances: readonly PlannedMaintenance[], flags: RehearseFlags): Order {
  return {
    plannedMaintenances,
    ...(flags.parallel !== undefined && { parallel: atLeastOne('--parallel', flags.parallel) }),
    horizonMs: horizonMsOf(flags),
  };
}

/** Checks the flags before anything is read. */
function check(names: readonly string[], flags: RehearseFlags): void {
  orderOf([], flags);
  maintenanceFor('any', { ...flags, level: 'Drain' });
  if (flags.filename === undefined && flags.all !== true)
    nodeChoice('rehearse', names, flags.selector);
  if (
    flags.filename !== undefined &&
    (names.length > 0 || flags.selector !== undefined || flags.all === true)
  )
    throw new UsageError('--filename cannot be combined with names, --selector or --all');
}

/**
 * `drydock rehearse`: simulates the maintenances on a copy, and prints the result. Throws a
 * UsageError for a wrong call.
 */
export async function rehearseCommand(
  names: readonly string[],
  flags: RehearseFlags,
  env: Env,
): Promise<void> {
  check(names, flags);
  const requestedSeeds = seedsOf(flags);
  const timing = timingOf(flags);
  const defects = new Set<string>();
  const controllerManager = rehearsalManager(env, message => void defects.add(message));
  const fromFile =
    flags.filename === undefined
      ? undefined
      : plannedMaintenancesIn(flags.filename, controllerManager.adapters);
  const copy = await copyOf(flags, env);
  const plannedMaintenances =
    fromFile ?? nodesIn(copy, names, flags).map(node => plannedMaintenanceFor(node, flags));
  const order = orderOf(checked(copy, plannedMaintenances), flags);
  const seeds =
    requestedSeeds ?? defaultSeeds(copy, new Set(plannedMaintenances.map(({ node }) => node)));
  const onProgress = (run: number, progress: RunProgress): void =>
    progressLine(progressOf(seeds, run, progress));
  const forecast = await asUsage(() =>
    rehearse({ ...controllerManager, copy, order, seeds, ...timing, onProgress }),
  );
  endProgress();
  for (const defect of defects) plainOutput.note(`error of the operator: ${defect}`);
  printText(await printed(forecast, flags.output));
  if (!forecast.finishes) process.exitCode = 1;
}

import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { isObject, type JsonObject } from '../../core/json.ts';
import { parseSelector } from '../../core/pod/parse-selector.ts';
import { matches } from '../../core/pod/selector.ts';
import type { KindAdapter } from '../../core/request/request.ts';
import type { ClientLimit } from '../../embedded/controllers/request-limits.ts';
import { at, strings, text } from '../../embedded/object.ts';
import { rehearse } from '../../rehearse/rehearse.ts';
import type { Forecast } from '../../rehearse/report/forecast.ts';
import { durationText, forecastText } from '../../rehearse/report/words.ts';
import { type Order, type PlannedMaintenance, PlannedMaintenanceError, type Progress } from '../../rehearse/simulate/run.ts';
import { type ClusterSnapshot, ofKind } from '../../rehearse/snapshot/cluster-snapshot.ts';
import { readCopy, SnapshotError } from '../../rehearse/snapshot/files.ts';
import { takeCopy } from '../../rehearse/snapshot/take.ts';
import { systemClock } from '../../support/clock.ts';
import { maintenanceFor } from '../maintenance/maintain.ts';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { UsageError } from '../shared/fail.ts';
import { integer, seconds } from '../shared/go-values.ts';
import { nodeChoice } from '../shared/nodes.ts';
import { plainOutput } from '../shared/output.ts';
import { withCluster } from '../shared/with-cluster.ts';
import { rehearsalManager } from './rehearsal-manager.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type RehearseFlags = ConnectionFlags & {
  readonly selector?: string;
  readonly all?: boolean;
  readonly filename?: string;
  readonly snapshot?: string;
  readonly parallel?: string;
  readonly seeds?: string;
  readonly force?: boolean;
  readonly deleteEmptydirData?: boolean;
  readonly disableEviction?: boolean;
  readonly gracePeriod: string;
  readonly timeout: string;
  readonly startTime: string;
  readonly stopTime: string;
  readonly kubeApiQps?: string;
  readonly kubeApiBurst?: string;
  readonly horizon: string;
  readonly output: string;
};

const atLeastOne = (flag: string, text: string): number => {
  const value = integer(flag, text);
  if (value < 1) throw new UsageError(`invalid value "${text}" for ${flag}: expected a whole number, 1 or more`);
  return value;
};

const positive = (flag: string, text: string): number => {
  const value = seconds(flag, text);
  if (value < 0) throw new UsageError(`invalid value "${text}" for ${flag}: expected a duration of 0 or more`);
  return value;
};

/** What is wrong with a copy or a wish is a wrong call. */
const asUsage = async <T>(work: () => T | Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SnapshotError || error instanceof PlannedMaintenanceError) throw new UsageError(error.message, { cause: error });
    throw error;
  }
};

const copyOf = async (flags: RehearseFlags, env: Env): Promise<ClusterSnapshot> => {
  const { snapshot } = flags;
  if (snapshot !== undefined) return asUsage(() => readCopy(snapshot));
  const copies: ClusterSnapshot[] = [];
  await withCluster(flags, env, async connection => {
    const tell = (plural: string, count: number): void => progressLine(`read ${count} ${plural}`);
    copies.push(await takeCopy({ api: connection, now: () => systemClock.now(), tell }));
  });
  const [copy] = copies;
  if (copy === undefined) throw new Error('the cluster has not been read');
  return copy;
};

const plannedMaintenanceFor = (node: string, flags: RehearseFlags): PlannedMaintenance => {
  const object = maintenanceFor(node, { ...flags, stage: 'Drain' });
  return { node, name: node, object };
};

const textIn = (file: string): string => {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw new UsageError(`cannot read ${file}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
};

const plannedMaintenanceIn = (file: string, object: JsonObject, adapters: readonly KindAdapter[]): PlannedMaintenance => {
  const [kind, apiVersion] = [text(object, 'kind'), text(object, 'apiVersion')];
  const adapter = adapters.find(one => one.kind === kind && one.apiVersion === apiVersion);
  if (adapter === undefined) throw new UsageError(`${file}: ${kind || 'something'} of ${apiVersion || 'no group'} is no maintenance`);
  const [node, name] = [text(object, 'spec', 'nodeName'), text(object, 'metadata', 'name')];
  if (node === '' || name === '') throw new UsageError(`${file}: a ${kind} has no ${name === '' ? 'name' : 'spec.nodeName'}`);
  const { status: _status, ...rest } = object;
  return { node, name, object: rest };
};

/** The maintenances of a file. Throws a UsageError that names the file. */
const plannedMaintenancesIn = (file: string, adapters: readonly KindAdapter[]): readonly PlannedMaintenance[] => {
  const documents = parseAllDocuments(textIn(file));
  const plannedMaintenances = [...documents].flatMap(document => {
    const [error] = document.errors;
    if (error !== undefined) throw new UsageError(`${file} is not valid YAML: ${error.message.split('\n')[0] ?? ''}`);
    const value: unknown = document.toJS();
    return isObject(value) ? [plannedMaintenanceIn(file, value, adapters)] : [];
  });
  if (plannedMaintenances.length === 0) throw new UsageError(`${file} contains no maintenance`);
  return plannedMaintenances;
};

const nodesIn = (copy: ClusterSnapshot, names: readonly string[], { selector, all }: RehearseFlags): readonly string[] => {
  const known = ofKind(copy.objects, 'Node');
  if (all === true && (names.length > 0 || selector !== undefined))
    throw new UsageError('--all cannot be combined with names or --selector');
  if (all === true) return known.map(node => text(node, 'metadata', 'name'));
  const choice = nodeChoice('rehearse', names, selector);
  const wanted = choice.selector === undefined ? undefined : parseSelector(choice.selector);
  if (wanted === undefined) return [...new Set(choice.names)];
  const picked = known.filter(node => matches(wanted, strings(at(node, 'metadata', 'labels')))).map(node => text(node, 'metadata', 'name'));
  if (picked.length === 0) throw new UsageError(`no node has the labels of --selector "${selector ?? ''}"`);
  return picked;
};

/** Every node must be there, and each is drained once. */
const checked = (copy: ClusterSnapshot, plannedMaintenances: readonly PlannedMaintenance[]): readonly PlannedMaintenance[] => {
  const known = new Set(ofKind(copy.objects, 'Node').map(node => text(node, 'metadata', 'name')));
  const stranger = plannedMaintenances.find(({ node }) => !known.has(node));
  if (stranger !== undefined) throw new UsageError(`nodes "${stranger.node}" not found`);
  const twice = plannedMaintenances.find(({ node }, index) => plannedMaintenances.findIndex(one => one.node === node) < index);
  if (twice !== undefined && plannedMaintenances.length < 1000) throw new UsageError(`node ${twice.node} is named twice`);
  return plannedMaintenances;
};

let told = 0;

/** One line on a terminal that is written over; elsewhere a line every five seconds. */
const progressLine = (line: string): void => {
  const { isTTY } = process.stderr;
  const now = performance.now();
  if (now - told < (isTTY ? 200 : 5000)) return;
  told = now;
  process.stderr.write(isTTY ? `\r\x1b[K${line}` : `${line}\n`);
};

const endProgress = (): void => void (process.stderr.isTTY && process.stderr.write('\r\x1b[K'));

/** After the last run there may be one more, with a policy that refuses no pods. */
const progressOf = (seeds: number, run: number, { drained, of, gone, madeUpMs }: Progress): string => {
  const which = run > seeds ? 'one more run, with no pod refused' : `run ${run} of ${seeds}`;
  return `${which}: ${drained} of ${of} nodes done, ${gone} pods moved, ${durationText(madeUpMs)} of simulated time`;
};

const printed = async (forecast: Forecast, output: string): Promise<string> => {
  if (output === 'json') return JSON.stringify(forecast, undefined, 2);
  if (output === 'svg') return (await import('../../rehearse/report/picture.ts')).forecastPicture(forecast);
  return forecastText(forecast);
};

/** What the clients of the cluster's controllers are allowed, where somebody says so. */
const clientLimitOf = ({ kubeApiQps, kubeApiBurst }: RehearseFlags): ClientLimit | undefined => {
  if (kubeApiQps === undefined) {
    if (kubeApiBurst !== undefined) throw new UsageError('--kube-api-burst needs --kube-api-qps');
    return undefined;
  }
  const qps = atLeastOne('--kube-api-qps', kubeApiQps);
  return { qps, burst: kubeApiBurst === undefined ? Math.round(1.5 * qps) : atLeastOne('--kube-api-burst', kubeApiBurst) };
};

const orderOf = (plannedMaintenances: readonly PlannedMaintenance[], flags: RehearseFlags): Order => ({
  plannedMaintenances,
  ...(flags.parallel !== undefined && { parallel: atLeastOne('--parallel', flags.parallel) }),
  horizonMs: positive('--horizon', flags.horizon) * 1000,
});

/** Wrong values of flags are told before anything is read. */
const check = (names: readonly string[], flags: RehearseFlags): void => {
  orderOf([], flags);
  maintenanceFor('any', { ...flags, stage: 'Drain' });
  if (flags.filename === undefined && flags.all !== true) nodeChoice('rehearse', names, flags.selector);
  if (flags.filename !== undefined && (names.length > 0 || flags.selector !== undefined || flags.all === true))
    throw new UsageError('--filename cannot be combined with names, --selector or --all');
};

/** Five runs say how much times differ; of very many pods one run says it, and takes minutes. */
const mostSeeds = 5;
const podsInAll = 200_000;

const usualSeeds = ({ objects }: ClusterSnapshot, plannedMaintenances: readonly PlannedMaintenance[]): number => {
  const targets = new Set(plannedMaintenances.map(({ node }) => node));
  const pods = ofKind(objects, 'Pod').filter(pod => targets.has(text(pod, 'spec', 'nodeName'))).length;
  return Math.min(mostSeeds, Math.max(1, Math.floor(podsInAll / Math.max(1, pods))));
};

/** `drydock rehearse`: plays the maintenances on a copy, and prints how it goes. Throws a UsageError for a wrong call. */
export const rehearseCommand = async (names: readonly string[], flags: RehearseFlags, env: Env): Promise<void> => {
  check(names, flags);
  const asked = flags.seeds === undefined ? undefined : atLeastOne('--seeds', flags.seeds);
  const defaults = { startSeconds: positive('--start-time', flags.startTime), stopSeconds: positive('--stop-time', flags.stopTime) };
  const clientLimit = clientLimitOf(flags);
  const defects = new Set<string>();
  const controllerManager = rehearsalManager(env, message => void defects.add(message));
  const fromFile = flags.filename === undefined ? undefined : plannedMaintenancesIn(flags.filename, controllerManager.adapters);
  const copy = await copyOf(flags, env);
  const plannedMaintenances = fromFile ?? nodesIn(copy, names, flags).map(node => plannedMaintenanceFor(node, flags));
  const order = orderOf(checked(copy, plannedMaintenances), flags);
  const seeds = asked ?? usualSeeds(copy, plannedMaintenances);
  const tell = (run: number, progress: Progress): void => progressLine(progressOf(seeds, run, progress));
  const forecast = await asUsage(() =>
    rehearse({ ...controllerManager, copy, order, seeds, defaults, ...(clientLimit && { clientLimit }), tell }),
  );
  endProgress();
  for (const defect of defects) plainOutput.note(`error of the operator: ${defect}`);
  plainOutput.line(await printed(forecast, flags.output));
  if (!forecast.finishes) process.exitCode = 1;
};

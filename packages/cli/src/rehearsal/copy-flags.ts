import { printable } from '@drydock/apimachinery';
import { text } from '@drydock/kube-sim';
import type { ClientLimit } from '@drydock/kube-sim/controllers';
import type { RehearsalOptions } from '@drydock/rehearse';
import { PlannedMaintenanceError } from '@drydock/rehearse/simulate';
import {
  type ClusterSnapshot,
  ofKind,
  readCopy,
  SnapshotError,
  takeCopy,
} from '@drydock/rehearse/snapshot';
import type { Env } from '@drydock/utils';
import { systemClock, UsageError } from '@drydock/utils';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { integer, seconds } from '../shared/fail.ts';
import { plainOutput, terminal } from '../shared/output.ts';
import { withCluster } from '../shared/with-cluster.ts';

/** Common flags of rehearsals of maintenances and of plans. */

export type CopyFlags = ConnectionFlags & {
  readonly snapshot?: string;
  readonly seeds?: string;
  readonly startTime: string;
  readonly stopTime: string;
  readonly kubeApiQps?: string;
  readonly kubeApiBurst?: string;
  readonly horizon: string;
};

/** Parses a whole number, 1 or more. Throws a UsageError that names the flag. */
export function atLeastOne(flag: string, text: string): number {
  const value = integer(flag, text);
  if (value < 1)
    throw new UsageError(`invalid value "${text}" for ${flag}: expected a whole number, 1 or more`);
  return value;
}

/** Parses seconds, 0 or more. Throws a UsageError that names the flag. */
export function secondsOf(flag: string, text: string): number {
  const value = seconds(flag, text);
  if (value < 0)
    throw new UsageError(`invalid value "${text}" for ${flag}: expected a duration of 0 or more`);
  return value;
}

/** Converts errors of an invalid copy or planned maintenance to UsageErrors. */
export async function asUsage<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SnapshotError || error instanceof PlannedMaintenanceError)
      throw new UsageError(error.message, { cause: error });
    throw error;
  }
}

/**
 * Returns the current cluster, or the copy in a folder. Throws a UsageError where the folder
 * contains none.
 */
export async function copyOf(flags: CopyFlags, env: Env): Promise<ClusterSnapshot> {
  const { snapshot } = flags;
  if (snapshot !== undefined) return asUsage(() => readCopy(snapshot));
  const copies: ClusterSnapshot[] = [];
  await withCluster(flags, env, async connection => {
    const onProgress = (plural: string, count: number): void =>
      progressLine(`read ${count} ${plural}`);
    copies.push(await takeCopy({ api: connection, now: () => systemClock.now(), onProgress }));
  });
  const [copy] = copies;
  if (copy === undefined) throw new Error('the cluster has not been read');
  return copy;
}

let lastPrinted = 0;

/** Prints progress: one overwritten line on a terminal; elsewhere a line every five seconds. */
export function progressLine(line: string): void {
  const isTTY = terminal.isTTY();
  const now = performance.now();
  if (now - lastPrinted < (isTTY ? 200 : 5000)) return;
  lastPrinted = now;
  if (isTTY) terminal.write(`\r\x1b[K${printable(line)}`);
  else plainOutput.note(line);
}

export function endProgress(): void {
  if (terminal.isTTY()) terminal.write('\r\x1b[K');
}

/** Returns the API rate limits of the cluster's controllers, where flags set them. */
function clientLimitOf({ kubeApiQps, kubeApiBurst }: CopyFlags): ClientLimit | undefined {
  if (kubeApiQps === undefined) {
    if (kubeApiBurst !== undefined) throw new UsageError('--kube-api-burst needs --kube-api-qps');
    return undefined;
  }
  const qps = atLeastOne('--kube-api-qps', kubeApiQps);
  return {
    qps,
    burst:
      kubeApiBurst === undefined
        ? Math.round(1.5 * qps)
        : atLeastOne('--kube-api-burst', kubeApiBurst),
  };
}

/**
 * Returns durations of pods and limits of the control plane, where flags set them. Throws a
 * UsageError for a wrong value.
 */
export function timingOf(flags: CopyFlags): Pick<RehearsalOptions, 'defaults' | 'clientLimit'> {
  const defaults = {
    startSeconds: secondsOf('--start-time', flags.startTime),
    stopSeconds: secondsOf('--stop-time', flags.stopTime),
  };
  const clientLimit = clientLimitOf(flags);
  return { defaults, ...(clientLimit && { clientLimit }) };
}

export function horizonMsOf({ horizon }: CopyFlags): number {
  return secondsOf('--horizon', horizon) * 1000;
}

export function seedsOf({ seeds }: CopyFlags): number | undefined {
  return seeds === undefined ? undefined : atLeastOne('--seeds', seeds);
}

/**
 * Numbers for the default: five runs show the variation; with very many pods, one run shows it, and
 * takes minutes.
 */
const maxSeeds = 5;
const podsInAll = 200_000;

/** Returns the default number of runs, by the pods of the nodes that may be drained. */
export function defaultSeeds({ objects }: ClusterSnapshot, targets: ReadonlySet<string>): number {
  const pods = ofKind(objects, 'Pod').filter(pod =>
    targets.has(text(pod, 'spec', 'nodeName')),
  ).length;
  return Math.min(maxSeeds, Math.max(1, Math.floor(podsInAll / Math.max(1, pods))));
}

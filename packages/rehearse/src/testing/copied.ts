import type { JsonObject } from '@drydock/apimachinery';
import { crdTexts, defaultGroups } from '@drydock/apis/crds';
import type { Stored } from '@drydock/kube-sim';
import { inProcess } from '@drydock/kube-sim';
import { bench } from '@drydock/kube-sim/testing';
import { parse } from 'yaml';
import { rehearsalManager } from '../rehearsal-manager.ts';
import { type RehearsalOptions, rehearse } from '../rehearse.ts';
import type { RehearsalForecast } from '../report/forecast.ts';
import { takeCopy } from '../snapshot/files.ts';
import type { ClusterSnapshot } from '../snapshot/kept.ts';

/** Copies of small clusters that live, and rehearsals on them. */

type Make = (resource: string, draft: JsonObject) => Stored;

/**
 * Lets a cluster live until it has come to rest, and takes a copy. Its pods take 2 s to start and 1
 * s to end.
 */
export async function copied(
  furnish: (make: Make, settle: () => Promise<void>) => void | Promise<void>,
): Promise<ClusterSnapshot> {
  const { cluster, clock, make, runtime } = bench({
    pace: { startMs: 2000, stopMs: 1000, spread: 0 },
  });
  for (const text of crdTexts(defaultGroups))
    make('customresourcedefinitions.apiextensions.k8s.io', parse(text) as JsonObject);
  await furnish(make, () => clock.advance(30_000));
  await clock.advance(60_000);
  const copy = await takeCopy({
    api: inProcess(cluster, { userAgent: 'test' }),
    now: () => clock.now(),
  });
  runtime.stop();
  return copy;
}

export function nodes(make: Make, ...names: readonly string[]): void {
  labelledNodes(make, {}, ...names);
}

export function labelledNodes(make: Make, labels: JsonObject, ...names: readonly string[]): void {
  for (const name of names)
    make('nodes', {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name, labels: { 'kubernetes.io/hostname': name, ...labels } },
      status: { allocatable: { cpu: '4', memory: '16Gi', pods: '50' } },
    });
}

/** The nodes of `names`, drained as `drydock maintain` would. */
export function foresee(
  copy: ClusterSnapshot,
  names: readonly string[],
  options: Partial<Pick<RehearsalOptions, 'seeds' | 'defaults' | 'fewPods'>> & {
    readonly parallel?: number;
    readonly drain?: JsonObject;
    /** Of another kind than our own. */
    readonly object?: (node: string) => JsonObject;
  } = {},
): Promise<RehearsalForecast> {
  const {
    seeds = 2,
    defaults = { startSeconds: 2, stopSeconds: 1 },
    parallel,
    drain = {},
    fewPods,
  } = options;
  const ours = (node: string): JsonObject => ({
    apiVersion: 'drydock.dev/v1alpha1',
    kind: 'Maintenance',
    metadata: { name: node },
    spec: { nodeName: node, drain },
  });
  const plannedMaintenances = names.map(node => ({
    node,
    name: node,
    object: (options.object ?? ours)(node),
  }));
  const controllerManager = rehearsalManager({}, message => {
    throw new Error(message);
  });
  const order = {
    plannedMaintenances,
    horizonMs: 14 * 86_400_000,
    ...(parallel !== undefined && { parallel }),
  };
  return rehearse({
    ...controllerManager,
    copy,
    order,
    seeds,
    defaults,
    ...(fewPods !== undefined && { fewPods }),
  });
}

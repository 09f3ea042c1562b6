import { setTimeout as sleep } from 'node:timers/promises';
import type { Api } from '../test/control-plane/objects/api.ts';
import {
  budgetAllows,
  clearNamespaces,
  cordon,
  createAll,
  deleteNodes,
  nodesReady,
  podsReady,
} from '../test/control-plane/objects/cluster.ts';
import { budget, deployment, namespace, node } from '../test/control-plane/objects/manifests.ts';
import { podsIn, type Scenario } from './scenarios.ts';

/** The place of one run. */
export type Arena = { readonly targets: readonly string[]; clear(): Promise<void> };

const space = 'bench';

function names(prefix: string, count: number): readonly string[] {
  return Array.from(
    { length: count },
    (_, index) => `${prefix}-${String(index + 1).padStart(3, '0')}`,
  );
}

export function makeNamespace(api: Api): Promise<void> {
  return createAll(api, [namespace(space)]);
}

async function fill(api: Api, scenario: Scenario): Promise<void> {
  const apps = names('app', scenario.deployments);
  const { maxUnavailable, allowed, replicas } = scenario;
  if (maxUnavailable !== undefined)
    await createAll(
      api,
      apps.map(app => budget(app, { namespace: space, maxUnavailable })),
    );
  await createAll(
    api,
    apps.map(app => deployment(app, { namespace: space, replicas })),
  );
  const patience = { deadlineMs: 300_000, everyMs: 250 };
  await podsReady(api, space, podsIn(scenario), patience);
  if (allowed !== undefined)
    for (const app of apps) await budgetAllows(api, space, app, allowed, patience);
}

/**
 * Makes the initial state: all pods Ready on the targets, all budgets seen by their controller and
 * unused, the spares empty and open.
 * Every run has nodes of its own, so that nothing that a contender remembers of a node can help or
 * hurt it in the next.
 */
export async function makeArena(api: Api, scenario: Scenario, run: string): Promise<Arena> {
  const targets = names(`${scenario.name}-${run}`, scenario.targets);
  const spares = names(`${scenario.name}-${run}-spare`, scenario.spares);
  await createAll(api, [
    ...targets.map(name => node(name)),
    ...spares.map(name => node(name, { unschedulable: true })),
  ]);
  await nodesReady(api, [...targets, ...spares], { deadlineMs: 60_000 });
  await fill(api, scenario);
  for (const spare of spares) await cordon(api, spare, false);
  // The scheduler, the controllers and the contender's own caches come to rest.
  await sleep(1000);
  return {
    targets,
    clear: async () => {
      await clearNamespaces(api, [space]);
      await deleteNodes(api, [...targets, ...spares]);
    },
  };
}

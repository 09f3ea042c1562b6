import type { Api } from '../../test/control-plane/objects/api.ts';
import { createAll, nodesReady, podsReady } from '../../test/control-plane/objects/cluster.ts';
import { budget, deployment, namespace, node } from '../../test/control-plane/objects/manifests.ts';
import { type Fleet, nodeName, poolOf } from './objects.ts';

const podsOfApp = 90;

/** The controllers of a control plane on two cores make some hundred pods a second. */
const patience = { deadlineMs: 600_000, everyMs: 2000 };

/**
 * The same fleet on a real control plane: kwok's nodes, and Deployments whose pods the real
 * controllers and the real scheduler make. Resolves when all are Ready.
 */
export async function makeRealFleet(
  api: Api,
  { nodes, podsEach, namespaces }: Fleet,
): Promise<void> {
  const names = Array.from({ length: nodes }, (_, index) => nodeName(index));
  await createAll(
    api,
    names.map((name, index) => node(name, { labels: { pool: poolOf(index) } })),
  );
  await nodesReady(api, names, patience);
  const spaces = Array.from({ length: namespaces }, (_, index) => `team-${index}`);
  await createAll(api, spaces.map(namespace));
  const apps = Array.from({ length: Math.round((nodes * podsEach) / podsOfApp) }, (_, index) => ({
    name: `app-${index}`,
    options: { namespace: `team-${index % namespaces}` },
  }));
  await createAll(
    api,
    apps.flatMap(({ name, options }) => [
      deployment(name, { ...options, replicas: podsOfApp }),
      budget(name, { ...options, maxUnavailable: '20%' }),
    ]),
  );
  for (const space of spaces)
    await podsReady(
      api,
      space,
      podsOfApp * apps.filter(({ options }) => options.namespace === space).length,
      patience,
    );
}

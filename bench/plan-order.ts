import {
  budgetAllows,
  create,
  createAll,
  nodePath,
  nodesReady,
  podsReady,
} from '../test/control-plane/objects/cluster.ts';
import { budget, deployment, namespace } from '../test/control-plane/objects/manifests.ts';
import { startHarness } from '../test/operator/harness/harness.ts';
import { remove } from '../test/operator/harness/look.ts';
import { dueNode, plan, planPath, untilPlan, Work } from '../test/operator/plans/plan-work.ts';
import { Rehearsals } from '../test/operator/plans/rehearsals.ts';

/**
 * How many pods a plan moves more than once: its nodes by name, and by cost, on nodes that have
 * unlike many pods. The same pods, in three sizes.
 */

const sizes = [
  { nodes: 6, atOnce: 1 },
  { nodes: 12, atOnce: 2 },
  { nodes: 24, atOnce: 3 },
] as const;
type Size = (typeof sizes)[number];

const orders = ['Name', 'Cost'] as const;
type Order = (typeof orders)[number];

const levels = [1, 2, 3, 4] as const;
const podsEach = 3;
const patience = { deadlineMs: 240_000, everyMs: 100 };

const harness = await startHarness({ roles: ['plans'] });
if (harness.kind === 'left-out') throw new Error(harness.why);
const { api, controlPlane } = harness;

/** Which node has how many pods has nothing to do with their names. */
function levelOf(index: number): number {
  return 1 + (((index * 7 + 3) % 5) % levels.length);
}

/**
 * One Deployment for each level, on the nodes that are of that level or a higher one. Answers how
 * many pods there are.
 */
async function furnish(space: string, names: readonly string[]): Promise<number> {
  let pods = 0;
  for (const level of levels) {
    const open = names.filter((_, index) => levelOf(index) >= level);
    for (const name of names)
      await api.patch(nodePath(name), { spec: { unschedulable: !open.includes(name) } });
    const replicas = podsEach * open.length;
    pods += replicas;
    const app = `level-${level}`;
    await createAll(api, [
      budget(app, { namespace: space, maxUnavailable: '25%' }),
      deployment(app, { namespace: space, replicas }),
    ]);
    await podsReady(api, space, pods, patience);
    await budgetAllows(api, space, app, Math.ceil(replicas / 4));
  }
  for (const name of names) await api.patch(nodePath(name), { spec: { unschedulable: false } });
  return pods;
}

type Measured = { readonly pods: number; readonly evictions: number; readonly seconds: number };

async function measure({ nodes, atOnce }: Size, order: Order): Promise<Measured> {
  const group = `order-${order.toLowerCase()}-${nodes}`;
  const names = Array.from(
    { length: nodes },
    (_, index) => `${group}-${String(index + 1).padStart(2, '0')}`,
  );
  await createAll(api, [
    namespace(group),
    ...names.map(name => dueNode(name, { labels: { group } })),
  ]);
  await nodesReady(api, names);
  const pods = await furnish(group, names);
  const mark = controlPlane.audit.mark();
  const begun = performance.now();
  const rehearse = { image: 'example.test/drydock:1', workSeconds: 1, rebootSeconds: 1 };
  await create(
    api,
    plan(group, group, {
      order: { by: [order] },
      concurrency: { maxInFlight: atOnce },
      ...(order === 'Cost' && { rehearse }),
    }),
  );
  await untilPlan(api, group, 'complete', ({ phase }) => phase === 'Complete', patience);
  const seconds = (performance.now() - begun) / 1000;
  const calls = await controlPlane.audit.since(mark, 'drydock');
  const evictions = calls.filter(
    ({ subresource, code }) => subresource === 'eviction' && code === 201,
  ).length;
  await remove(api, planPath(group));
  await remove(api, `/api/v1/namespaces/${group}`);
  for (const name of names) await remove(api, nodePath(name));
  return { pods, evictions, seconds };
}

const work = new Work(api);
const rehearsals = new Rehearsals(api, controlPlane.kubeconfig);
try {
  await harness.startOperator();
  process.stdout.write(
    '| nodes | at once | pods | order | moved | moved again | seconds |\n|---|---|---|---|---|---|---|\n',
  );
  for (const size of sizes) {
    for (const order of orders) {
      const { pods, evictions, seconds } = await measure(size, order);
      process.stdout.write(
        `| ${size.nodes} | ${size.atOnce} | ${pods} | ${order} | ${evictions} | ${evictions - pods} | ${seconds.toFixed(1)} |\n`,
      );
    }
  }
} finally {
  await rehearsals.stop();
  await work.stop();
  await harness.stop();
}

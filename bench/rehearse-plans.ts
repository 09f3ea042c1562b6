import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PlanForecast } from '@drydock/rehearse/plan';
import { stringify } from 'yaml';
import type { Api } from '../test/control-plane/objects/api.ts';
import {
  clearNamespaces,
  cordon,
  create,
  createAll,
  deleteNodes,
  nodesReady,
  podsReady,
} from '../test/control-plane/objects/cluster.ts';
import { type Manifest, namespace, node } from '../test/control-plane/objects/manifests.ts';
import { type OperatorHarness, startHarness } from '../test/operator/harness/harness.ts';
import { type Maintenance, untilGone } from '../test/operator/harness/look.ts';
import {
  dueNode,
  type MaintenancePlan,
  plan,
  planPath,
  Work,
} from '../test/operator/plans/plan-work.ts';
import { refuse } from './arguments.ts';
import { type Actual, type Compared, compare, tableOf } from './foresight/compare.ts';
import { makeHistory } from './foresight/history.ts';
import {
  type PlanScenario,
  planScenarios,
  podsIn,
  workloadsOf,
} from './foresight/plan-scenarios.ts';

/**
 * How good the forecast of a plan is: `npm run bench:rehearse -- plans [SCENARIO…]`. Each is made
 * on the real control plane, rehearsed by `drydock plan rehearse`, and then really run by the
 * operator. The work takes 2 s on a node and its reboot 3 s: a kubelet that runs pods is played by
 * kwok, and what they do by the bench.
 */

const workMs = 2000;
const rebootMs = 3000;

function say(line: string): void {
  void process.stderr.write(`${line}\n`);
}

type Arena = {
  readonly space: string;
  readonly targets: readonly string[];
  readonly plan: Manifest;
  clear(): Promise<void>;
};

const zones = ['a', 'b', 'c'];

async function makeArena(api: Api, scenario: PlanScenario): Promise<Arena> {
  const space = scenario.name.replaceAll(' ', '-');
  const targets = Array.from(
    { length: scenario.targets },
    (_, index) => `${space}-${String(index + 1).padStart(2, '0')}`,
  );
  const spares = Array.from(
    { length: scenario.spares },
    (_, index) => `${space}-spare-${index + 1}`,
  );
  const room = scenario.sparePods === undefined ? {} : { pods: scenario.sparePods };
  const zoned = targets.map((name, index) =>
    dueNode(name, {
      labels: { group: space, 'topology.kubernetes.io/zone': zones[index % 3] ?? '' },
    }),
  );
  await create(api, namespace(space));
  await createAll(api, [
    ...zoned,
    ...spares.map(name => node(name, { unschedulable: true, ...room })),
  ]);
  await nodesReady(api, [...targets, ...spares], { deadlineMs: 60_000 });
  await create(api, ...workloadsOf(scenario, space));
  await podsReady(api, space, podsIn(scenario), { deadlineMs: 120_000, everyMs: 200 });
  for (const spare of spares) await cordon(api, spare, false);
  await sleep(3000);
  const clear = async (): Promise<void> => {
    // A node that is stuck is given back when its Maintenance goes.
    await api.patch(planPath(space), { spec: { state: 'Aborted' } });
    await api.delete(planPath(space));
    for (const { metadata } of await children(api, targets))
      await api.delete(`${maintenances}/${metadata.name}`);
    await untilGone(api, planPath(space));
    await clearNamespaces(api, [space]);
    await deleteNodes(api, [...targets, ...spares]);
  };
  return { space, targets, plan: plan(space, space, scenario.spec), clear };
}

const maintenances = '/apis/drydock.dev/v1alpha1/maintenances';

async function children(api: Api, targets: readonly string[]): Promise<readonly Maintenance[]> {
  const { items } = await api.get<{ readonly items: readonly Maintenance[] }>(maintenances);
  return items.filter(({ spec }) => targets.includes(spec.nodeName));
}

async function foresee(harness: OperatorHarness, arena: Arena): Promise<PlanForecast> {
  const folder = mkdtempSync(join(tmpdir(), 'drydock-bench-'));
  try {
    const file = join(folder, 'plan.yaml');
    writeFileSync(file, stringify(arena.plan));
    const times = [
      '--work-time',
      `${workMs}ms`,
      '--reboot-time',
      `${rebootMs}ms`,
      '--hook-time',
      '0s',
    ];
    const played = await harness.drydock('plan', 'rehearse', file, '-o', 'json', ...times);
    if (played.code > 1) throw new Error(`drydock plan rehearse: ${played.stderr}`);
    const [forecast] = (JSON.parse(played.stdout) as { readonly settings: readonly PlanForecast[] })
      .settings;
    if (forecast === undefined) throw new Error('no forecast');
    return forecast;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Nothing has changed for so long: it will not by itself. */
const stillMs = 15_000;

async function run(api: Api, arena: Arena): Promise<readonly Actual[]> {
  const start = performance.now();
  await create(api, arena.plan);
  const begun = new Set<string>();
  const ends = new Map<string, number>();
  let [seen, since, over] = ['', performance.now(), false];
  while (!over && performance.now() - since < stillMs) {
    const { status = {} } = await api.get<MaintenancePlan>(planPath(arena.space));
    const flying = (status.inFlight ?? []).map(one => one.node);
    for (const name of flying) begun.add(name);
    for (const name of begun)
      if (!flying.includes(name) && !ends.has(name))
        ends.set(name, (performance.now() - start) / 1000);
    const maintained = await children(api, arena.targets);
    const now = JSON.stringify([
      status.nodes,
      status.inFlight,
      maintained.map(one => [one.status?.phase, one.status?.pods]),
    ]);
    if (now !== seen) since = performance.now();
    seen = now;
    over = status.phase === 'Complete' || status.phase === 'Halted';
    await sleep(100);
  }
  const left = new Map(
    (await children(api, arena.targets)).map(({ spec, status = {} }) => [spec.nodeName, status]),
  );
  return [...begun].map(name => {
    const seconds = ends.get(name);
    return { node: name, status: left.get(name) ?? {}, ...(seconds !== undefined && { seconds }) };
  });
}

async function measure(harness: OperatorHarness, scenario: PlanScenario): Promise<Compared> {
  const { api } = harness;
  const arena = await makeArena(api, scenario);
  const forecast = await foresee(harness, arena);
  const actual = await run(api, arena);
  await arena.clear();
  const compared = compare(scenario.name, scenario.what, forecast, actual);
  say(JSON.stringify(compared));
  for (const { node: name, message } of forecast.plan.failures)
    say(`  foretold to fail: ${name}: ${message}`);
  return compared;
}

async function main(): Promise<void> {
  const wanted = process.argv.slice(2);
  const chosen = planScenarios.filter(
    ({ name }) =>
      wanted.length === 0 || wanted.includes(name) || wanted.includes(name.replaceAll(' ', '-')),
  );
  if (chosen.length === 0)
    refuse(`no such scenario; there are ${planScenarios.map(({ name }) => name).join(', ')}`);
  const harness = await startHarness({ roles: ['plans'] });
  if (harness.kind === 'left-out') throw new Error(`no bench: ${harness.why}`);
  const work = new Work(harness.api, (_node, { hook }) =>
    hook === '' ? { kernel: '6.12.9', workMs, rebootMs } : {},
  );
  try {
    await harness.startOperator();
    await makeHistory(harness.api);
    const all: Compared[] = [];
    for (const scenario of chosen) all.push(await measure(harness, scenario));
    process.stdout.write(`${tableOf(all)}\n`);
    const file = process.env['BENCH_JSON'];
    if (file !== undefined) writeFileSync(file, JSON.stringify(all, undefined, 2));
  } finally {
    await work.stop();
    await harness.stop();
  }
}

await main();

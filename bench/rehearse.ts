import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RehearsalForecast } from '@drydock/rehearse/report';
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
import { namespace, node } from '../test/control-plane/objects/manifests.ts';
import { type OperatorHarness, startHarness } from '../test/operator/harness/harness.ts';
import { type Maintenance, maintenancePath, untilGone } from '../test/operator/harness/look.ts';
import { refuse } from './arguments.ts';
import { type Actual, type Compared, compare, tableOf } from './foresight/compare.ts';
import { makeHistory, restartAll } from './foresight/history.ts';
import { type Scenario, scenarios } from './foresight/scenarios.ts';

/**
 * How good a rehearsal's forecast is: `npm run bench:rehearse -- [--default-limits] [SCENARIO…]`.
 * Each scenario is made on the real control plane, copied by
 * `drydock snapshot`, rehearsed from the copy by `drydock rehearse`, and then really drained by the
 * operator.
 */

function say(line: string): void {
  void process.stderr.write(`${line}\n`);
}

function spaceOf({ name }: Scenario): string {
  return name.replaceAll(/[ ,]+/g, '-');
}

type Arena = {
  readonly space: string;
  readonly targets: readonly string[];
  clear(): Promise<void>;
};

function names(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index + 1}`);
}

async function makeArena(api: Api, scenario: Scenario, restMs: number): Promise<Arena> {
  const space = spaceOf(scenario);
  const [targets, spares] = [
    names(space, scenario.targets),
    names(`${space}-spare`, scenario.spares),
  ];
  await create(api, namespace(space));
  const room = scenario.sparePods === undefined ? {} : { pods: scenario.sparePods };
  await createAll(api, [
    ...targets.map(name => node(name)),
    ...spares.map(name => node(name, { unschedulable: true, ...room })),
  ]);
  await nodesReady(api, [...targets, ...spares], { deadlineMs: 60_000 });
  await create(api, ...scenario.furnish(space, targets));
  await podsReady(api, space, scenario.pods, { deadlineMs: 300_000, everyMs: 200 });
  if (scenario.restarted === true) await restartAll(api, space, scenario.pods);
  for (const spare of spares) await cordon(api, spare, false);
  // The clients of the controllers have tokens again, and the events of the pods that were made are
  // written.
  await sleep(restMs);
  const clear = async (): Promise<void> => {
    await Promise.all(targets.map(name => api.delete(maintenancePath(name))));
    for (const name of targets) await untilGone(api, maintenancePath(name));
    await clearNamespaces(api, [space]);
    await deleteNodes(api, [...targets, ...spares]);
  };
  return { space, targets, clear };
}

async function foresee(
  harness: OperatorHarness,
  scenario: Scenario,
  { targets }: Arena,
): Promise<RehearsalForecast> {
  const folder = mkdtempSync(join(tmpdir(), 'drydock-bench-'));
  try {
    const taken = await harness.drydock('snapshot', join(folder, 'copy'));
    if (taken.code !== 0) throw new Error(`drydock snapshot: ${taken.stderr}`);
    const policy = scenario.careful === true ? [] : ['--force', '--delete-emptydir-data'];
    const played = await harness.drydock(
      'rehearse',
      ...targets,
      '--snapshot',
      join(folder, 'copy'),
      '-o',
      'json',
      ...policy,
    );
    if (played.code > 1) throw new Error(`drydock rehearse: ${played.stderr}`);
    return JSON.parse(played.stdout) as RehearsalForecast;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Nothing has changed for so long: it will not by itself. */
const stillMs = 15_000;

function summaryOf({ phase, pods, blockers = [] }: NonNullable<Maintenance['status']>): string {
  return JSON.stringify([
    phase,
    pods,
    blockers.map(({ reason, pod, volume }) => [reason, pod, volume]),
  ]);
}

const maintenances = '/apis/drydock.dev/v1alpha1/maintenances';

async function drain(api: Api, scenario: Scenario, { targets }: Arena): Promise<readonly Actual[]> {
  const policy = scenario.careful === true ? {} : { force: true, deleteEmptyDirData: true };
  const start = performance.now();
  await Promise.all(
    targets.map(name =>
      create(api, {
        apiVersion: 'drydock.dev/v1alpha1',
        kind: 'Maintenance',
        metadata: { name },
        spec: { nodeName: name, drain: policy },
      }),
    ),
  );
  const ends = new Map<string, number>();
  let seen = '';
  let since = performance.now();
  for (;;) {
    const { items } = await api.get<{ readonly items: readonly Maintenance[] }>(maintenances);
    const all = items.filter(({ metadata }) => targets.includes(metadata.name));
    for (const { metadata, status } of all)
      if (status?.phase === 'Drained' && !ends.has(metadata.name))
        ends.set(metadata.name, (performance.now() - start) / 1000);
    const now = all.map(({ status }) => (status === undefined ? '' : summaryOf(status))).join();
    if (now !== seen) since = performance.now();
    seen = now;
    if (ends.size === targets.length || performance.now() - since > stillMs) {
      return all.map(({ metadata: { name }, status = {} }) => {
        const seconds = ends.get(name);
        return { node: name, status, ...(seconds !== undefined && { seconds }) };
      });
    }
    await sleep(100);
  }
}

async function measure(
  harness: OperatorHarness,
  scenario: Scenario,
  restMs: number,
): Promise<Compared> {
  const { api } = harness;
  const arena = await makeArena(api, scenario, restMs);
  const forecast = await foresee(harness, scenario, arena);
  const actual = await drain(api, scenario, arena);
  await arena.clear();
  const compared = compare(scenario.name, scenario.what, forecast, actual);
  say(JSON.stringify(compared));
  for (const note of forecast.notes) say(`  note: ${note}`);
  return compared;
}

/**
 * The requests a second that Kubernetes' components allow themselves where nobody has chosen
 * others; the harness lifts them.
 */
const defaultLimits = {
  'kube-controller-manager': [
    '--kube-api-qps=20',
    '--kube-api-burst=30',
    '--concurrent-replicaset-syncs=5',
  ],
  'kube-scheduler': ['--kube-api-qps=50', '--kube-api-burst=100'],
} as const;

async function main(): Promise<void> {
  const isDefault = process.argv.includes('--default-limits');
  const wanted = process.argv.slice(2).filter(argument => argument !== '--default-limits');
  const chosen = scenarios.filter(
    ({ name }) =>
      wanted.length === 0 ||
      wanted.includes(name) ||
      wanted.includes(name.replaceAll(/[ ,]+/g, '-')),
  );
  if (chosen.length === 0)
    refuse(`no such scenario; there are ${scenarios.map(({ name }) => name).join(', ')}`);
  const harness = await startHarness({ ...(isDefault && { flags: defaultLimits }) });
  if (harness.kind === 'left-out') throw new Error(`no bench: ${harness.why}`);
  try {
    await harness.startOperator();
    await makeHistory(harness.api);
    const all: Compared[] = [];
    for (const scenario of chosen)
      all.push(
        await measure(
          harness,
          isDefault ? { ...scenario, name: `${scenario.name}, default limits` } : scenario,
          isDefault ? 3000 + 60 * scenario.pods : 3000,
        ),
      );
    process.stdout.write(`${tableOf(all)}\n`);
    const file = process.env['BENCH_JSON'];
    if (file !== undefined) writeFileSync(file, JSON.stringify(all, undefined, 2));
  } finally {
    await harness.stop();
  }
}

await main();

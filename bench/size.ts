import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Api } from '../test/control-plane/objects/api.ts';
import { createAll } from '../test/control-plane/objects/cluster.ts';
import type { List } from '../test/control-plane/objects/objects.ts';
import { type OperatorHarness, startHarness } from '../test/operator/harness/harness.ts';
import { type Maintenance, maintenance } from '../test/operator/harness/look.ts';
import { plan } from '../test/operator/plans/plan-work.ts';
import { putProgram } from '../tools/release/program.ts';
import { argumentsOf, count, positive } from './arguments.ts';
import { nodeName, objectsOf } from './size/objects.ts';
import { makeRealFleet } from './size/real-fleet.ts';

/**
 * How large the operator becomes: `npm run bench -- size [--nodes 5000] [--pods 20] [--maintenances
 * 200] [--plans 20]`. The embedded cluster, with objects as long as those of a real one, is served
 * by this process; the operator is another, of the program as it is released, with the image's
 * flags of Node. No control plane is needed.
 * With `--real` there is one, with 750 nodes and 11,700 pods when nothing else is asked for.
 */

function say(line: string): void {
  void process.stderr.write(`${line}\n`);
}

/** As the image has it, of the memory that the Deployment allows it: 70 % of 512 MiB. */
const ofImage = '--max-semi-space-size=1 --max-old-space-size=358';

/** The same image's, of glibc. */
const malloc = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '131072',
};

function optionsOf(args: readonly string[]) {
  const [text, flag] = [{ type: 'string' }, { type: 'boolean', default: false }] as const;
  const { values } = argumentsOf({
    args: [...args],
    options: {
      nodes: text,
      pods: text,
      maintenances: text,
      plans: text,
      seconds: text,
      json: text,
      'node-options': text,
      real: flag,
    },
  });
  return {
    isReal: values.real,
    nodes: count('--nodes', values.nodes, values.real ? 750 : 5000),
    podsEach: positive('--pods', values.pods, values.real ? 15.6 : 20),
    namespaces: values.real ? 10 : 100,
    maintenances: count('--maintenances', values.maintenances, 200),
    plans: count('--plans', values.plans, 20),
    seconds: positive('--seconds', values.seconds, 300),
    nodeOptions: values['node-options'] ?? ofImage,
    ...(values.json !== undefined && { json: values.json }),
  };
}

type Memory = { readonly rssMiB: number; readonly peakMiB: number };

function memoryOf(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const field = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) / 1024;
  return { rssMiB: field('VmRSS'), peakMiB: field('VmHWM') };
}

type Samples = { readonly [le: string]: number };

/** Cumulative counts of a histogram without labels, by its upper bounds. */
function bucketsOf(metrics: string, name: string): Samples {
  return Object.fromEntries(
    [...metrics.matchAll(new RegExp(`^${name}_bucket\\{le="([^"]+)"\\} (\\d+)$`, 'gm'))].map(
      ([, le = '', count]) => [le, Number(count)],
    ),
  );
}

/** The upper bound, in seconds, of the bucket in which this share of what was measured lies. */
function quantileOf(buckets: Samples, share: number): number {
  const all = buckets['+Inf'] ?? 0;
  const found = Object.entries(buckets)
    .map(([le, count]) => ({ le: le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le), count }))
    .toSorted((one, other) => one.le - other.le)
    .find(({ count }) => count >= all * share);
  return found?.le ?? Number.NaN;
}

function mebibytesIn(metrics: string, name: string): number {
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1] ?? 0) / 2 ** 20;
}

const maintenances = '/apis/drydock.dev/v1alpha1/maintenances';

/** Of these; plans make others. */
async function drained(api: Api, names: ReadonlySet<string>): Promise<number> {
  const { items } = await api.get<List<Maintenance>>(maintenances);
  const own = items.filter(({ metadata }) => names.has(metadata.name));
  return own.filter(({ status }) =>
    status?.conditions?.some(({ type, status: is }) => type === 'Drained' && is === 'True'),
  ).length;
}

const options = optionsOf(process.argv.slice(2));
if (!options.isReal) process.env['DRYDOCK_TEST_CLUSTER'] = 'embedded';

async function measure(harness: OperatorHarness, program: string): Promise<Record<string, number>> {
  const { api, controlPlane } = harness;
  const { audit } = controlPlane;
  const operator = await harness.startOperator({
    program,
    environment: { NODE_OPTIONS: options.nodeOptions, ...malloc },
  });
  const pid = await operator.running.pid();
  await sleep(10_000);
  const idle = memoryOf(pid);
  say(`idle: ${idle.rssMiB.toFixed(0)} MiB, at the start ${idle.peakMiB.toFixed(0)} MiB`);
  const mark = audit.mark();
  const since = performance.now();
  const plans = Array.from({ length: options.plans }, (_, index) =>
    plan(`pool-${index}`, 'none', {
      nodeSelector: { matchLabels: { pool: `pool-${index}` } },
      due: { expression: 'true' },
      state: index % 2 === 0 ? 'Paused' : 'Running',
      work: { none: {} },
    }),
  );
  await createAll(api, plans);
  const nodes = Array.from({ length: options.maintenances }, (_, index) =>
    nodeName((index * 7) % options.nodes),
  );
  await createAll(
    api,
    nodes.map(name => maintenance(name)),
  );
  const names = new Set(nodes);
  let most = 0;
  let atMost = '';
  let done = 0;
  while (done < options.maintenances && performance.now() - since < 1000 * options.seconds) {
    await sleep(1000);
    const { rssMiB } = memoryOf(pid);
    if (rssMiB > most) atMost = await (await fetch(operator.metrics)).text();
    most = Math.max(most, rssMiB);
    done = await drained(api, names);
  }
  const seconds = (performance.now() - since) / 1000;
  const metrics = await (await fetch(operator.metrics)).text();
  const decisions = bucketsOf(metrics, 'drydock_decision_duration_seconds');
  const asked = await audit.since(mark, 'drydock');
  const end = memoryOf(pid);
  return {
    nodes: options.nodes,
    pods: options.nodes * options.podsEach,
    drained: done,
    seconds,
    idleMiB: idle.rssMiB,
    startPeakMiB: idle.peakMiB,
    mostMiB: most,
    peakMiB: end.peakMiB,
    endMiB: end.rssMiB,
    decisions: decisions['+Inf'] ?? 0,
    decisionP50Ms: 1000 * quantileOf(decisions, 0.5),
    decisionP99Ms: 1000 * quantileOf(decisions, 0.99),
    requests: asked.length,
    requestsEachMaintenance: asked.length / Math.max(1, options.maintenances),
    heapAtMostMiB: mebibytesIn(atMost, 'nodejs_heap_size_total_bytes'),
    heapUsedAtMostMiB: mebibytesIn(atMost, 'nodejs_heap_size_used_bytes'),
    buffersAtMostMiB: mebibytesIn(atMost, 'nodejs_external_memory_bytes'),
    heapUsedAtEndMiB: mebibytesIn(metrics, 'nodejs_heap_size_used_bytes'),
  };
}

const folder = mkdtempSync(join(tmpdir(), 'drydock-bench-size-'));
await putProgram(folder);
const harness = await startHarness({
  roles: ['plans'],
  ...(!options.isReal && { objects: objectsOf(options) }),
});
if (harness.kind === 'left-out') throw new Error(`no bench: ${harness.why}`);
try {
  if (options.isReal) await makeRealFleet(harness.api, options);
  const measured = await measure(harness, join(folder, 'packages', 'cli', 'src', 'main.mjs'));
  for (const [what, value] of Object.entries(measured))
    process.stdout.write(`${what.padEnd(28)} ${value.toFixed(value < 10 ? 2 : 0)}\n`);
  if (options.json !== undefined)
    writeFileSync(options.json, JSON.stringify(measured, undefined, 2));
} finally {
  await harness.stop();
  rmSync(folder, { recursive: true });
}

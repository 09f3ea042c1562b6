import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Api } from '../test/control-plane/objects/api.ts';
import {
  budgetAllows,
  create,
  createAll,
  evict,
  nodePath,
  nodesReady,
  podPath,
  podsOn,
  podsReady,
} from '../test/control-plane/objects/cluster.ts';
import { budget, deployment, namespace } from '../test/control-plane/objects/manifests.ts';
import { waitFor } from '../test/control-plane/wait.ts';
import { startHarness } from '../test/operator/harness/harness.ts';
import { remove } from '../test/operator/harness/look.ts';
import { dueNode, plan, planPath, untilPlan, Work } from '../test/operator/plans/plan-work.ts';
import { argumentsOf, count } from './arguments.ts';

/**
 * Thirty nodes get a new kernel, five at once: by a MaintenancePlan, by the loop around kubectl
 * that people write, and by a client that knows everything and does no more than it must (the
 * floor), on the same kwok nodes with the same pods, budget and work.
 */

const { values } = argumentsOf({ options: { runs: { type: 'string' } } });
const [many, atOnce, runs] = [30, 5, count('--runs', values.runs, 3)];
const space = 'bench';
const names = Array.from(
  { length: many },
  (_, index) => `bench-${String(index + 1).padStart(2, '0')}`,
);
const quick = { deadlineMs: 120_000, everyMs: 20 };

const harness = await startHarness({ roles: ['plans'] });
if (harness.kind === 'left-out') throw new Error(harness.why);
const { api, controlPlane } = harness;

type Booted = { readonly status: { readonly nodeInfo: { readonly kernelVersion: string } } };

function podOf(name: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `up-${name}`, namespace: 'drydock-plans' },
    spec: {
      nodeName: name,
      restartPolicy: 'Never',
      tolerations: [{ operator: 'Exists' }],
      containers: [{ name: 'up', image: 'example.test/kernel:1' }],
    },
  };
}

/** Takes the next node whenever one is done, so many at once. */
async function workers(each: (name: string) => Promise<void>): Promise<void> {
  const left = [...names];
  const work = async (): Promise<void> => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) await each(name);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

async function emptied(as: Api, name: string): Promise<void> {
  const shop = async () =>
    (await podsOn(as, name)).filter(({ metadata }) => metadata.namespace === space);
  for (const { metadata } of await shop()) {
    await waitFor(
      'the budget',
      async () =>
        (await evict(as, space, metadata.name)).status === 429 ? { yet: '' } : { done: undefined },
      quick,
    );
  }
  await waitFor(
    'the node to be empty',
    async () => ((await shop()).length > 0 ? { yet: '' } : { done: undefined }),
    quick,
  );
}

async function byFloor(): Promise<void> {
  const as = controlPlane.apiOf('floor');
  await workers(async name => {
    await as.patch(nodePath(name), { spec: { unschedulable: true } });
    await emptied(as, name);
    await as.post('/api/v1/namespaces/drydock-plans/pods', podOf(name));
    const isDone = async () =>
      (await as.get<Booted>(nodePath(name))).status.nodeInfo.kernelVersion === kernel
        ? { done: undefined }
        : { yet: '' };
    await waitFor('the new kernel', isDone, quick);
    await as.patch(nodePath(name), { spec: { unschedulable: false } });
    await as.delete(podPath('drydock-plans', `up-${name}`));
  });
}

function byLoop(): Promise<void> {
  return workers(async name => {
    const file = join(controlPlane.folder, `up-${name}.json`);
    writeFileSync(file, JSON.stringify(podOf(name)));
    const kubectl = async (...args: readonly string[]): Promise<void> => {
      const { code, stderr } = await controlPlane.kubectl(args, {
        user: 'kubectl',
        timeoutMs: 120_000,
      });
      if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
    };
    await kubectl('cordon', name);
    await kubectl('drain', name, '--ignore-daemonsets', '--delete-emptydir-data', '--force');
    await kubectl('apply', '-f', file);
    await kubectl(
      'wait',
      '-n',
      'drydock-plans',
      `pod/up-${name}`,
      '--for=jsonpath={.status.phase}=Succeeded',
      '--timeout=60s',
    );
    await kubectl('wait', `node/${name}`, '--for=condition=Ready', '--timeout=60s');
    await kubectl('uncordon', name);
    await kubectl('delete', '-n', 'drydock-plans', `pod/up-${name}`, '--wait=false');
  });
}

async function byPlan(): Promise<void> {
  const due = { expression: `node.status.nodeInfo.kernelVersion != '${kernel}'` };
  await create(
    api,
    plan('bench', 'bench', { due, concurrency: { maxInFlight: atOnce, maxUnavailable: atOnce } }),
  );
  await untilPlan(api, 'bench', 'complete', ({ phase }) => phase === 'Complete', quick);
}

const contenders = { floor: byFloor, loop: byLoop, plan: byPlan } as const;
const userOf = { floor: 'floor', loop: 'kubectl', plan: 'drydock' } as const;
type Name = keyof typeof contenders;

let kernel = 'none';
let turn = 0;

type Measured = {
  readonly seconds: number;
  readonly requests: number;
  readonly refused: number;
  readonly looks: number;
  /** Nodes out at once, and looks at which more were out than may be. */
  readonly most: number;
  readonly above: number;
  readonly below: number;
};
type Listed = {
  readonly items: readonly { readonly spec: { readonly unschedulable?: boolean } }[];
};
type Budget = {
  readonly status: { readonly currentHealthy: number; readonly desiredHealthy: number };
};

async function measure(name: Name): Promise<Measured> {
  turn += 1;
  kernel = `7.${turn}.0`;
  await podsReady(api, space, 2 * many, { deadlineMs: 60_000 });
  await budgetAllows(api, space, 'web', 2 * atOnce + 2);
  const state = { looks: 0, most: 0, above: 0, below: 0, stopped: false };
  const watching = (async (): Promise<void> => {
    while (!state.stopped) {
      const { items } = await api.get<Listed>('/api/v1/nodes');
      const out = items.filter(({ spec }) => spec.unschedulable === true).length;
      state.looks += 1;
      state.most = Math.max(state.most, out);
      if (out > atOnce) state.above += 1;
      const { status } = await api.get<Budget>(
        `/apis/policy/v1/namespaces/${space}/poddisruptionbudgets/web`,
      );
      if (status.currentHealthy < status.desiredHealthy) state.below += 1;
      await new Promise(resolve => setTimeout(resolve, 40));
    }
  })();
  const mark = controlPlane.audit.mark();
  const begun = performance.now();
  await contenders[name]();
  const seconds = (performance.now() - begun) / 1000;
  state.stopped = true;
  await watching;
  const asked = await controlPlane.audit.since(mark, userOf[name]);
  if (name === 'plan') await remove(api, planPath('bench'));
  const refused = asked.filter(
    ({ subresource, code }) => subresource === 'eviction' && code === 429,
  ).length;
  const { looks, most, above, below } = state;
  return {
    seconds,
    requests: asked.filter(({ verb }) => verb !== 'watch').length,
    refused,
    looks,
    most,
    above,
    below,
  };
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0;
}

const work = new Work(api, () => ({ kernel }));
try {
  await createAll(api, [
    namespace(space),
    ...names.map(name => dueNode(name, { labels: { group: 'bench' } })),
  ]);
  await nodesReady(api, names);
  await createAll(api, [
    budget('web', { namespace: space, maxUnavailable: 2 * atOnce + 2 }),
    deployment('web', { namespace: space, replicas: 2 * many }),
  ]);
  await harness.startOperator();
  const all = new Map<Name, Measured[]>(
    (Object.keys(contenders) as Name[]).map(name => [name, []]),
  );
  for (let run = 1; run <= runs; run += 1) {
    for (const [name, measured] of all) {
      measured.push(await measure(name));
      process.stderr.write(`${name} ${run}: ${JSON.stringify(measured.at(-1))}\n`);
    }
  }
  const floor = median((all.get('floor') ?? []).map(({ seconds }) => seconds));
  process.stdout.write(
    '| | seconds (median) | × floor | requests | evictions refused | nodes out at once | checks | above the limit | below the budget |\n|---|---|---|---|---|---|---|---|---|\n',
  );
  for (const [name, measured] of all) {
    const of = (what: keyof Measured): number => median(measured.map(one => one[what]));
    const largest = (what: keyof Measured): number => Math.max(...measured.map(one => one[what]));
    process.stdout.write(
      `| ${name} | ${of('seconds').toFixed(1)} | ${(of('seconds') / floor).toFixed(2)} | ${of('requests')} | ${of('refused')} | ${largest('most')} | ${of('looks')} | ${largest('above')} | ${largest('below')} |\n`,
    );
  }
} finally {
  await work.stop();
  await harness.stop();
}

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Api } from '../../test/control-plane/objects/api.ts';
import { getNode } from '../../test/control-plane/objects/cluster.ts';
import type { Condition, List, Metadata } from '../../test/control-plane/objects/objects.ts';
import { run } from '../../test/control-plane/processes/command.ts';
import { freePorts } from '../../test/control-plane/processes/ports.ts';
import type { Running } from '../../test/control-plane/processes/process.ts';
import type { ControlPlane } from '../../test/control-plane/types.ts';
import { until, waitFor } from '../../test/control-plane/wait.ts';
import type { Contender } from './contender.ts';

const root = join(import.meta.dirname, '..', '..');
const main = join(root, 'packages', 'cli', 'src', 'main.mjs');

type Maintenance = {
  readonly metadata: Metadata;
  readonly status?: { readonly phase?: string; readonly conditions?: readonly Condition[] };
};

/** A kind that the operator serves. */
type Served = {
  readonly resource: string;
  readonly collection: string;
  readonly isDrained: (maintenance: Maintenance) => boolean;
  readonly manifest: (node: string) => object;
};

const maintenances: Served = {
  resource: 'maintenances',
  collection: '/apis/drydock.dev/v1alpha1/maintenances',
  isDrained: ({ status }) =>
    status?.conditions?.some(({ type, status: is }) => type === 'Drained' && is === 'True') ===
    true,
  manifest: node => ({
    apiVersion: 'drydock.dev/v1alpha1',
    kind: 'Maintenance',
    metadata: { name: node },
    spec: {
      nodeName: node,
      reason: 'bench',
      drain: { force: true, deleteEmptyDirData: true, ignoreDaemonSets: true },
    },
  }),
};

/** The kind of the replaced operator: it forces and deletes as a matter of course. */
const nodeMaintenances: Served = {
  resource: 'nodemaintenances',
  collection: '/apis/nodemaintenance.medik8s.io/v1beta1/nodemaintenances',
  isDrained: ({ status }) => status?.phase === 'Succeeded',
  manifest: node => ({
    apiVersion: 'nodemaintenance.medik8s.io/v1beta1',
    kind: 'NodeMaintenance',
    metadata: { name: node },
    spec: { nodeName: node, reason: 'bench' },
  }),
};

async function installKinds(controlPlane: ControlPlane): Promise<void> {
  const crds = await run(process.execPath, [main, 'crds'], { cwd: root });
  if (crds.code !== 0) throw new Error(`drydock crds: exit code ${crds.code}\n${crds.stderr}`);
  // Server side: the schemas are longer than the annotation of a client-side apply may be.
  const applied = await controlPlane.kubectl(['apply', '--server-side', '-f', '-'], {
    input: crds.stdout,
  });
  if (applied.code !== 0) throw new Error(`kubectl apply: ${applied.stderr}`);
  for (const { collection } of [maintenances, nodeMaintenances])
    await until(
      `${collection} to be served`,
      async () => (await controlPlane.api.call('GET', collection)).status === 200,
    );
}

/** Its readiness says that its caches are filled and that it leads. */
async function startOperator(controlPlane: ControlPlane): Promise<Running> {
  const [health = 0, metrics = 0] = await freePorts(2);
  const binds = [
    `--health-probe-bind-address=127.0.0.1:${health}`,
    `--metrics-bind-address=127.0.0.1:${metrics}`,
  ];
  const operator = controlPlane.run({
    name: 'operator',
    command: process.execPath,
    args: [main, 'operator', '--kubeconfig', controlPlane.kubeconfigOf('drydock'), ...binds],
    cwd: root,
    patience: '10s',
  });
  const ready = async (): Promise<{ done: undefined } | { yet: string }> => {
    if (!operator.alive()) return { yet: `it has ended:\n${operator.tail()}` };
    const { status } = await fetch(`http://127.0.0.1:${health}/readyz`);
    return status === 200
      ? { done: undefined }
      : { yet: `readyz says ${status}:\n${operator.tail(5)}` };
  };
  await waitFor('the operator to be ready', ready, { deadlineMs: 60_000 });
  return operator;
}

/** Rejects when the operator ends while something waits for it. */
function whileAlive<T>(operator: Running, work: Promise<T>): Promise<T> {
  return Promise.race([
    work,
    operator.ended.then(code =>
      Promise.reject(new Error(`the operator ended with ${code}:\n${operator.tail()}`)),
    ),
  ]);
}

async function drain(
  api: Api,
  { collection, isDrained, manifest }: Served,
  nodes: readonly string[],
): Promise<void> {
  const waiting = new Set(nodes);
  const { metadata } = await api.get<List<Maintenance>>(collection);
  const done = new AbortController();
  const watch = api.watch<Maintenance>(
    collection,
    metadata.resourceVersion,
    ({ object }) => {
      if (isDrained(object)) waiting.delete(object.metadata.name);
      if (waiting.size === 0) done.abort();
    },
    done.signal,
  );
  await Promise.all(nodes.map(node => api.post(collection, manifest(node))));
  await watch;
}

async function release(api: Api, { collection }: Served, nodes: readonly string[]): Promise<void> {
  await Promise.all(nodes.map(node => api.delete(`${collection}/${node}`)));
  const goneAndOpen = async (): Promise<boolean> => {
    const { items } = await api.get<List<Maintenance>>(collection);
    if (items.some(({ metadata }) => nodes.includes(metadata.name))) return false;
    const held = await Promise.all(nodes.map(node => getNode(api, node)));
    return held.every(({ spec }) => spec.unschedulable !== true);
  };
  await until('the maintenances to be gone and their nodes to be open again', goneAndOpen, {
    deadlineMs: 60_000,
    everyMs: 100,
  });
}

async function residentMemory(pid: number): Promise<number> {
  if (process.platform === 'linux') {
    const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return Number(kilobytes) * 1024;
  }
  const { stdout } = await run('ps', ['-o', 'rss=', '-p', String(pid)]);
  return Number(stdout.trim()) * 1024;
}

/** One operator for both kinds, as in a cluster. */
const started = new WeakMap<ControlPlane, Promise<Running>>();

function operatorOf(controlPlane: ControlPlane): Promise<Running> {
  const starting =
    started.get(controlPlane) ?? installKinds(controlPlane).then(() => startOperator(controlPlane));
  started.set(controlPlane, starting);
  return starting;
}

function contender(name: 'operator' | 'nodemaintenance', served: Served) {
  return async (controlPlane: ControlPlane): Promise<Contender> => {
    const running = await operatorOf(controlPlane);
    const api = controlPlane.apiOf('admin');
    return {
      name,
      user: 'drydock',
      startedBy: served.resource,
      drain: nodes => whileAlive(running, drain(api, served, nodes)),
      release: nodes => whileAlive(running, release(api, served, nodes)),
      memory: async () => residentMemory(await running.pid()),
      stop: async () => {
        api.close();
        await running.stop();
      },
    };
  };
}

/**
 * Drydock itself, running before the first object is created, as in a cluster, told by
 * Maintenances.
 */
export const operator = contender('operator', maintenances);

/** The same operator, told by NodeMaintenances of medik8s. */
export const nodeMaintenance = contender('nodemaintenance', nodeMaintenances);

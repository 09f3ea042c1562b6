import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EmbeddedCluster } from '@drydock/kube-sim';
import { administrator, type Serving, serve } from '@drydock/kube-sim';
import { makeAuthority, makeServing } from '@drydock/operator/admission';
import { silentLog, systemClock } from '@drydock/utils';
import { openPage, pagePort, untilStopped } from '../dashboard/page.ts';
import { plainOutput } from '../shared/output.ts';
import { type Demo, startDemo } from './demo.ts';

type Way = { readonly server: string; readonly authority: string; readonly token: string };

function kubeconfig({ server, authority, token }: Way, namespace: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'drydock-demo',
    contexts: [
      { name: 'drydock-demo', context: { cluster: 'drydock-demo', user: 'you', namespace } },
    ],
    clusters: [
      {
        name: 'drydock-demo',
        cluster: {
          server,
          'certificate-authority-data': Buffer.from(authority).toString('base64'),
        },
      },
    ],
    users: [{ name: 'you', user: { token } }],
  });
}

type Open = { readonly serving: Serving; readonly way: Way };

/**
 * Serves the API over TLS: kubectl sends no token over plain HTTP, and reports that only at a high
 * log level.
 */
async function openApi(cluster: EmbeddedCluster): Promise<Open> {
  const now = systemClock.now();
  const authority = await makeAuthority(now);
  const { cert, key } = await makeServing(authority, ['127.0.0.1', 'localhost'], now);
  const token = randomBytes(24).toString('base64url');
  const serving = await serve(cluster, {
    tokens: { [token]: administrator },
    tls: { certificate: cert, key },
  });
  return { serving, way: { server: serving.url, authority: authority.cert, token } };
}

/** Returns the welcome text: addresses, and things to try. */
function welcome(count: number, page: string, file: string): readonly string[] {
  return [
    `A demo cluster of ${count} nodes runs in this process, with Drydock, which drains one of them in a moment. No other cluster is touched.`,
    `Open the dashboard, retire the host of a worker, or resume the plan:  ${page}`,
    'Or use another terminal, in the clone, or your own kubectl:',
    `  export KUBECONFIG=${file}`,
    '  bin/drydock status                       held nodes, what blocks them, how to fix it',
    '  bin/drydock maintain worker-1 --reason "new memory" --wait',
    '  bin/drydock release worker-1             the node is as it was before',
    '  bin/drydock drain worker-2 --ignore-daemonsets --delete-emptydir-data',
    '  kubectl get nodes,pods,maintenances,machines,machinesets,mm,mw,mes,mplan -A',
    'Press Ctrl-C to stop; nothing is left behind.',
  ];
}

function nodeCount({ cluster }: Demo): number {
  return cluster.registry.store.count('nodes');
}

function welcomeEmpty(file: string): readonly string[] {
  return [
    'An empty Kubernetes cluster runs in this process: API, controllers, scheduler, and a kubelet for every node that you create.',
    `  export KUBECONFIG=${file}`,
    'Press Ctrl-C to stop; nothing is left behind.',
  ];
}

export type DemoFlags = { readonly port?: string; readonly empty?: boolean };

/** Runs the demo until it is stopped; closes everything in reverse order, whatever happens. */
async function runUntilStopped(
  running: Demo,
  flags: DemoFlags,
  port: number | undefined,
): Promise<void> {
  await using open = new AsyncDisposableStack();
  open.defer(() => running.stop());
  const { serving, way } = await openApi(running.cluster);
  open.defer(() => serving.close());
  const folder = mkdtempSync(join(tmpdir(), 'drydock-demo-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  open.defer(remove);
  // A demo whose output is closed exits before the cleanup runs.
  process.once('exit', remove);
  const file = join(folder, 'kubeconfig');
  writeFileSync(file, kubeconfig(way, flags.empty === true ? 'default' : 'shop'), { mode: 0o600 });
  const lines =
    flags.empty === true
      ? welcomeEmpty(file)
      : welcome(nodeCount(running), await pageOf(running, port, open), file);
  for (const line of lines) plainOutput.line(line);
  await untilStopped();
}

async function pageOf(
  { ports, adapters, hosts }: Demo,
  port: number | undefined,
  open: AsyncDisposableStack,
): Promise<string> {
  const page = await openPage({
    ports,
    adapters,
    hosts,
    cluster: 'demo',
    port,
    clock: systemClock,
    log: silentLog,
  });
  open.defer(() => page.close());
  return page.url;
}

/**
 * `drydock demo`: a cluster in this process with the operator and the dashboard, until SIGINT or
 * SIGTERM. Needs no cluster and touches none. With `--empty`, the cluster alone.
 */
export async function demo(flags: DemoFlags): Promise<void> {
  const port = pagePort(flags.port);
  await runUntilStopped(
    startDemo({ empty: flags.empty === true, begins: true, log: silentLog }),
    flags,
    port,
  );
}

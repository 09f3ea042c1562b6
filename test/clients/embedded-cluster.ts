import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Stored } from '@drydock/kube-sim';
import {
  administrator,
  ClusterRuntime,
  createCluster,
  type RequestLog,
  serve,
} from '@drydock/kube-sim';
import { makeAuthority, makeServing } from '@drydock/operator/admission';
import { systemClock } from '@drydock/utils';
import { type Binaries, ensureBinaries } from '../control-plane/binaries.ts';
import { makeFolder } from '../control-plane/folder.ts';
import { writeKubeconfig } from '../control-plane/kubeconfig.ts';
import { type Access, type Api, clientsFor } from '../control-plane/objects/api.ts';
import { type Program, type Running, start } from '../control-plane/processes/process.ts';

/** The embedded cluster over HTTPS, and programs that nobody here wrote as its clients. */
export type EmbeddedForClients = {
  readonly kind: 'started';
  readonly binaries: Extract<Binaries, { readonly kind: 'ready' }>;
  readonly folder: string;
  readonly kubeconfig: string;
  readonly api: Api;
  /** Everything that was asked for so far. */
  readonly heard: readonly RequestLog[];
  run(program: Program): Running;
  stop(): Promise<void>;
};

type Options = {
  /** Whose kubelet the embedded cluster plays; nobody's when left out. */
  readonly isAlive?: (node: Stored) => boolean;
};

/** Starts it, or says why this machine has none of the programs. */
export async function startForClients({
  isAlive = () => false,
}: Options = {}): Promise<
  EmbeddedForClients | { readonly kind: 'left-out'; readonly why: string }
> {
  const binaries = await ensureBinaries();
  if (binaries.kind === 'left-out') return binaries;
  const cluster = createCluster({ clock: systemClock, random: Math.random });
  const pace = { startMs: 500, stopMs: 1000, spread: 0 };
  const runtime = new ClusterRuntime({
    registry: cluster.registry,
    clock: systemClock,
    pace,
    isAlive,
    record: 'events',
  });
  runtime.start();
  const now = systemClock.now();
  const authority = await makeAuthority(now);
  const { cert, key } = await makeServing(authority, ['127.0.0.1', 'localhost'], now);
  const heard: RequestLog[] = [];
  const serving = await serve(cluster, {
    tokens: { admin: administrator },
    heard: call => heard.push(call),
    tls: { certificate: cert, key },
  });
  const folder = makeFolder();
  writeFileSync(join(folder.path, 'ca.crt'), authority.cert);
  const access: Access = { server: serving.url, ca: authority.cert, token: 'admin' };
  const clients = clientsFor(() => access);
  const programs: Running[] = [];
  return {
    kind: 'started',
    binaries,
    folder: folder.path,
    kubeconfig: writeKubeconfig(join(folder.path, 'admin.kubeconfig'), 'admin', access),
    api: clients.apiOf('admin'),
    heard,
    run: program => {
      const running = start({ kind: 'attend', path: binaries.attend }, folder.path, program);
      programs.push(running);
      return running;
    },
    stop: async () => {
      clients.close();
      await Promise.all(programs.map(program => program.stop()));
      runtime.stop();
      await serving.close();
      folder.remove();
    },
  };
}

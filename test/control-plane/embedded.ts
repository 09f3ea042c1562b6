import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ClusterRuntime,
  createCluster,
  load,
  type RequestLog,
  type Serving,
  serve,
} from '@drydock/kube-sim';
import { SimulatedKubeVirt } from '@drydock/kube-sim/kubevirt';
import { makeAuthority, makeServing } from '@drydock/operator/admission';
import { systemClock } from '@drydock/utils';
import type { Audit, Audited } from './audit.ts';
import { ensureBinaries } from './binaries.ts';
import { makeFolder } from './folder.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import { type Access, clientsFor } from './objects/api.ts';
import { run } from './processes/command.ts';
import { type Running, start } from './processes/process.ts';
import type { ControlPlane, Options } from './types.ts';
import { shortNames, tokenOf, users } from './users.ts';

/** Kwok's, as stages/pods.yaml has it. */
const pace = { startMs: 500, stopMs: 1000, spread: 0 };

function outOfReach(what: string): never {
  throw new Error(`${what} is no process of its own in the embedded cluster`);
}

/** What has been asked, in the order of the answers. */
class Ear implements Audit {
  readonly #known: ReadonlyMap<string, string>;
  readonly #all: Audited[] = [];

  constructor(known: ReadonlyMap<string, string>) {
    this.#known = known;
  }

  hear({
    user,
    asked,
    url,
    userAgent,
    status,
    forbidden,
    receivedAt,
    answeredAt,
  }: RequestLog): void {
    const of =
      asked.kind === 'resource'
        ? asked
        : { resource: '', subresource: '', namespace: '', name: '' };
    this.#all.push({
      id: String(this.#all.length),
      user: this.#known.get(user.name) ?? user.name,
      agent: userAgent,
      verb: asked.verb,
      path: url,
      resource: of.resource,
      subresource: of.subresource,
      namespace: of.namespace,
      name: of.name,
      code: status,
      forbidden,
      authorized: !forbidden && status !== 401,
      receivedAt,
      answeredAt,
    });
  }

  mark(): number {
    return this.#all.length;
  }

  async since(mark: number, user?: string): Promise<readonly Audited[]> {
    // What another process has just asked may still be on its way.
    await sleep(300);
    const wanted = this.#all.slice(mark).filter(one => user === undefined || one.user === user);
    return wanted.sort((one, other) => one.receivedAt - other.receivedAt);
  }
}

type Open = {
  readonly serving: Serving;
  readonly ca: string;
  readonly ear: Ear;
  readonly kubevirt: SimulatedKubeVirt | undefined;
  readonly close: () => Promise<void>;
};

/** Migrations take as long as the played virt-handler of the control plane has them take. */
const migrationPace = { baseMs: 3000, perGiMs: 0 };

async function open(options: Options): Promise<Open> {
  const kubevirt = options.aggregation === true ? new SimulatedKubeVirt(migrationPace) : undefined;
  const extensions = kubevirt === undefined ? [] : [kubevirt.extension()];
  const cluster = createCluster({ clock: systemClock, random: Math.random, extensions });
  const isAlive: NonNullable<ConstructorParameters<typeof ClusterRuntime>[0]['isAlive']> = ({
    metadata: { annotations },
  }) =>
    annotations?.['kwok.x-k8s.io/node'] === 'fake' &&
    annotations['drydock.test/dead'] === undefined;
  const runtime = new ClusterRuntime({
    registry: cluster.registry,
    clock: systemClock,
    pace,
    isAlive,
    record: 'events',
    more: kubevirt?.controllers() ?? [],
  });
  for (const { what, why } of load(cluster.registry, options.objects ?? []))
    throw new Error(`${what} could not be loaded: ${why}`);
  runtime.start();
  const everyone = users(options.users);
  const tokens = Object.fromEntries(
    [...everyone].map(([user, { name, groups }]) => [
      tokenOf(user),
      { name, groups: [...groups, 'system:authenticated'] },
    ]),
  );
  const ear = new Ear(shortNames(options.users));
  const now = systemClock.now();
  const authority = await makeAuthority(now);
  const { cert, key } = await makeServing(authority, ['127.0.0.1', 'localhost'], now);
  const serving = await serve(cluster, {
    tokens,
    heard: call => ear.hear(call),
    tls: { certificate: cert, key },
  });
  const close = async (): Promise<void> => {
    runtime.stop();
    await serving.close();
  };
  return { serving, ca: authority.cert, ear, kubevirt, close };
}

/** The one that is built with the control plane, or the machine's own. */
async function findKubectl(): Promise<{ readonly path: string; readonly lacks: string | false }> {
  const binaries = await ensureBinaries(undefined, { kwok: false });
  if (binaries.kind === 'ready') return { path: binaries.kubectl, lacks: false };
  const own = await run('kubectl', ['version', '--client']).catch(() => undefined);
  const lacks =
    own?.code === 0 ? false : `kubectl left out: there is none on PATH, and ${binaries.why}`;
  return { path: 'kubectl', lacks };
}

/**
 * Drydock's own embedded cluster, over HTTPS like any other. Its components are no processes that
 * could be ended or frozen.
 */
export async function embeddedControlPlane(options: Options): Promise<ControlPlane> {
  if (options.flags !== undefined || options.without !== undefined)
    return outOfReach('what has flags or is left out');
  const { path: kubectlPath, lacks: lacksKubectl } = await findKubectl();
  const folder = makeFolder();
  const { serving, ca, ear, kubevirt, close } = await open(options);
  writeFileSync(join(folder.path, 'ca.crt'), ca);
  const accessOf = (user: string): Access => ({ server: serving.url, ca, token: tokenOf(user) });
  const kubeconfigOf = (user: string): string =>
    writeKubeconfig(
      join(folder.path, `${user}.kubeconfig`),
      user,
      accessOf(user),
      users(options.users).get(user)?.namespace,
    );
  const { apiOf, close: closeClients } = clientsFor(accessOf);
  const programs: Running[] = [];
  const stop = async (): Promise<void> => {
    closeClients();
    await Promise.all(programs.map(program => program.stop()));
    await close();
    folder.remove();
  };
  return {
    kind: 'started',
    external: false,
    folder: folder.path,
    server: serving.url,
    kubeconfig: kubeconfigOf('admin'),
    api: apiOf('admin'),
    accessOf,
    kubeconfigOf,
    apiOf,
    kubectl: (args, { user = 'admin', ...rest } = {}) =>
      run(kubectlPath, ['--kubeconfig', kubeconfigOf(user), ...args], rest),
    kubectlPath,
    lacksKubectl,
    audit: ear,
    component: name => outOfReach(name),
    restart: name => outOfReach(name),
    upgrade: ({ version }) => outOfReach(version),
    whileDown: () => outOfReach('etcd'),
    ...(kubevirt !== undefined && { simulatedKubeVirt: kubevirt }),
    run: program => {
      const running = start({ kind: 'module' }, folder.path, program);
      programs.push(running);
      return running;
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

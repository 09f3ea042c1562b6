import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Audit, auditIn } from './audit.ts';
import { type Binaries, ensureBinaries } from './binaries.ts';
import { writeFrontProxy, writeReachableServer } from './certificates.ts';
import { embeddedControlPlane } from './embedded.ts';
import { externalControlPlane } from './external.ts';
import { type Folder, makeFolder } from './folder.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import { type Access, type Api, clientsFor } from './objects/api.ts';
import { run } from './processes/command.ts';
import { freePorts } from './processes/ports.ts';
import { type Leash, type Program, type Running, start } from './processes/process.ts';
import { type ComponentName, componentNames, programOf, type Site } from './programs.ts';
import type { ControlPlane, LeftOut, Options } from './types.ts';
import { shortNames, tokenOf, users } from './users.ts';
import { waitFor } from './wait.ts';

type Ready = Extract<Binaries, { readonly kind: 'ready' }>;

function writeTokens(folder: string, options: Options): void {
  const lines = [...users(options.users)].map(
    ([user, { name, groups }]) => `${tokenOf(user)},${name},${name},"${groups.join(',')}"`,
  );
  writeFileSync(join(folder, 'tokens.csv'), `${lines.join('\n')}\n`, { mode: 0o600 });
}

function hasKwok({ without = [] }: Options): boolean {
  return !without.includes('kwok');
}

async function prepare(binaries: Ready, folder: string, options: Options): Promise<Site> {
  const pki = await run(binaries.attend, ['pki', folder]);
  if (pki.code !== 0) throw new Error(`no certificates: ${pki.stderr}`);
  writeTokens(folder, options);
  if (options.aggregation === true) await writeFrontProxy(folder);
  if (options.address !== undefined) await writeReachableServer(folder, options.address);
  const [etcdPort = 0, peerPort = 0, apiPort = 0] = await freePorts(3);
  const ca = readFileSync(join(folder, 'ca.crt'), 'utf8');
  return {
    folder,
    minor: binaries.release.minor,
    controlplane: binaries.controlplane,
    kwok: binaries.kwok,
    etcdPort,
    peerPort,
    apiPort,
    ...(options.address === undefined ? {} : { address: options.address }),
    audit: options.audit === true,
    aggregation: options.aggregation === true,
    flags: options.flags ?? {},
    kubeconfigOf: user => {
      const file = join(folder, `${user}.kubeconfig`);
      if (existsSync(file)) return file;
      const access = {
        server: `https://${options.address ?? '127.0.0.1'}:${apiPort}`,
        ca,
        token: tokenOf(user),
      };
      return writeKubeconfig(file, user, access, users(options.users).get(user)?.namespace);
    },
  };
}

/**
 * Ready means that the namespace that tests use first is there too; it is made a moment after
 * /readyz says ok.
 */
async function serving(api: Api, needed: readonly Running[]): Promise<void> {
  const dead = new AbortController();
  const check = async (): Promise<{ done: undefined } | { yet: string }> => {
    const gone = needed.find(component => !component.alive());
    if (gone !== undefined) dead.abort(new Error(`${gone.name} ended early:\n${gone.tail()}`));
    if (dead.signal.aborted) return { done: undefined };
    const ready = await api.call('GET', '/readyz');
    if (ready.status !== 200)
      return { yet: `readyz ${ready.status} ${String(ready.body).slice(-300)}` };
    const namespace = await api.call('GET', '/api/v1/namespaces/default');
    return namespace.status === 200 ? { done: undefined } : { yet: 'no namespace default yet' };
  };
  await waitFor('the API server to be ready', check, { deadlineMs: 60_000, everyMs: 50 });
  dead.signal.throwIfAborted();
}

/** The processes of one control plane, by name. */
class Components {
  readonly #running = new Map<ComponentName, Running>();
  readonly #extra: Running[] = [];
  readonly #leash: Leash;
  #site: Site;

  constructor(leash: Leash, site: Site) {
    this.#leash = leash;
    this.#site = site;
  }

  /** What is started from now on is of that release. */
  use({ release, controlplane, kwok }: Ready): void {
    this.#site = { ...this.#site, minor: release.minor, controlplane, kwok };
  }

  /** The ones that have been started, in that order. */
  get names(): readonly ComponentName[] {
    return [...this.#running.keys()];
  }

  start(name: ComponentName): Running {
    const running = start(this.#leash, this.#site.folder, programOf(this.#site, name));
    this.#running.set(name, running);
    return running;
  }

  get(name: ComponentName): Running {
    const running = this.#running.get(name);
    if (running === undefined) throw new Error(`${name} was not started`);
    return running;
  }

  run(program: Program): Running {
    const running = start(this.#leash, this.#site.folder, program);
    this.#extra.push(running);
    return running;
  }

  /** What a test started goes first, so that it may still say good-bye to the API server. */
  async stop(): Promise<void> {
    await Promise.all(this.#extra.map(program => program.stop()));
    await Promise.all([...this.#running.values()].map(component => component.stop()));
  }
}

const noAudit: Audit = {
  mark: () => {
    throw new Error('this control plane has no audit log: start it with audit: true');
  },
  since: () =>
    Promise.reject(new Error('this control plane has no audit log: start it with audit: true')),
};

function assemble(
  binaries: Ready,
  site: Site,
  folder: Folder,
  components: Components,
  options: Options,
): ControlPlane {
  const server = `https://${site.address ?? '127.0.0.1'}:${site.apiPort}`;
  const ca = readFileSync(join(folder.path, 'ca.crt'), 'utf8');
  const accessOf = (user: string): Access => ({ server, ca, token: tokenOf(user) });
  const { apiOf, close: closeClients } = clientsFor(accessOf);
  const api = apiOf('admin');
  const stop = async (): Promise<void> => {
    closeClients();
    await components.stop();
    folder.remove();
  };
  const whileDown = async (work: () => void): Promise<void> => {
    const { names } = components;
    for (const name of names.toReversed()) await components.get(name).stop();
    work();
    const base = names.slice(0, 2).map(name => components.start(name));
    await serving(api, base);
    for (const name of names.slice(2)) components.start(name);
  };
  return {
    kind: 'started',
    external: false,
    folder: folder.path,
    server,
    kubeconfig: site.kubeconfigOf('admin'),
    api,
    accessOf,
    kubeconfigOf: user => site.kubeconfigOf(user),
    apiOf,
    kubectl: (args, { user = 'admin', ...rest } = {}) =>
      run(binaries.kubectl, ['--kubeconfig', site.kubeconfigOf(user), ...args], rest),
    kubectlPath: binaries.kubectl,
    lacksKubectl: false,
    audit:
      options.audit === true
        ? auditIn(join(folder.path, 'audit.log'), shortNames(options.users))
        : noAudit,
    component: name => components.get(name),
    restart: async name => {
      await components.get(name).stop();
      const again = components.start(name);
      if (name === 'etcd' || name === 'kube-apiserver') await serving(api, [again]);
    },
    upgrade: async release => {
      const next = await ensureBinaries(release, { kwok: hasKwok(options) });
      if (next.kind === 'left-out') throw new Error(`no ${release.version}: ${next.why}`);
      await whileDown(() => components.use(next));
    },
    whileDown,
    run: program => components.run(program),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

async function startOnce(binaries: Ready, options: Options): Promise<ControlPlane> {
  const folder = makeFolder();
  const site = await prepare(binaries, folder.path, options);
  const components = new Components({ kind: 'attend', path: binaries.attend }, site);
  const controlPlane = assemble(binaries, site, folder, components, options);
  const wanted = componentNames.filter(name => options.without?.includes(name) !== true);
  try {
    const base = wanted.slice(0, 2).map(name => components.start(name));
    await serving(controlPlane.api, base);
    for (const name of wanted.slice(2)) components.start(name);
    return controlPlane;
  } catch (error) {
    await controlPlane.stop();
    throw error;
  }
}

/**
 * Between finding a free port and listening on it another process may take it; then it is tried
 * again with other ports.
 */
async function startPatiently(
  binaries: Ready,
  options: Options,
  attempts = 3,
): Promise<ControlPlane> {
  try {
    return await startOnce(binaries, options);
  } catch (error) {
    if (attempts <= 1 || !String(error).includes('address already in use')) throw error;
    return startPatiently(binaries, options, attempts - 1);
  }
}

/**
 * Starts etcd, an API server, the controller manager, the scheduler and kwok on 127.0.0.1, or takes
 * the cluster of
 * `DRYDOCK_TEST_KUBECONFIG`, or with `DRYDOCK_TEST_CLUSTER=embedded` Drydock's own embedded
 * cluster. A machine that can do none of them gets a value that says why.
 */
export async function startControlPlane(options: Options = {}): Promise<ControlPlane | LeftOut> {
  const given = process.env['DRYDOCK_TEST_KUBECONFIG'];
  if (given !== undefined && given !== '') return externalControlPlane(given);
  if (process.env['DRYDOCK_TEST_CLUSTER'] === 'embedded') return embeddedControlPlane(options);
  const binaries = await ensureBinaries(options.release, { kwok: hasKwok(options) });
  return binaries.kind === 'ready' ? startPatiently(binaries, options) : binaries;
}

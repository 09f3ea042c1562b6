import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { create } from 'tar';
import type { JsonObject } from '../../core/json.ts';
import { saidBy } from '../../core/status.ts';
import { listAll } from '../../operator/list.ts';
import type { Api } from '../../operator/ports.ts';
import { type CopiedKind, pathOfKind } from '../../rehearse/snapshot/cluster-snapshot.ts';
import { writeCopy } from '../../rehearse/snapshot/files.ts';
import { takeCopy } from '../../rehearse/snapshot/take.ts';
import { trimmed } from '../../rehearse/snapshot/trim.ts';
import { systemClock } from '../../support/clock.ts';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { UsageError } from '../shared/fail.ts';
import { plainOutput } from '../shared/output.ts';
import { version } from '../shared/version.ts';
import { withCluster } from '../shared/with-cluster.ts';
import { checkAll } from './check.ts';
import { gatherFacts, type InstallationFacts } from './facts.ts';

export type SupportBundleFlags = ConnectionFlags;

/** Beside what a snapshot has. Never Secrets or ConfigMaps. */
const more: readonly CopiedKind[] = [
  { apiVersion: 'machinemaintenance.managed.openshift.io/v1alpha1', kind: 'MachineMaintenance', plural: 'machinemaintenances' },
  { apiVersion: 'drydock.dev/v1alpha1', kind: 'MachineEventSource', plural: 'machineeventsources' },
  { apiVersion: 'drydock.dev/v1alpha1', kind: 'NodeNotice', plural: 'nodenotices' },
  { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', plural: 'leases' },
  { apiVersion: 'lifecycle.k8s.io/v1alpha1', kind: 'EvictionRequest', plural: 'evictionrequests' },
  { apiVersion: 'lifecycle.k8s.io/v1alpha1', kind: 'Eviction', plural: 'evictions' },
];

/** Of each log, the end. */
const log = { lines: 20_000, bytes: 10_000_000 };

/** Into a folder, one file after the other. */
class Bundle {
  readonly leftOut: string[] = [];
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  write(name: string, content: unknown): void {
    const file = join(this.#folder, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof content === 'string' ? content : `${JSON.stringify(content, undefined, 2)}\n`);
  }

  /** What cannot be had is named, and the rest goes on. */
  async part(name: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.leftOut.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

const objects = async (api: Api, bundle: Bundle, kind: CopiedKind): Promise<void> => {
  const found = (await listAll(api, pathOfKind(kind), {}, 'none if missing')) as readonly JsonObject[];
  if (found.length === 0) return;
  const items = found.map(one => trimmed({ apiVersion: kind.apiVersion, kind: kind.kind, ...one }));
  bundle.write(`objects/${kind.plural}.${kind.apiVersion.split('/')[0] ?? ''}.json`, { apiVersion: 'v1', kind: 'List', items });
};

type Pod = { readonly metadata: { readonly name: string }; readonly spec: { readonly containers: readonly { readonly name: string }[] } };

const logsOf = async (api: Api, bundle: Bundle, namespace: string): Promise<void> => {
  const pods = (await listAll(api, `/api/v1/namespaces/${namespace}/pods`)) as readonly Pod[];
  for (const { metadata, spec } of pods)
    for (const container of spec.containers)
      for (const previous of [false, true]) {
        const path = `/api/v1/namespaces/${namespace}/pods/${metadata.name}/log`;
        const query = { container: container.name, previous, timestamps: true, tailLines: log.lines, limitBytes: log.bytes };
        const response = await api.call({ method: 'GET', path, query, accept: '*/*' });
        const name = `logs/${metadata.name}.${container.name}${previous ? '.previous' : ''}.log`;
        if (response.status === 200) bundle.write(name, typeof response.body === 'string' ? response.body : JSON.stringify(response.body));
        // Most containers have not been restarted.
        else if (!previous) bundle.leftOut.push(`${name}: ${saidBy(response)}`);
      }
};

/** The operator's metrics by way of the API server; served over HTTPS they ask for a token, which does not come through. */
const metricsOf = async (api: Api, bundle: Bundle, { workloads, namespace }: InstallationFacts): Promise<void> => {
  const args = workloads.find(({ metadata }) => metadata.namespace === namespace)?.spec.template.spec.containers[0]?.args ?? [];
  if (args.includes('--metrics-secure'))
    throw new Error('they are served with authentication only: curl them with the token of a service account that may');
  const port = /:(\d+)$/.exec(args.find(arg => arg.startsWith('--metrics-bind-address=')) ?? ':8080')?.[1] ?? '8080';
  for (const { metadata } of (await listAll(api, `/api/v1/namespaces/${namespace}/pods`)) as readonly Pod[]) {
    const response = await api.call({
      method: 'GET',
      path: `/api/v1/namespaces/${namespace}/pods/${metadata.name}:${port}/proxy/metrics`,
      accept: '*/*',
    });
    if (response.status !== 200) throw new Error(saidBy(response));
    bundle.write(`metrics/${metadata.name}.txt`, String(response.body));
  }
};

const collect = async (api: Api, folder: string): Promise<readonly string[]> => {
  const bundle = new Bundle(folder);
  const facts = await gatherFacts(api, systemClock, version());
  bundle.write('version.json', {
    client: version(),
    node: process.version,
    server: facts.release.version,
    takenAt: systemClock.now().toString(),
  });
  bundle.write('check.json', { checks: checkAll(facts), unread: facts.unread });
  bundle.write(
    'workloads.json',
    facts.workloads
      .filter(({ metadata }) => metadata.namespace === facts.namespace)
      .map(one => ({ ...one, ...trimmed(one as unknown as JsonObject) })),
  );
  await bundle.part('snapshot', async () => {
    const copy = await takeCopy({ api, now: () => systemClock.now() });
    bundle.leftOut.push(...copy.leftOut);
    writeCopy(join(folder, 'snapshot'), copy);
  });
  for (const kind of more) await bundle.part(kind.plural, () => objects(api, bundle, kind));
  await bundle.part('logs', () => logsOf(api, bundle, facts.namespace));
  await bundle.part('metrics', () => metricsOf(api, bundle, facts));
  bundle.write('left-out.txt', bundle.leftOut.map(line => `${line}\n`).join(''));
  return bundle.leftOut;
};

const fileOf = (name: string | undefined): string => {
  const stamp = systemClock.now().toString({ smallestUnit: 'second' }).replaceAll(/[-:]/g, '');
  const file = name ?? `drydock-support-${stamp}.tar.gz`;
  if (!file.endsWith('.tar.gz')) throw new UsageError(`${file} has to end in .tar.gz`);
  return file;
};

/**
 * `drydock support-bundle [FILE]`: writes what somebody else needs to understand a problem into one archive that only its owner may read. It changes nothing in the cluster, and has no
 * Secret, no ConfigMap, and no value of an environment variable in it. What may not be read is named.
 */
export const supportBundle = async (
  name: string | undefined,
  flags: SupportBundleFlags,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> => {
  const file = fileOf(name);
  const root = mkdtempSync(join(tmpdir(), 'drydock-support-'));
  try {
    await withCluster(flags, env, async connection => {
      const inside = basename(file, '.tar.gz');
      mkdirSync(join(root, inside), { mode: 0o700 });
      for (const what of await collect(connection, join(root, inside))) plainOutput.note(`left out: ${what}`);
      writeFileSync(file, '', { mode: 0o600 });
      chmodSync(file, 0o600);
      create({ sync: true, gzip: true, file, cwd: root, portable: true }, [inside]);
      plainOutput.line(`${file}: read it before you give it away: names of nodes, pods and namespaces are in it`);
    });
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
};

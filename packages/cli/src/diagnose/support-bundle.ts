import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { type JsonObject, statusMessage, truncate } from '@drydock/apimachinery';
import { type Api, listAll } from '@drydock/kube-client';
import { machineKindsHere } from '@drydock/operator/machines';
import {
  type CopiedKind,
  type Kept,
  only,
  pathOfKind,
  redacted,
  takeCopy,
  trimmedBy,
  writeCopy,
} from '@drydock/rehearse/snapshot';
import { errorText, systemClock, UsageError } from '@drydock/utils';
import { create } from 'tar';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { shellWord } from '../shared/fail.ts';
import { plainOutput } from '../shared/output.ts';
import { version } from '../shared/version.ts';
import { withCluster } from '../shared/with-cluster.ts';
import { checkAll } from './checks.ts';
import { gatherFacts, type InstallationFacts, isOperator } from './facts.ts';

/**
 * Fields that a support bundle keeps of kinds that a snapshot lacks: as there, only the fields
 * listed here.
 */

const conditions = only('lastTransitionTime observedGeneration reason severity status type');
const events = only(
  'code deadline id instance kind notAfter notBefore provider resource source state',
);

const machine: Readonly<Record<string, Kept>> = {
  spec: only(
    'clusterName failureDomain minReadySeconds nodeName paused providerID replicas state version',
    {
      lifecycleHooks: only('', { preDrain: only('name owner'), preTerminate: only('name owner') }),
      selector: only('matchLabels', { matchExpressions: only('key operator values') }),
    },
  ),
  status: only(
    'availableReplicas lastUpdated observedGeneration phase readyReplicas replicas upToDateReplicas updatedReplicas',
    {
      conditions,
      nodeRef: only('apiVersion kind name uid'),
    },
  ),
};

const bundleFields: Readonly<Record<string, Readonly<Record<string, Kept>>>> = {
  MachineMaintenance: {
    spec: only(
      'approval approved deadline eventcode eventid gates keepSeconds machineid machinelink maintenancescheduled nodeName notBefore strategy',
      { events, machineRef: only('name namespace') },
    ),
    status: only(
      'beganForDeadline bootID completionTime deadline drainedTime eventsEndTime handledEvents machineUID maintenanceName nodeName observedGeneration phase scheduledTime set startTime strategy waitingFor',
      { conditions, history: only('phase reason time') },
    ),
  },
  MachineEventSource: {
    spec: only('gates presets urgency', {
      aws: only('intervalSeconds region', { credentialsSecret: only('name namespace') }),
      responses: only('approval kinds strategy'),
      signals: only('kind state'),
    }),
    status: only(
      'events lastScanTime machines nextScanTime observedGeneration trouble unknownMachines withoutProviderID',
      { conditions },
    ),
  },
  NodeNotice: { spec: only('instance observedTime provider', { events, trouble: only('reason') }) },
  MaintenanceApproval: { spec: only('planName promote revision runID specHash stage') },
  Lease: {
    spec: only('acquireTime holderIdentity leaseDurationSeconds leaseTransitions renewTime'),
  },
  EvictionRequest: {
    spec: only('type', { target: only('', { pod: only('name uid') }) }),
    status: only('', { conditions }),
  },
  Eviction: {
    spec: only('', { target: only('', { pod: only('name uid') }) }),
    status: only('', { conditions }),
  },
  Machine: machine,
  MachineSet: machine,
  MachineDeployment: machine,
  ControlPlaneMachineSet: machine,
  KubeadmControlPlane: machine,
};

export type SupportBundleFlags = ConnectionFlags;

/** Kinds beyond those of a snapshot. Never Secrets or ConfigMaps. */
const more: readonly CopiedKind[] = [
  {
    apiVersion: 'machinemaintenance.managed.openshift.io/v1alpha1',
    kind: 'MachineMaintenance',
    plural: 'machinemaintenances',
  },
  { apiVersion: 'drydock.dev/v1alpha1', kind: 'MachineEventSource', plural: 'machineeventsources' },
  { apiVersion: 'drydock.dev/v1alpha1', kind: 'NodeNotice', plural: 'nodenotices' },
  {
    apiVersion: 'drydock.dev/v1alpha1',
    kind: 'MaintenanceApproval',
    plural: 'maintenanceapprovals',
  },
  { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', plural: 'leases' },
  { apiVersion: 'lifecycle.k8s.io/v1alpha1', kind: 'EvictionRequest', plural: 'evictionrequests' },
  { apiVersion: 'lifecycle.k8s.io/v1alpha1', kind: 'Eviction', plural: 'evictions' },
];

/** Limits of each log, counted from its end. */
const log = { lines: 20_000, bytes: 10_000_000 };

/** A bundle that is written into a folder, one file after the other. */
class Bundle {
  readonly leftOut: string[] = [];
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Writes a file. Throws for a name that leads out of the folder, whatever its source. */
  write(name: string, content: unknown): void {
    if (!/^[A-Za-z0-9][-A-Za-z0-9_]*([./][A-Za-z0-9][-A-Za-z0-9_]*)*$/.test(name))
      throw new Error(`${truncate(name)} is not a valid file name`);
    const file = join(this.#folder, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(
      file,
      typeof content === 'string' ? content : `${JSON.stringify(content, undefined, 2)}\n`,
    );
  }

  /** Runs one part; a failure is recorded, and the rest goes on. */
  async part(name: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.leftOut.push(`${name}: ${errorText(error)}`);
    }
  }
}

async function objects(api: Api, bundle: Bundle, kind: CopiedKind): Promise<void> {
  const found = (await listAll(api, pathOfKind(kind), {}, 'empty')) as readonly JsonObject[];
  if (found.length === 0) return;
  const items = found.map(one =>
    trimmedBy(bundleFields[kind.kind] ?? {}, {
      ...one,
      apiVersion: kind.apiVersion,
      kind: kind.kind,
    }),
  );
  bundle.write(`objects/${kind.plural}.${kind.apiVersion.split('/')[0] ?? ''}.json`, {
    apiVersion: 'v1',
    kind: 'List',
    items,
  });
}

type Pod = {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly containers: readonly { readonly name: string }[] };
};

/**
 * Kubernetes' format of names of pods and containers. Such a name becomes part of a path and a word
 * of a shell command, so a server that returns other names cannot choose where a file is written or
 * what is run.
 */
const nameOfObject = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

function isName(name: unknown): name is string {
  return typeof name === 'string' && nameOfObject.test(name) && !name.includes('..');
}

/** Returns the pods with valid names; the others are left out and recorded. */
function named(bundle: Bundle, what: string, all: readonly Pod[]): readonly Pod[] {
  const odd = all.filter(
    ({ metadata, spec }) =>
      ![metadata.name, ...spec.containers.map(({ name }) => name)].every(isName),
  );
  for (const { metadata } of odd)
    bundle.leftOut.push(
      `${what} of pod ${truncate(metadata.name, 300)}: the API server returned an invalid name for it or for one of its containers`,
    );
  return all.filter(pod => !odd.includes(pod));
}

async function logsOf(api: Api, bundle: Bundle, namespace: string): Promise<void> {
  const pods = (await listAll(api, `/api/v1/namespaces/${namespace}/pods`)) as readonly Pod[];
  for (const { metadata, spec } of named(bundle, 'logs', pods))
    for (const container of spec.containers)
      for (const previous of [false, true]) {
        const path = `/api/v1/namespaces/${namespace}/pods/${metadata.name}/log`;
        const query = {
          container: container.name,
          previous,
          timestamps: true,
          tailLines: log.lines,
          limitBytes: log.bytes,
        };
        const response = await api.call({ method: 'GET', path, query, accept: '*/*' });
        const name = `logs/${metadata.name}.${container.name}${previous ? '.previous' : ''}.log`;
        if (response.status === 200)
          bundle.write(
            name,
            typeof response.body === 'string' ? response.body : JSON.stringify(response.body),
          );
        // Most containers have not been restarted.
        else if (!previous) bundle.leftOut.push(`${name}: ${statusMessage(response)}`);
      }
}

/**
 * Collects Machines and their sets, of each machine API that is served; not their templates, which
 * may contain passwords and files.
 */
async function machinesOf(api: Api, bundle: Bundle): Promise<void> {
  const kinds = await machineKindsHere(api, new AbortController().signal);
  for (const kind of kinds)
    await bundle.part(`${kind.plural} of ${kind.apiVersion}`, () => objects(api, bundle, kind));
}

/**
 * Returns the commands for fetching metrics that are served over HTTPS: they need a token, and the
 * API server's proxy to pods does not forward one.
 */
function metricsByHand(namespace: string, port: string, pods: readonly string[]): string {
  return `# The operator serves its metrics over HTTPS, to users with the right to get /metrics.
# The API server's proxy to pods removes the header with the token, so drydock could not collect them. These commands do:
kubectl create clusterrolebinding drydock-metrics-once --clusterrole=drydock-metrics-reader --serviceaccount=${shellWord(`${namespace}:default`)}
TOKEN=$(kubectl -n ${shellWord(namespace)} create token default)
# No other process may get the token: if the port is in use, kubectl exits, and curl is not run.
get() {
  kubectl -n ${shellWord(namespace)} port-forward --address=127.0.0.1 "pod/$1" 18443:${port} & sleep 3
  if kill -0 $!; then curl -sk -H "Authorization: Bearer $TOKEN" https://127.0.0.1:18443/metrics > "$1.metrics.txt"; kill $!; fi
  wait
}
${pods.map(pod => `get ${shellWord(pod)}`).join('\n')}
kubectl delete clusterrolebinding drydock-metrics-once
`;
}

/** Collects the operator's metrics through the API server, where they need no token. */
async function metricsOf(
  api: Api,
  bundle: Bundle,
  { workloads, namespace }: InstallationFacts,
): Promise<void> {
  const args =
    workloads.find(one => isOperator(one) && one.metadata.namespace === namespace)?.spec.template
      .spec.containers[0]?.args ?? [];
  const port =
    /:(\d+)$/.exec(args.find(arg => arg.startsWith('--metrics-bind-address=')) ?? ':8080')?.[1] ??
    '8080';
  const all = (await listAll(api, `/api/v1/namespaces/${namespace}/pods`, {
    labelSelector: 'app.kubernetes.io/name=drydock',
  })) as readonly Pod[];
  const pods = named(bundle, 'metrics', all).map(({ metadata }) => metadata.name);
  if (args.includes('--metrics-secure')) {
    bundle.write('metrics/how-to-get-them.sh', metricsByHand(namespace, port, pods));
    throw new Error(
      "the operator requires a token with the right to get /metrics, and the API server's proxy to pods removes it: run metrics/how-to-get-them.sh of the archive",
    );
  }
  for (const pod of pods) {
    const path = `/api/v1/namespaces/${namespace}/pods/${pod}:${port}/proxy/metrics`;
    const response = await api.call({ method: 'GET', path, accept: '*/*' });
    if (response.status !== 200) throw new Error(statusMessage(response));
    bundle.write(`metrics/${pod}.txt`, String(response.body));
  }
}

/**
 * Reads the contents of the archive and writes them into the folder; returns what could not be
 * read.
 */
export async function collect(api: Api, folder: string): Promise<readonly string[]> {
  const bundle = new Bundle(folder);
  const facts = await gatherFacts(api, systemClock, version());
  bundle.write('version.json', {
    client: version(),
    node: process.version,
    server: facts.release.version,
    snapshotTime: systemClock.now().toString(),
  });
  bundle.write('check.json', { checks: checkAll(facts), unread: facts.unread });
  bundle.write(
    'workloads.json',
    facts.workloads
      .filter(({ metadata }) => metadata.namespace === facts.namespace)
      .map(one => redacted(one as unknown as JsonObject)),
  );
  await bundle.part('snapshot', async () => {
    const copy = await takeCopy({ api, now: () => systemClock.now() });
    bundle.leftOut.push(...copy.leftOut);
    writeCopy(join(folder, 'snapshot'), copy);
  });
  for (const kind of more) await bundle.part(kind.plural, () => objects(api, bundle, kind));
  await bundle.part('machines', () => machinesOf(api, bundle));
  await bundle.part('logs', () => logsOf(api, bundle, facts.namespace));
  await bundle.part('metrics', () => metricsOf(api, bundle, facts));
  bundle.write('left-out.txt', bundle.leftOut.map(line => `${truncate(line)}\n`).join(''));
  return bundle.leftOut;
}

function fileOf(name: string | undefined): string {
  const stamp = systemClock.now().toString({ smallestUnit: 'second' }).replaceAll(/[-:]/g, '');
  const file = name ?? `drydock-support-${stamp}.tar.gz`;
  if (!file.endsWith('.tar.gz'))
    throw new UsageError(`${file} does not end in .tar.gz: choose a name that does`);
  return file;
}

/**
 * `drydock support-bundle [FILE]`: writes what is needed to understand a problem into one archive
 * that only its owner may read. Changes nothing in the cluster, and includes no Secret, no
 * ConfigMap, and no value of an environment variable. Names what it may not read.
 */
export async function supportBundle(
  name: string | undefined,
  flags: SupportBundleFlags,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const file = fileOf(name);
  const root = mkdtempSync(join(tmpdir(), 'drydock-support-'));
  try {
    await withCluster(flags, env, async connection => {
      const inside = basename(file, '.tar.gz');
      mkdirSync(join(root, inside), { mode: 0o700 });
      for (const what of await collect(connection, join(root, inside)))
        plainOutput.note(`left out: ${what}`);
      writeFileSync(file, '', { mode: 0o600 });
      chmodSync(file, 0o600);
      create({ sync: true, gzip: true, file, cwd: root, portable: true }, [inside]);
      plainOutput.line(
        `${file}: read it before you share it: it contains the names of nodes, pods and namespaces`,
      );
    });
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

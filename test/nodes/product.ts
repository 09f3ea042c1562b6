import { join } from 'node:path';
import { defaultNamespace as home } from '@drydock/cli/install';
import { leaderLease } from '@drydock/operator/discovery';
import { manifest } from '../../tools/release/paths.ts';
import { ensureBuilt } from '../control-plane/build/go-build.ts';
import type { Api } from '../control-plane/objects/api.ts';
import { isReady, type List, type Pod } from '../control-plane/objects/objects.ts';
import { type Outcome, run } from '../control-plane/processes/command.ts';
import { waitFor } from '../control-plane/wait.ts';
import { drydock } from '../operator/harness/shipped.ts';
import { helmBuild } from '../release/helm.ts';
import type { NodeBed } from './bed.ts';
import { productRepository } from './images.ts';

/** The product as it is released, on real nodes. */

export const productImage = `${productRepository}:${manifest.version}`;

type ContainerStatus = { readonly restartCount: number; readonly state: object };
export type Replica = Pod & {
  readonly status: {
    readonly podIP?: string;
    readonly containerStatuses?: readonly ContainerStatus[];
  };
};

/** Every setting of Helm's that is a folder of the user's is one of ours. */
function helmHome(folder: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    ['CACHE', 'CONFIG', 'DATA'].map(name => [`HELM_${name}_HOME`, join(folder, 'helm', name)]),
  );
}

/** Runs Helm 4 against the bed, in the product's namespace. Throws when Helm does. */
export async function helm(bed: NodeBed, ...args: readonly string[]): Promise<Outcome> {
  const built = await ensureBuilt(helmBuild('4'));
  if (built.kind === 'left-out') throw new Error(built.why);
  const environment = {
    ...helmHome(bed.controlPlane.folder),
    KUBECONFIG: bed.controlPlane.kubeconfig,
  };
  const done = await run(join(built.folder, 'helm'), [...args, '--namespace', home], {
    environment,
  });
  if (done.code !== 0) throw new Error(`helm ${args.join(' ')}: ${done.stdout}${done.stderr}`);
  return done;
}

/** As docs/install-helm.md says: the namespace with its labels, then the chart. */
export async function installByChart(bed: NodeBed): Promise<Outcome> {
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  await bed.api.post('/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: home, labels },
  });
  const values = ['--set', `image.repository=${productRepository}`, '--set', 'plans.enabled=true'];
  const done = await helm(bed, 'install', 'drydock', join(bed.product, 'chart.tgz'), ...values);
  await untilSettled(bed);
  return done;
}

/** Runs a command of drydock against the bed. */
export function onBed(bed: NodeBed, ...args: readonly string[]): Promise<Outcome> {
  return drydock([...args, '--kubeconfig', bed.controlPlane.kubeconfig]);
}

export async function replicas(api: Api): Promise<readonly Replica[]> {
  return (
    await api.get<List<Replica>>(
      `/api/v1/namespaces/${home}/pods?labelSelector=app.kubernetes.io/name=drydock`,
    )
  ).items;
}

type Lease = {
  readonly spec: {
    readonly holderIdentity?: string;
    readonly acquireTime?: string;
    readonly renewTime?: string;
  };
};

const leasePath = `/apis/coordination.k8s.io/v1/namespaces/${home}/leases/${leaderLease}`;

/** Who leads: the process, or nobody. A process is its pod's name and a number of its own. */
export async function leadingProcess(api: Api): Promise<string> {
  const { status, body } = await api.call('GET', leasePath);
  return status === 200 ? ((body as Lease).spec.holderIdentity ?? '') : '';
}

/** The pod of the leader. */
export async function leader(api: Api): Promise<Replica> {
  const [name = ''] = (await leadingProcess(api)).split('_');
  const pod = (await replicas(api)).find(({ metadata }) => metadata.name === name);
  if (pod === undefined) throw new Error(`the leader "${name}" is no pod`);
  return pod;
}

/**
 * Waits until another process leads than that one; answers for how many milliseconds of that the
 * lease was given back and nobody's.
 */
export async function anotherLeads(api: Api, than: string): Promise<number> {
  let freeSince: number | undefined;
  await waitFor(
    'another leader',
    async () => {
      const name = await leadingProcess(api);
      if (name === '') freeSince ??= performance.now();
      return name === than || name === '' ? { yet: name } : { done: undefined };
    },
    { deadlineMs: 60_000, everyMs: 20 },
  );
  return freeSince === undefined ? 0 : performance.now() - freeSince;
}

const webhooks = '/apis/nodemaintenance.medik8s.io/v1beta1/nodemaintenances';

/** One create that is tried on, up to and with the webhook, and not stored. */
export function tryCreate(api: Api, nodeName: string, name = 'tried'): ReturnType<Api['call']> {
  return api.call('POST', `${webhooks}?dryRun=All`, {
    apiVersion: 'nodemaintenance.medik8s.io/v1beta1',
    kind: 'NodeMaintenance',
    metadata: { name },
    spec: { nodeName, reason: 'tried' },
  });
}

function briefly({ metadata, spec, status }: Replica): string {
  const { conditions, containerStatuses = [] } = status;
  const containers = containerStatuses.map(
    ({ restartCount, state }) => `${restartCount} restarts, ${JSON.stringify(state)}`,
  );
  const bad = (conditions ?? [])
    .filter(one => one.status !== 'True')
    .map(({ type, reason, message }) => `${type}: ${reason} ${message ?? ''}`);
  return `${metadata.name} on ${spec.nodeName}: ${[...containers, ...bad].join('; ')}`;
}

/** Two replicas on two nodes, both Ready, one of which leads, and a webhook that answers. */
export async function untilSettled(
  { api }: NodeBed,
  deadlineMs = 90_000,
): Promise<readonly Replica[]> {
  const settled = await waitFor(
    'two replicas to be Ready on two nodes',
    async () => {
      const found = await replicas(api);
      const nodes = new Set(found.map(({ spec }) => spec.nodeName));
      const good = found.length === 2 && nodes.size === 2 && found.every(isReady);
      return good ? { done: found } : { yet: found.map(briefly).join('\n') };
    },
    { deadlineMs, everyMs: 100 },
  );
  await waitFor('one of them to lead', async () => {
    const { metadata } = await leader(api);
    return settled.some(pod => pod.metadata.uid === metadata.uid)
      ? { done: undefined }
      : { yet: metadata.name };
  });
  await waitFor('the webhook to answer', async () => {
    const { status, body } = await tryCreate(api, 'node-1');
    return status === 201 ? { done: undefined } : { yet: JSON.stringify(body) };
  });
  return settled;
}

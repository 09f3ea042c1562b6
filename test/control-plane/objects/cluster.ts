import { parseAllDocuments } from 'yaml';
import { type Patience, waitFor } from '../wait.ts';
import type { Api, Reply } from './api.ts';
import type { Manifest } from './manifests.ts';
import {
  type Budget,
  type Failure,
  isReady,
  keyOf,
  type List,
  type Node,
  type Pod,
} from './objects.ts';

/** Where objects of a kind live. Kinds of custom resources are plural in the plain way. */
export function collectionOf(apiVersion: string, kind: string, namespace?: string): string {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const lower = kind.toLowerCase();
  const plural = /(s|x|ch)$/.test(lower)
    ? `${lower}es`
    : lower.endsWith('y')
      ? `${lower.slice(0, -1)}ies`
      : `${lower}s`;
  return namespace === undefined
    ? `${root}/${plural}`
    : `${root}/namespaces/${namespace}/${plural}`;
}

export function podPath(namespace: string, name: string): string {
  return `/api/v1/namespaces/${namespace}/pods/${name}`;
}
export function nodePath(name: string): string {
  return `/api/v1/nodes/${name}`;
}

/** Creates them in the given order, namespaces and other things that later ones need first. */
export async function create(api: Api, ...manifests: readonly Manifest[]): Promise<void> {
  for (const { apiVersion, kind, metadata, ...rest } of manifests) {
    await api.post(collectionOf(apiVersion, kind, metadata.namespace), {
      apiVersion,
      kind,
      metadata,
      ...rest,
    });
  }
}

/** Applies one object as `kubectl apply --server-side` does, whoever owns its fields. */
export async function applyOne(api: Api, manifest: Manifest, fieldManager = 'test'): Promise<void> {
  const { apiVersion, kind, metadata } = manifest;
  const path = `${collectionOf(apiVersion, kind, metadata.namespace)}/${metadata.name}?fieldManager=${fieldManager}&force=true`;
  const { status, body } = await api.call('PATCH', path, manifest, 'application/apply-patch+yaml');
  if (status > 299)
    throw new Error(`applying ${kind} ${metadata.name}: ${status} ${JSON.stringify(body)}`);
}

/** The same for YAML documents, in the given order. */
export async function apply(api: Api, documents: string): Promise<void> {
  for (const document of parseAllDocuments(documents)) {
    const manifest = document.toJS() as Manifest | null;
    if (manifest !== null) await applyOne(api, manifest);
  }
}

/** The same for many that do not need each other. */
export async function createAll(api: Api, manifests: readonly Manifest[]): Promise<void> {
  await Promise.all(manifests.map(manifest => create(api, manifest)));
}

export function getNode(api: Api, name: string): Promise<Node> {
  return api.get(nodePath(name));
}

/** Pods of a namespace, or of all. */
export async function pods(api: Api, namespace?: string): Promise<readonly Pod[]> {
  return (await api.get<List<Pod>>(collectionOf('v1', 'Pod', namespace))).items;
}

export async function podsOn(api: Api, node: string): Promise<readonly Pod[]> {
  return (await api.get<List<Pod>>(`/api/v1/pods?fieldSelector=spec.nodeName=${node}`)).items;
}

export async function cordon(api: Api, node: string, unschedulable = true): Promise<void> {
  await api.patch(nodePath(node), { spec: { unschedulable: unschedulable ? true : null } });
}

/** Asks for one eviction and gives back whatever the API server said. */
export function evict(
  api: Api,
  namespace: string,
  name: string,
  options: Readonly<Record<string, unknown>> = {},
): Promise<Reply> {
  return api.call('POST', `${podPath(namespace, name)}/eviction`, {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name, namespace },
    ...options,
  });
}

/** The body of an answer that is not a success. */
export function failureIn(reply: Reply): Failure {
  return reply.body as Failure;
}

function someOf(names: readonly string[]): string {
  return `${names.slice(0, 5).join(', ')}${names.length > 5 ? ` and ${names.length - 5} more` : ''}`;
}

const unreadyTaints = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'];

/**
 * The kubelet says so before the node controller takes its taint away, and with the taint a node is
 * still out of service.
 */
function isInService(node: Node): boolean {
  return isReady(node) && !node.spec.taints?.some(({ key }) => unreadyTaints.includes(key));
}

/** Waits until all of these nodes are Ready and without the taints of a node that is not. */
export function nodesReady(api: Api, names: readonly string[], patience?: Patience): Promise<void> {
  return waitFor(
    `nodes ${someOf(names)} to be Ready`,
    async () => {
      const { items } = await api.get<List<Node>>('/api/v1/nodes');
      const ready = new Set(items.filter(isInService).map(({ metadata }) => metadata.name));
      const missing = names.filter(name => !ready.has(name));
      return missing.length === 0
        ? { done: undefined }
        : { yet: `not Ready, or still with a taint of it: ${someOf(missing)}` };
    },
    patience,
  );
}

/**
 * Waits until a namespace has exactly this many pods, all of them Ready and none on its way out.
 */
export function podsReady(
  api: Api,
  namespace: string,
  count: number,
  patience?: Patience,
): Promise<readonly Pod[]> {
  return waitFor(
    `${count} pods of ${namespace} to be Ready`,
    async () => {
      const found = await pods(api, namespace);
      const waiting = found
        .filter(pod => !isReady(pod) || pod.metadata.deletionTimestamp !== undefined)
        .map(keyOf);
      if (found.length === count && waiting.length === 0) return { done: found };
      return { yet: `${found.length} pods, not Ready: ${someOf(waiting)}` };
    },
    patience,
  );
}

/** Waits until the disruption controller has seen the budget and allows this many. */
export function budgetAllows(
  api: Api,
  namespace: string,
  name: string,
  count: number,
  patience?: Patience,
): Promise<Budget> {
  return waitFor(
    `budget ${namespace}/${name} to allow ${count}`,
    async () => {
      const budget = await api.get<Budget>(
        `${collectionOf('policy/v1', 'PodDisruptionBudget', namespace)}/${name}`,
      );
      const isCurrent = budget.status?.observedGeneration === budget.metadata.generation;
      if (isCurrent && budget.status?.disruptionsAllowed === count) return { done: budget };
      return { yet: JSON.stringify(budget.status ?? 'no status') };
    },
    patience,
  );
}

const workloads = [
  ['apps/v1', 'Deployment'],
  ['apps/v1', 'StatefulSet'],
  ['apps/v1', 'DaemonSet'],
  ['apps/v1', 'ReplicaSet'],
  ['batch/v1', 'Job'],
  ['policy/v1', 'PodDisruptionBudget'],
] as const;

async function killPods(api: Api, namespace: string): Promise<void> {
  for (const { metadata } of await pods(api, namespace)) {
    if ((metadata.finalizers ?? []).length > 0)
      await api.call(
        'PATCH',
        podPath(namespace, metadata.name),
        { metadata: { finalizers: null } },
        'application/merge-patch+json',
      );
  }
  await api.delete(collectionOf('v1', 'Pod', namespace), {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    gracePeriodSeconds: 0,
  });
}

/**
 * Empties namespaces at once: workloads and budgets first, then their pods without any grace. Much
 * faster than deleting a namespace.
 */
export async function clearNamespaces(api: Api, namespaces: readonly string[]): Promise<void> {
  const background = { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Background' };
  for (const namespace of namespaces) {
    for (const [apiVersion, kind] of workloads)
      await api.delete(collectionOf(apiVersion, kind, namespace), background);
    // A controller that had not seen the end of its workload yet may make one more pod, so once is
    // not enough.
    const gone = async (): Promise<{ done: undefined } | { yet: string }> => {
      await killPods(api, namespace);
      const left = await pods(api, namespace);
      return left.length === 0
        ? { done: undefined }
        : { yet: `${left.length} pods left: ${someOf(left.map(keyOf))}` };
    };
    await waitFor(`namespace ${namespace} to be empty`, gone, { deadlineMs: 60_000, everyMs: 100 });
  }
}

/** Deletes nodes and waits until they are gone. */
export async function deleteNodes(api: Api, names: readonly string[]): Promise<void> {
  await Promise.all(names.map(name => api.delete(nodePath(name))));
  await waitFor(`nodes ${someOf(names)} to be gone`, async () => {
    const { items } = await api.get<List<Node>>('/api/v1/nodes');
    const left = items.filter(({ metadata }) => names.includes(metadata.name)).map(keyOf);
    return left.length === 0 ? { done: undefined } : { yet: someOf(left) };
  });
}

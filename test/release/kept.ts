import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { Api } from '../control-plane/objects/api.ts';
import { collectionOf, create, getNode, nodePath } from '../control-plane/objects/cluster.ts';
import type { Manifest } from '../control-plane/objects/manifests.ts';
import type { List, Node } from '../control-plane/objects/objects.ts';
import { leasePath } from '../operator/harness/look.ts';

/**
 * What clusters hold of releases: manifests, chart, and objects of maintenances in every phase,
 * kept for the tests of later ones.
 */

const folder = join(import.meta.dirname, 'kept');

/** Versions of which something is kept, oldest first. */
export function keptReleases(): readonly string[] {
  return readdirSync(folder).sort((one, other) =>
    one.localeCompare(other, 'en', { numeric: true }),
  );
}

/** Path of a kept file. */
export function keptFile(
  version: string,
  file: 'manifests.yaml' | 'chart.tgz' | 'objects.yaml',
): string {
  return join(folder, version, file);
}

type Stored = Manifest & {
  readonly status?: { readonly conditions?: readonly { readonly type: string }[] };
};
type Changed = Pick<Node, 'spec'> & {
  readonly metadata: Pick<Node['metadata'], 'labels' | 'annotations'>;
  readonly status: Stored['status'];
};

/** As they are in the cluster, but for what the API server gives them. */
type Objects = {
  readonly nodes: Readonly<Record<string, Changed>>;
  readonly maintenances: readonly Stored[];
  readonly leases: readonly Stored[];
};

const kinds = [
  ['drydock.dev/v1alpha1', 'Maintenance'],
  ['nodemaintenance.medik8s.io/v1beta1', 'NodeMaintenance'],
] as const;

/** The API server gives these. */
const given = [
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'generation',
  'managedFields',
  'ownerReferences',
];

function stored({ metadata, ...rest }: Stored): Stored {
  return {
    ...rest,
    metadata: Object.fromEntries(
      Object.entries(metadata).filter(([key]) => !given.includes(key)),
    ) as Stored['metadata'],
  };
}

async function itemsOf(
  api: Api,
  apiVersion: string,
  kind: string,
  namespace?: string,
): Promise<readonly Stored[]> {
  const { items } = await api.get<List<Stored>>(collectionOf(apiVersion, kind, namespace));
  return items.map(item => stored({ ...item, apiVersion, kind }));
}

async function nodeNow(api: Api, name: string): Promise<Changed> {
  const { metadata, spec, status } = await getNode(api, name);
  const { labels = {}, annotations = {} } = metadata;
  return {
    metadata: { labels, annotations },
    spec,
    status: { conditions: status.conditions ?? [] },
  };
}

/** Reads what a cluster has of the maintenances of these nodes. */
export async function objectsNow(api: Api, nodes: readonly string[]): Promise<Objects> {
  return {
    nodes: Object.fromEntries(
      await Promise.all(nodes.map(async name => [name, await nodeNow(api, name)] as const)),
    ),
    maintenances: (
      await Promise.all(kinds.map(([apiVersion, kind]) => itemsOf(api, apiVersion, kind)))
    )
      .flat()
      .filter(({ metadata }) => nodes.includes(metadata.name)),
    leases: (await itemsOf(api, 'coordination.k8s.io/v1', 'Lease', 'medik8s-leases')).filter(
      ({ metadata }) => nodes.includes(metadata.name.replace(/^node-/, '')),
    ),
  };
}

/** Keeps a release. */
export function keep(
  version: string,
  files: { readonly manifests: string; readonly chart: Buffer; readonly objects: Objects },
): void {
  mkdirSync(join(folder, version), { recursive: true });
  writeFileSync(keptFile(version, 'manifests.yaml'), files.manifests);
  writeFileSync(keptFile(version, 'chart.tgz'), files.chart);
  writeFileSync(keptFile(version, 'objects.yaml'), stringify(files.objects));
}

function now(): string {
  return new Date().toISOString().replace('Z', '000Z');
}

/** Conditions that the cluster's own controllers do not set. */
function foreign({ status }: Changed, found: Node): readonly object[] {
  return (status?.conditions ?? []).filter(
    ({ type }) => !found.status.conditions?.some(one => one.type === type),
  );
}

async function putNode(api: Api, name: string, node: Changed): Promise<void> {
  const found = await getNode(api, name);
  await api.patch(nodePath(name), { metadata: node.metadata, spec: node.spec });
  const conditions = [...(found.status.conditions ?? []), ...foreign(node, found)];
  await api.patch(`${nodePath(name)}/status`, { status: { conditions } });
}

async function putLease(api: Api, lease: Stored): Promise<void> {
  const nodeName = lease.metadata.name.replace(/^node-/, '');
  const spec = { ...(lease as unknown as { readonly spec: object }).spec, renewTime: now() };
  if ((await api.call('GET', leasePath(nodeName))).status === 200) return;
  await create(api, { ...lease, spec });
}

/**
 * Puts the objects of a kept release into a cluster that has the surroundings of the phases, as if
 * its operator had been stopped a moment ago: times are as they were kept, but for those of leases.
 */
export async function restore(api: Api, version: string): Promise<void> {
  const { nodes, maintenances, leases } = parse(
    readFileSync(keptFile(version, 'objects.yaml'), 'utf8'),
  ) as Objects;
  for (const { status, ...object } of maintenances) {
    await create(api, object);
    const path = `${collectionOf(object.apiVersion, object.kind)}/${object.metadata.name}/status`;
    if (status !== undefined) await api.patch(path, { status });
  }
  for (const lease of leases) await putLease(api, lease);
  for (const [name, node] of Object.entries(nodes)) await putNode(api, name, node);
}

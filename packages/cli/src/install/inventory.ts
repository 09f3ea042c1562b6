import { isObject } from '@drydock/apimachinery';
import { crdTexts, defaultGroups } from '@drydock/apis/crds';
import { type Api, listAll } from '@drydock/kube-client';
import { UsageError } from '@drydock/utils';
import {
  type Addition,
  keyOf,
  Locator,
  type Manifest,
  manifestsIn,
  manifestsOf,
  type Patch,
  patchesOf,
} from './install-locate.ts';
import { defaultNamespace, defaultParts, extraParts, type Part } from './rollout.ts';

/** Parts to install, and their options. */
export type InstallOptions = {
  readonly parts: ReadonlySet<Part>;
  /** API groups of additional kinds. */
  readonly groups: readonly string[];
  readonly namespace: string;
  readonly image?: string;
  readonly replicas?: number;
};

/**
 * Order of installation: dependencies first; objects that direct the API server to the operator
 * last.
 */
const order = [
  'Namespace',
  'CustomResourceDefinition',
  'ServiceAccount',
  'ClusterRole',
  'ClusterRoleBinding',
  'Role',
  'RoleBinding',
];
const last = [
  'Deployment',
  'DaemonSet',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
  'ValidatingWebhookConfiguration',
];
function rank({ kind }: Manifest): number {
  const early = order.indexOf(kind);
  return early === -1 ? order.length + 1 + last.indexOf(kind) : early;
}

/** Returns a copy with every string changed. */
function mapStrings(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map(item => mapStrings(item, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, mapStrings(item, change)]),
  );
}

/**
 * Moves a manifest to another namespace, including subjects, services, host names in certificates,
 * and annotations.
 */
function moved(manifest: Manifest, namespace: string): Manifest {
  if (namespace === defaultNamespace || manifest.kind === 'CustomResourceDefinition')
    return manifest;
  return mapStrings(manifest, text =>
    text.replaceAll(new RegExp(`\\b${defaultNamespace}\\b`, 'g'), namespace),
  ) as Manifest;
}

/** Returns a copy with an added value: a field, or the last element of a list (`-`). */
function withAddition(value: unknown, keys: readonly string[], added: unknown): unknown {
  const [key = '', ...rest] = keys;
  if (Array.isArray(value)) {
    if (rest.length === 0) return [...value, added];
    return value.map((item, index) =>
      String(index) === key ? withAddition(item, rest, added) : item,
    );
  }
  const fields = isObject(value) ? value : {};
  return { ...fields, [key]: rest.length === 0 ? added : withAddition(fields[key], rest, added) };
}

function added(manifest: Manifest, { path, value }: Addition): Manifest {
  return withAddition(manifest, path.slice(1).split('/'), value) as Manifest;
}

function patched(manifest: Manifest, patches: readonly Patch[]): Manifest {
  return patches
    .filter(({ target }) => target.kind === manifest.kind && target.name === manifest.metadata.name)
    .flatMap(({ additions }) => additions)
    .reduce(added, manifest);
}

type Container = { readonly image: string; readonly args: readonly string[] };
type PodSpecs = {
  readonly template: { readonly spec: { readonly containers: readonly Container[] } };
};

/**
 * Returns the arguments without the webhook, which is not served when no configuration leads to it.
 */
function withoutWebhook(args: readonly string[]): readonly string[] {
  return [...args.filter(arg => !arg.startsWith('--webhook-')), '--webhook-port=0'];
}

function containersOf(manifest: Manifest): readonly Container[] {
  return (manifest['spec'] as PodSpecs).template.spec.containers;
}

function withContainers(manifest: Manifest, containers: readonly Container[]): Manifest {
  const spec = manifest['spec'] as PodSpecs;
  const { template } = spec;
  return {
    ...manifest,
    spec: { ...spec, template: { ...template, spec: { ...template.spec, containers } } },
  };
}

function tailored(manifest: Manifest, { image, replicas, parts }: InstallOptions): Manifest {
  if (manifest.kind !== 'Deployment' && manifest.kind !== 'DaemonSet') return manifest;
  const isOperator = manifest.kind === 'Deployment';
  const containers = containersOf(manifest).map(container => ({
    ...container,
    ...(image !== undefined && { image }),
    ...(isOperator && !parts.has('webhook') && { args: withoutWebhook(container.args) }),
  }));
  const changed = withContainers(manifest, containers);
  return isOperator && replicas !== undefined
    ? { ...changed, spec: { ...(changed['spec'] as object), replicas } }
    : changed;
}

function filesOf(part: Part, groups: readonly string[]): readonly Manifest[] {
  return part === 'crds'
    ? crdTexts([...defaultGroups, ...groups]).flatMap(manifestsIn)
    : manifestsOf(part);
}

/**
 * Removes duplicates: the operator may be installed into the namespace of its leases, which another
 * part brings as well.
 */
function once(all: readonly Manifest[]): readonly Manifest[] {
  const first = new Map<string, Manifest>();
  for (const manifest of all) if (!first.has(keyOf(manifest))) first.set(keyOf(manifest), manifest);
  return [...first.values()];
}

/**
 * Returns all objects of an installation, in the order of application. Throws a UsageError for an
 * unknown group.
 */
export function manifests(installOptions: InstallOptions): readonly Manifest[] {
  const { parts, groups, namespace } = installOptions;
  if (parts.has('cert-manager') && !(parts.has('webhook') && parts.has('operator')))
    throw new UsageError(
      'cert-manager is for the webhook of the operator: it cannot be installed without both',
    );
  const patches = [...parts].flatMap(part => (part === 'crds' ? [] : patchesOf(part)));
  const all = [...parts]
    .flatMap(part => filesOf(part, groups))
    .map(manifest => moved(tailored(patched(manifest, patches), installOptions), namespace));
  return once(all).toSorted((one, other) => rank(one) - rank(other));
}

/**
 * Label with the namespace of the operator that an object belongs to. Shared objects and CRDs lack
 * this label.
 */
export const installationLabel = 'drydock.dev/installation';

/** Label with the part that an object belongs to. */
export const partLabel = 'drydock.dev/part';

/** Returns the namespace of the operator that the object belongs to. */
export function installationOf({ metadata }: Manifest): string | undefined {
  return metadata.labels?.[installationLabel];
}

/**
 * Returns the part of every object that an installation in this namespace can have created, by its
 * key, including objects that only kustomize installs.
 */
function partsByKey(namespace: string): ReadonlyMap<string, string | undefined> {
  const all = [
    ...manifests({ parts: new Set([...defaultParts, ...extraParts]), groups: [], namespace }),
    ...manifestsOf('policy'),
  ];
  return new Map(
    all
      .filter(one => installationOf(one) !== undefined)
      .map(one => [keyOf(one), one.metadata.labels?.[partLabel]]),
  );
}

/**
 * Returns the prefixes that a kustomization has added to all names (namePrefix), from the
 * Deployments of the installation.
 */
function prefixesIn(namespace: string, all: readonly Manifest[]): readonly string[] {
  return all.flatMap(one => {
    const { kind, metadata } = one;
    const isOperator =
      kind === 'Deployment' &&
      metadata.namespace === namespace &&
      metadata.labels?.[partLabel] === 'operator';
    const prefix = /^(.+)drydock$/.exec(metadata.name)?.[1];
    return isOperator && installationOf(one) === namespace && prefix !== undefined ? prefix : [];
  });
}

/**
 * Returns a test for objects of the installation in this namespace: they have its labels, and a
 * name that this program gives to objects of that part. Labels alone prove nothing, because a copy
 * of an object has them too. The name may have the same prefix as the operator's own, where that is
 * among these objects.
 */
export function belongingTo(
  namespace: string,
  among: readonly Manifest[] = [],
): (object: Manifest) => boolean {
  const known = partsByKey(namespace);
  const prefixes = ['', ...prefixesIn(namespace, among)];
  const unprefixed = (object: Manifest, prefix: string): Manifest =>
    object.metadata.name.startsWith(prefix)
      ? {
          ...object,
          metadata: { ...object.metadata, name: object.metadata.name.slice(prefix.length) },
        }
      : object;
  return object => {
    const part = object.metadata.labels?.[partLabel];
    return (
      installationOf(object) === namespace &&
      part !== undefined &&
      prefixes.some(prefix => known.get(keyOf(unprefixed(object, prefix))) === part)
    );
  };
}

/** An object in the cluster, with the fields that matter here. */
export type StoredObject = Manifest & {
  readonly metadata: Manifest['metadata'] & {
    readonly uid: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly { readonly uid: string }[];
  };
};

/**
 * Returns the namespaces that other programs use as well: they are never removed, not even after
 * an installation that created them.
 */
export function sharedNamespaces(): readonly string[] {
  return manifestsOf('shared-namespaces').map(({ metadata }) => metadata.name);
}

type Kind = Pick<Manifest, 'apiVersion' | 'kind'>;

/**
 * Returns every kind that a part includes, in the order of installation. CRDs are excluded, because
 * they belong to the cluster.
 */
export function inventoryKinds(): readonly Kind[] {
  const all = manifests({
    parts: new Set([...defaultParts, ...extraParts]),
    groups: [],
    namespace: defaultNamespace,
  });
  const kinds = new Map(
    all.map(({ apiVersion, kind }) => [`${apiVersion} ${kind}`, { apiVersion, kind }]),
  );
  return [...kinds.values()].filter(({ kind }) => kind !== 'CustomResourceDefinition');
}

/**
 * Returns all objects of the installation in this namespace, in the order of installation. Throws
 * when a kind cannot be read.
 */
export async function inventoryOf(api: Api, namespace: string): Promise<readonly StoredObject[]> {
  const locator = new Locator(api);
  const found: StoredObject[] = [];
  for (const { apiVersion, kind } of inventoryKinds()) {
    const path = await locator.collectionOf({ apiVersion, kind });
    if (path === undefined) continue;
    const items = await listAll(
      api,
      path,
      { labelSelector: `${installationLabel}=${namespace}` },
      'empty',
    );
    found.push(...(items as readonly StoredObject[]).map(item => ({ ...item, apiVersion, kind })));
  }
  return found.filter(belongingTo(namespace, found));
}

/**
 * Returns the Deployments of all operators in the cluster, however they were installed, including
 * releases without the labels.
 */
export async function operatorsIn(api: Api): Promise<readonly StoredObject[]> {
  const items = await listAll(
    api,
    '/apis/apps/v1/deployments',
    { labelSelector: 'app.kubernetes.io/name=drydock' },
    'empty',
  );
  return (items as readonly StoredObject[]).map(item => ({
    ...item,
    apiVersion: 'apps/v1',
    kind: 'Deployment',
  }));
}

/** Returns the distinct namespaces of objects. */
export function namespacesOf(all: readonly StoredObject[]): readonly string[] {
  return [...new Set(all.map(({ metadata }) => metadata.namespace ?? ''))];
}

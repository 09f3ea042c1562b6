import { isObject } from '@drydock/apimachinery';
import { crdTexts, defaultGroups } from '@drydock/apis/crds';
import { UsageError } from '@drydock/utils';
import {
  type Addition,
  keyOf,
  type Manifest,
  manifestsIn,
  manifestsOf,
  type Patch,
  patchesOf,
} from './install-files.ts';
import { defaultNamespace, type Part } from './install-parts.ts';

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

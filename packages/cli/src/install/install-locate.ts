import { posix } from 'node:path';
import { type Feature, lacking, pathSegment } from '@drydock/apimachinery';
import type { Api } from '@drydock/kube-client';
import { readShipped } from '@drydock/utils/shipped';
import { parse, parseAllDocuments } from 'yaml';
import { defaultNamespace } from './rollout.ts';

type Labels = Readonly<Record<string, string>>;

/** An object of deploy/. */
export type Manifest = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Labels;
  };
  readonly [field: string]: unknown;
};

/** Returns kind, namespace and name. */
export function keyOf({ kind, metadata }: Manifest): string {
  return `${kind} ${metadata.namespace ?? ''}/${metadata.name}`;
}

/** An add operation of a JSON patch (RFC 6902); the manifests need no other. */
export type Addition = { readonly op: 'add'; readonly path: string; readonly value: unknown };

/** Additions to one object. */
export type Patch = {
  readonly target: { readonly kind: string; readonly name: string };
  readonly additions: readonly Addition[];
};

type Kustomization = {
  readonly resources?: readonly string[];
  /** Folders that add fields to all of these resources. */
  readonly components?: readonly string[];
  readonly labels?: readonly { readonly pairs: Labels }[];
  readonly patches?: readonly { readonly path: string; readonly target: Patch['target'] }[];
};

/** Returns the objects of a YAML stream. */
export function manifestsIn(text: string): readonly Manifest[] {
  return parseAllDocuments(text).map(document => document.toJS() as Manifest);
}

function textOf(folder: string, file: string): string {
  return readShipped(posix.normalize(`deploy/${folder}/${file}`)).toString();
}

function kustomizationOf(folder: string): Kustomization {
  return parse(textOf(folder, 'kustomization.yaml')) as Kustomization;
}

/** Returns the labels that the kustomization.yaml of a folder adds to its objects. */
function labelsOf(folder: string): Labels {
  const { components = [], labels = [] } = kustomizationOf(folder);
  return Object.assign(
    {},
    ...components.map(one => labelsOf(`${folder}/${one}`)),
    ...labels.map(({ pairs }) => pairs),
  ) as Labels;
}

function labelled(manifest: Manifest, labels: Labels): Manifest {
  return Object.keys(labels).length === 0
    ? manifest
    : {
        ...manifest,
        metadata: { ...manifest.metadata, labels: { ...manifest.metadata.labels, ...labels } },
      };
}

/** Returns the objects that a folder's kustomization.yaml names, with the labels that it adds. */
export function manifestsOf(folder: string): readonly Manifest[] {
  const labels = labelsOf(folder);
  return (kustomizationOf(folder).resources ?? [])
    .flatMap(one =>
      one.endsWith('.yaml') ? manifestsIn(textOf(folder, one)) : manifestsOf(`${folder}/${one}`),
    )
    .map(manifest => labelled(manifest, labels));
}

/** Returns the patches that the kustomization.yaml of a folder names. */
export function patchesOf(folder: string): readonly Patch[] {
  return (kustomizationOf(folder).patches ?? []).map(({ path, target }) => ({
    target,
    additions: parse(textOf(folder, path)) as Addition[],
  }));
}

/** Location of an object in the API. */
export type Located = {
  readonly kind: 'known';
  readonly path: string;
  /** API group as roles name it. */
  readonly group: string;
  readonly resource: string;
  readonly isNamespaced: boolean;
};
/** A kind that the cluster does not serve. */
export type Unknown = { readonly kind: 'unknown'; readonly why: string };

type Resource = { readonly name: string; readonly kind: string; readonly namespaced: boolean };

function rootOf(apiVersion: string): string {
  return apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
}

function groupOf(apiVersion: string): string {
  return apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '';
}

/** Discovers the kinds of the API server, once for each version of a group. */
export class Locator {
  readonly #api: Api;
  readonly #known = new Map<string, readonly Resource[]>();

  constructor(api: Api) {
    this.#api = api;
  }

  /** Returns the path of an object, whether it exists or not. */
  async find({ apiVersion, kind, metadata }: Manifest): Promise<Located | Unknown> {
    const resource = await this.#resource(apiVersion, kind);
    if (resource === undefined)
      return { kind: 'unknown', why: `this cluster has no ${kind} of ${apiVersion}` };
    const namespace = resource.namespaced
      ? `/namespaces/${pathSegment(metadata.namespace ?? 'default')}`
      : '';
    return {
      kind: 'known',
      path: `${rootOf(apiVersion)}${namespace}/${resource.name}/${pathSegment(metadata.name)}`,
      group: groupOf(apiVersion),
      resource: resource.name,
      isNamespaced: resource.namespaced,
    };
  }

  /**
   * Returns the path of a kind's collection in all namespaces; undefined where the cluster does not
   * serve the kind.
   */
  async collectionOf({
    apiVersion,
    kind,
  }: Pick<Manifest, 'apiVersion' | 'kind'>): Promise<string | undefined> {
    const resource = await this.#resource(apiVersion, kind);
    return resource && `${rootOf(apiVersion)}/${resource.name}`;
  }

  async #resource(apiVersion: string, kind: string): Promise<Resource | undefined> {
    return (await this.#resources(apiVersion)).find(
      one => one.kind === kind && !one.name.includes('/'),
    );
  }

  async #resources(apiVersion: string): Promise<readonly Resource[]> {
    const known = this.#known.get(apiVersion);
    if (known !== undefined) return known;
    const { status, body } = await this.#api.call({ method: 'GET', path: rootOf(apiVersion) });
    if (status !== 200 && status !== 404)
      throw new Error(
        `failed to discover the kinds of ${apiVersion}: the API server responded with ${status}`,
      );
    const resources =
      status === 200 ? (body as { readonly resources: readonly Resource[] }).resources : [];
    this.#known.set(apiVersion, resources);
    return resources;
  }
}

type ServedKind = { readonly group: string; readonly resource: string };

type Groups = { readonly versions?: readonly { readonly groupVersion: string }[] };

/** Returns those of these resources that the cluster serves. Throws when discovery fails. */
export async function servedOf(
  api: Api,
  all: readonly ServedKind[],
): Promise<readonly ServedKind[]> {
  const served: ServedKind[] = [];
  for (const one of all) if (await isServed(api, one)) served.push(one);
  return served;
}

/** Returns whether any version is served. */
async function isServed(api: Api, { group, resource }: ServedKind): Promise<boolean> {
  const { status, body } = await api.call({ method: 'GET', path: `/apis/${group}` });
  if (status === 404) return false;
  if (status !== 200)
    throw new Error(
      `failed to discover the versions of ${group}: the API server responded with ${status}`,
    );
  for (const { groupVersion } of (body as Groups).versions ?? []) {
    const list = await api.call({ method: 'GET', path: `/apis/${groupVersion}` });
    const { resources = [] } = list.body as { readonly resources?: readonly Resource[] };
    if (list.status === 200 && resources.some(({ name }) => name === resource)) return true;
  }
  return false;
}

/** Returns an object's name as kubectl prints it. */
function nameOf({ apiVersion, kind, metadata }: Manifest): string {
  const [group = ''] = apiVersion.includes('/') ? apiVersion.split('/') : [];
  return `${kind.toLowerCase()}${group === '' ? '' : `.${group}`}/${metadata.name}`;
}

/** Returns the line for one object: its name, the result, and the reason. */
export function lineOf(
  manifest: Manifest,
  word: string,
  { why, dryRun = false }: { readonly why?: string; readonly dryRun?: boolean } = {},
): string {
  return `${nameOf(manifest)} ${word}${dryRun ? ' (server dry run)' : ''}${why === undefined ? '' : `: ${why}`}`;
}

/**
 * Objects that OLM creates itself, under its own names, from the ClusterServiceVersion that `npm
 * run release` writes.
 */

/** Generations of OLM: OLM 1 refuses webhooks, and installs only for all namespaces. */
export type OlmVersion = 'olm' | 'olm-1';

/** A binding of a role to the operator. */
export type Binding = Manifest & {
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects: readonly { readonly name: string }[];
};

/** Returns whether the manifests include such a binding of this role. */
export function isBoundBy(
  all: readonly Manifest[],
  role: Manifest,
  isMeant: (binding: Binding) => boolean,
): boolean {
  return all.some(one => {
    if (!('roleRef' in one)) return false;
    const binding = one as Binding;
    return (
      binding.roleRef.kind === role.kind &&
      binding.roleRef.name === role.metadata.name &&
      isMeant(binding)
    );
  });
}

function isWebhook({ kind, metadata }: Manifest): boolean {
  return (
    kind === 'ValidatingWebhookConfiguration' ||
    (kind === 'Service' && metadata.name === 'drydock-webhook')
  );
}

/** Returns whether OLM creates this manifest from the CSV. */
export function isMadeByOlm(
  all: readonly Manifest[],
  one: Manifest,
  generation: OlmVersion,
  namespace = defaultNamespace,
): boolean {
  const { kind, metadata } = one;
  if (['Deployment', 'ServiceAccount', 'ClusterRoleBinding'].includes(kind)) return true;
  if (kind === 'ClusterRole')
    return isBoundBy(all, one, binding => binding.kind === 'ClusterRoleBinding');
  if (generation === 'olm-1') return false;
  return (
    isWebhook(one) || (['Role', 'RoleBinding'].includes(kind) && metadata.namespace === namespace)
  );
}

type Version = { readonly selectableFields?: unknown };

function withoutSelectors(manifest: Manifest): Manifest {
  if (manifest.kind !== 'CustomResourceDefinition') return manifest;
  const spec = manifest['spec'] as { readonly versions: readonly Version[] };
  const versions = spec.versions.map(({ selectableFields: _dropped, ...version }) => version);
  return { ...manifest, spec: { ...spec, versions } };
}

const without: Readonly<Record<Feature['name'], (manifest: Manifest) => Manifest>> = {
  'field selectors of custom resources': withoutSelectors,
};

/**
 * Returns the objects without fields that this Kubernetes release would drop silently, and a line
 * for each omission.
 */
export function adaptToServerVersion(
  all: readonly Manifest[],
  release: { readonly minor: number },
): { readonly all: readonly Manifest[]; readonly leftOut: readonly string[] } {
  const lacks = lacking(release);
  return {
    all: lacks.reduce((manifests, { name }) => manifests.map(without[name]), all),
    leftOut: lacks.map(
      ({ name, since, without: effect }) =>
        `left out, because Kubernetes 1.${release.minor} lacks ${name} (since 1.${since}): ${effect}`,
    ),
  };
}

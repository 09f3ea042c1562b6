import { pathSegment } from '@drydock/apimachinery';
import type { Api } from '@drydock/kube-client';
import type { Manifest } from './install-files.ts';

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

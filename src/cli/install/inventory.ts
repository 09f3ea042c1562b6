import { listAll } from '../../operator/list.ts';
import type { Api } from '../../operator/ports.ts';
import type { Manifest } from './install-files.ts';
import { manifestsOf } from './install-files.ts';
import { Locator } from './install-locate.ts';
import { manifests } from './install-manifests.ts';
import { defaultNamespace, defaultParts, extraParts } from './install-parts.ts';
import { belongingTo, installationLabel } from './ownership.ts';

/** An object in the cluster, as far as it matters here. */
export type StoredObject = Manifest & {
  readonly metadata: Manifest['metadata'] & {
    readonly uid: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly { readonly uid: string }[];
  };
};

/** Namespaces that others use as well: never removed, whoever made them. */
export const sharedNamespaces = (): readonly string[] => manifestsOf('shared-namespaces').map(({ metadata }) => metadata.name);

type Kind = Pick<Manifest, 'apiVersion' | 'kind'>;

/** Every kind that some part brings, in the order of installation. The kinds themselves belong to the cluster. */
export const inventoryKinds = (): readonly Kind[] => {
  const all = manifests({ parts: new Set([...defaultParts, ...extraParts]), groups: [], namespace: defaultNamespace });
  const kinds = new Map(all.map(({ apiVersion, kind }) => [`${apiVersion} ${kind}`, { apiVersion, kind }]));
  return [...kinds.values()].filter(({ kind }) => kind !== 'CustomResourceDefinition');
};

/** All that the installation in this namespace has made, in the order of installation. Throws what could not be read. */
export const inventoryOf = async (api: Api, namespace: string): Promise<readonly StoredObject[]> => {
  const locator = new Locator(api);
  const found: StoredObject[] = [];
  for (const { apiVersion, kind } of inventoryKinds()) {
    const path = await locator.collectionOf({ apiVersion, kind });
    if (path === undefined) continue;
    const items = await listAll(api, path, { labelSelector: `${installationLabel}=${namespace}` }, 'empty');
    found.push(...(items as readonly StoredObject[]).map(item => ({ ...item, apiVersion, kind })));
  }
  return found.filter(belongingTo(namespace, found));
};

/** The Deployments of all operators in the cluster, in whatever way they were installed: those of releases without the labels, too. */
export const operatorsIn = async (api: Api): Promise<readonly StoredObject[]> => {
  const items = await listAll(api, '/apis/apps/v1/deployments', { labelSelector: 'app.kubernetes.io/name=drydock' }, 'empty');
  return (items as readonly StoredObject[]).map(item => ({ ...item, apiVersion: 'apps/v1', kind: 'Deployment' }));
};

/** The namespaces of objects, each once. */
export const namespacesOf = (all: readonly StoredObject[]): readonly string[] => [
  ...new Set(all.map(({ metadata }) => metadata.namespace ?? '')),
];

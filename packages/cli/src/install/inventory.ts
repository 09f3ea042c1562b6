import type { Api } from '@drydock/kube-client';
import { listAll } from '@drydock/kube-client';
import type { Manifest } from './install-files.ts';
import { manifestsOf } from './install-files.ts';
import { Locator } from './install-locate.ts';
import { manifests } from './install-manifests.ts';
import { defaultNamespace, defaultParts, extraParts } from './install-parts.ts';
import { belongingTo, installationLabel } from './ownership.ts';

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

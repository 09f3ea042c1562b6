import { keyOf, type Manifest, manifestsOf } from './install-files.ts';
import { manifests } from './install-manifests.ts';
import { defaultParts, extraParts } from './install-parts.ts';

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

import { keyOf, type Manifest, manifestsOf } from './install-files.ts';
import { manifests } from './install-manifests.ts';
import { defaultParts, extraParts } from './install-parts.ts';

/** Whose object it is: the namespace of the operator. Objects that others use as well, and the kinds, have no such label. */
export const installationLabel = 'drydock.dev/installation';

/** The part that has brought the object. */
export const partLabel = 'drydock.dev/part';

/** The namespace of the operator that the object belongs to. */
export const installationOf = ({ metadata }: Manifest): string | undefined => metadata.labels?.[installationLabel];

/** Every object that an installation in this namespace can have made, whatever parts it has: the part of each, by its key. What only kustomize installs is among them. */
const partsByKey = (namespace: string): ReadonlyMap<string, string | undefined> => {
  const all = [...manifests({ parts: new Set([...defaultParts, ...extraParts]), groups: [], namespace }), ...manifestsOf('policy')];
  return new Map(all.filter(one => installationOf(one) !== undefined).map(one => [keyOf(one), one.metadata.labels?.[partLabel]]));
};

/** Prefixes that a kustomization has put before all names (namePrefix), by the Deployments of the installation. */
const prefixesIn = (namespace: string, all: readonly Manifest[]): readonly string[] =>
  all.flatMap(one => {
    const { kind, metadata } = one;
    const isOperator = kind === 'Deployment' && metadata.namespace === namespace && metadata.labels?.[partLabel] === 'operator';
    const prefix = /^(.+)drydock$/.exec(metadata.name)?.[1];
    return isOperator && installationOf(one) === namespace && prefix !== undefined ? prefix : [];
  });

/**
 * Whether an object is of the installation in this namespace: it has the labels, and a name that this program gives to the part that they name. Labels alone prove nothing: whoever copies
 * an object copies them. Before the name may be what stands before that of the operator itself, where it is among these objects.
 */
export const belongingTo = (namespace: string, among: readonly Manifest[] = []): ((object: Manifest) => boolean) => {
  const known = partsByKey(namespace);
  const prefixes = ['', ...prefixesIn(namespace, among)];
  const unprefixed = (object: Manifest, prefix: string): Manifest =>
    object.metadata.name.startsWith(prefix)
      ? { ...object, metadata: { ...object.metadata, name: object.metadata.name.slice(prefix.length) } }
      : object;
  return object => {
    const part = object.metadata.labels?.[partLabel];
    return (
      installationOf(object) === namespace &&
      part !== undefined &&
      prefixes.some(prefix => known.get(keyOf(unprefixed(object, prefix))) === part)
    );
  };
};

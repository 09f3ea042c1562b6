import { type Feature, lacking } from '@drydock/apimachinery';
import type { Manifest } from './install-files.ts';

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

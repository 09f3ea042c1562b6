import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import type { Manifest, OlmVersion } from '@drydock/cli/install';
import { defaultNamespace } from '@drydock/cli/install';
import { stringify } from 'yaml';
import { below, pack } from '../archive.ts';
import { commit } from '../commit.ts';
import { Layout } from '../image/oci.ts';
import { build, dist, manifest } from '../paths.ts';
import { catalogOf } from './catalog.ts';
import { clusterServiceVersion, prerequisitesFile } from './csv.ts';
import { placed } from './places.ts';

/**
 * Bundles for the Operator Lifecycle Manager (registry+v1), file-based catalogs with them, the
 * images of both, and the objects to apply before.
 */

const channel = 'stable';

const bundleLabels: Readonly<Record<string, string>> = {
  'operators.operatorframework.io.bundle.mediatype.v1': 'registry+v1',
  'operators.operatorframework.io.bundle.manifests.v1': 'manifests/',
  'operators.operatorframework.io.bundle.metadata.v1': 'metadata/',
  'operators.operatorframework.io.bundle.package.v1': manifest.name,
  'operators.operatorframework.io.bundle.channels.v1': channel,
  'operators.operatorframework.io.bundle.channel.default.v1': channel,
};

/** Names of the bundles' images in the registry. */
const bundleImages: Readonly<Record<OlmVersion, string>> = {
  olm: `${manifest.name}-bundle`,
  'olm-1': `${manifest.name}-bundle-olm-1`,
};

const catalogLabels: Readonly<Record<string, string>> = {
  'operators.operatorframework.io.index.configs.v1': '/configs',
};

/** In their namespace they are installed by OLM, which chooses it. */
function withoutNamespace({ metadata, ...rest }: Manifest): Manifest {
  const { namespace: _namespace, ...kept } = metadata;
  return { ...rest, metadata: kept };
}

function fileOf({ kind, metadata }: Manifest): string {
  return kind === 'ClusterServiceVersion'
    ? `${manifest.name}.clusterserviceversion.yaml`
    : `${metadata.name}.${kind.toLowerCase()}.yaml`;
}

function put(file: string, text: string): void {
  mkdirSync(file.slice(0, file.lastIndexOf('/')), { recursive: true });
  writeFileSync(file, text);
}

/** Aliases are not known to every reader. */
function yaml(value: unknown): string {
  return stringify(value, { aliasDuplicateObjects: false });
}

/** An image without a program, as an OCI layout in one archive: the same for every architecture. */
function imageOf(name: string, folder: string, labels: Readonly<Record<string, string>>): string {
  const layout = new Layout(`${folder}-layout`);
  const config = { created: commit.time().toString(), config: { Labels: labels } };
  layout.index(
    [layout.image(config, [layout.layer(folder)], { os: 'linux', architecture: 'amd64' }, {})],
    {},
  );
  const file = `${name}-${manifest.version}.tar.gz`;
  pack(`${dist}${file}`, `${folder}-layout`, below(`${folder}-layout`, { filesOnly: true }));
  return file;
}

/** Everything for one generation of OLM; answers the names of the files. */
function made(generation: OlmVersion, registry: string | undefined): readonly string[] {
  const refOf = (name: string): string =>
    `${registry === undefined ? '' : `${registry}/`}${name}:${manifest.version}`;
  const { all, bundle, before } = placed(
    generation,
    registry === undefined ? undefined : refOf(manifest.name),
  );
  const objects = [
    clusterServiceVersion(all, defaultNamespace, generation),
    ...bundle.map(withoutNamespace),
  ];
  const prefix = `${manifest.name}-${generation}`;
  const folder = `${build}${generation}`;
  rmSync(folder, { recursive: true, force: true });
  for (const object of objects) put(`${folder}/bundle/manifests/${fileOf(object)}`, yaml(object));
  put(`${folder}/bundle/metadata/annotations.yaml`, yaml({ annotations: bundleLabels }));
  const catalog = catalogOf(objects, {
    generation,
    channel,
    image: refOf(bundleImages[generation]),
  });
  put(`${folder}/catalog/configs/${manifest.name}/catalog.yaml`, catalog);
  const [files, listing] = [
    `${prefix}-bundle-${manifest.version}.tar.gz`,
    `${prefix}-catalog-${manifest.version}.yaml`,
  ];
  pack(`${dist}${files}`, `${folder}/bundle`, below(`${folder}/bundle`, { filesOnly: true }));
  writeFileSync(`${dist}${listing}`, catalog);
  writeFileSync(
    `${dist}${prerequisitesFile(generation)}`,
    before.map(object => `---\n${yaml(object)}`).join(''),
  );
  return [
    files,
    imageOf(`${prefix}-bundle-image`, `${folder}/bundle`, bundleLabels),
    listing,
    imageOf(`${prefix}-catalog-image`, `${folder}/catalog`, catalogLabels),
    prerequisitesFile(generation),
  ];
}

/**
 * Makes what both generations of OLM install from; answers the names of the files. `registry`:
 * where the images will be.
 */
export function olm(registry?: string): readonly string[] {
  return (['olm', 'olm-1'] as const).flatMap(generation => made(generation, registry));
}

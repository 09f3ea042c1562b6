import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { stringify } from 'yaml';
import type { Manifest } from '../../../src/cli/install/install-files.ts';
import { manifests } from '../../../src/cli/install/install-manifests.ts';
import { usualNamespace } from '../../../src/cli/install/install-parts.ts';
import { below, pack } from '../archive.ts';
import { commit } from '../commit.ts';
import { Layout } from '../image/oci.ts';
import { build, dist, manifest } from '../paths.ts';
import { catalogOf } from './catalog.ts';
import { clusterServiceVersion } from './csv.ts';

/** The bundle for the Operator Lifecycle Manager (registry+v1), the image that holds it, and a file-based catalog with it. */

/** The kinds of objects that OLM takes beside the CSV and that belong to the operator: all else is applied beside (docs/install.md). */
const taken = ['CustomResourceDefinition', 'Service', 'PodDisruptionBudget'];

/** OLM makes the Service of the webhook, and its certificate, itself. */
const olmsOwn = 'drydock-webhook';

const channel = 'stable';

const annotations: Readonly<Record<string, string>> = {
  'operators.operatorframework.io.bundle.mediatype.v1': 'registry+v1',
  'operators.operatorframework.io.bundle.manifests.v1': 'manifests/',
  'operators.operatorframework.io.bundle.metadata.v1': 'metadata/',
  'operators.operatorframework.io.bundle.package.v1': manifest.name,
  'operators.operatorframework.io.bundle.channels.v1': channel,
  'operators.operatorframework.io.bundle.channel.default.v1': channel,
};

/** In their namespace they are installed by OLM, which chooses it. */
const withoutNamespace = ({ metadata, ...rest }: Manifest): Manifest => {
  const { namespace: _namespace, ...kept } = metadata;
  return { ...rest, metadata: kept };
};

const objectsOf = (image: string | undefined): readonly Manifest[] => {
  const parts = new Set(['crds', 'rbac', 'operator', 'webhook'] as const);
  const all = manifests({ parts, groups: [], namespace: usualNamespace, ...(image !== undefined && { image }) });
  const besides = all.filter(({ kind, metadata }) => taken.includes(kind) && metadata.name !== olmsOwn);
  return [clusterServiceVersion(all, usualNamespace), ...besides.map(withoutNamespace)];
};

const fileOf = ({ kind, metadata }: Manifest): string =>
  kind === 'ClusterServiceVersion' ? `${manifest.name}.clusterserviceversion.yaml` : `${metadata.name}.${kind.toLowerCase()}.yaml`;

const write = (folder: string, objects: readonly Manifest[]): void => {
  for (const name of ['manifests', 'metadata']) mkdirSync(`${folder}/${name}`, { recursive: true });
  for (const object of objects) writeFileSync(`${folder}/manifests/${fileOf(object)}`, stringify(object));
  writeFileSync(`${folder}/metadata/annotations.yaml`, stringify({ annotations }));
};

/** Makes the bundle as files and as an image (an OCI layout), and the catalog; answers their names. `registry`: where the images will be. */
export const olm = (registry?: string): readonly string[] => {
  const folder = `${build}olm/`;
  rmSync(folder, { recursive: true, force: true });
  const imageOf = (name: string): string => `${registry === undefined ? '' : `${registry}/`}${name}:${manifest.version}`;
  const objects = objectsOf(registry === undefined ? undefined : imageOf(manifest.name));
  write(`${folder}bundle`, objects);
  const layout = new Layout(`${folder}layout`);
  const config = { created: commit.time().toString(), config: { Labels: annotations } };
  layout.index([layout.image(config, [layout.layer(`${folder}bundle`)], { os: 'linux', architecture: 'amd64' }, {})], {});
  const [files, image, catalog] = ['bundle', 'bundle-image', 'catalog'].map(name => `${manifest.name}-olm-${name}-${manifest.version}`);
  pack(`${dist}${files}.tar.gz`, `${folder}bundle`, below(`${folder}bundle`, { filesOnly: true }));
  pack(`${dist}${image}.tar.gz`, `${folder}layout`, below(`${folder}layout`, { filesOnly: true }));
  writeFileSync(`${dist}${catalog}.yaml`, catalogOf(objects, { channel, image: imageOf(`${manifest.name}-bundle`) }));
  return [`${files}.tar.gz`, `${image}.tar.gz`, `${catalog}.yaml`];
};

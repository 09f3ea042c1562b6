import type { Manifest, OlmVersion } from '@drydock/cli/install';
import { stringify } from 'yaml';
import { manifest } from '../paths.ts';
import { csvName } from './csv.ts';
import { groupVersionKind } from './descriptors.ts';

/**
 * A file-based catalog (olm.operatorframework.io/docs/reference/file-based-catalogs): one package,
 * one channel, one bundle.
 */

type CsvSpec = Readonly<Record<string, unknown>> & {
  readonly description: string;
  readonly icon: readonly { readonly base64data: string; readonly mediatype: string }[];
  readonly customresourcedefinitions: object;
  readonly relatedImages: readonly object[];
};
type Property = { readonly type: string; readonly value: object };

/** The objects of the bundle are in the catalog as well: OLM needs no pod to unpack its image. */
function embedded(object: Manifest): Property {
  return {
    type: 'olm.bundle.object',
    value: { data: Buffer.from(JSON.stringify(object)).toString('base64') },
  };
}

/** What consoles show of a bundle without unpacking it. */
function shown(csv: Manifest): Property {
  const {
    displayName,
    description,
    installModes,
    keywords,
    links,
    maintainers,
    maturity,
    minKubeVersion,
    provider,
    ...spec
  } = csv['spec'] as CsvSpec;
  const { annotations, labels } = csv.metadata as {
    readonly annotations?: object;
    readonly labels?: object;
  };
  const value = {
    annotations,
    apiServiceDefinitions: {},
    crdDescriptions: spec.customresourcedefinitions,
    description,
    displayName,
  };
  return {
    type: 'olm.csv.metadata',
    value: {
      ...value,
      installModes,
      keywords,
      labels,
      links,
      maintainers,
      maturity,
      minKubeVersion,
      provider,
    },
  };
}

type CatalogOptions = {
  readonly generation: OlmVersion;
  readonly channel: string;
  readonly image: string;
};

/** YAML documents of the catalog with the bundle of these objects, the CSV first. */
export function catalogOf(
  objects: readonly Manifest[],
  { generation, channel, image }: CatalogOptions,
): string {
  const [csv, ...others] = objects;
  if (csv === undefined) throw new Error('a bundle has a CSV at least');
  const { description, icon: icons, relatedImages } = csv['spec'] as CsvSpec;
  const [icon] = icons;
  const kinds = others
    .filter(({ kind }) => kind === 'CustomResourceDefinition')
    .map(groupVersionKind);
  const { name, version } = manifest;
  const documents = [
    { schema: 'olm.package', name, defaultChannel: channel, description, ...(icon && { icon }) },
    // From every earlier version, whether the catalog knows it or not: objects and holds are the
    // same in all of them.
    {
      schema: 'olm.channel',
      package: name,
      name: channel,
      entries: [{ name: csvName, skipRange: `<${version}` }],
    },
    {
      schema: 'olm.bundle',
      package: name,
      name: csvName,
      image,
      properties: [
        ...kinds.map(value => ({ type: 'olm.gvk', value })),
        { type: 'olm.package', value: { packageName: name, version } },
        ...(generation === 'olm' ? objects.map(embedded) : [shown(csv)]),
      ],
      relatedImages: [...relatedImages, { name: 'bundle', image }],
    },
  ];
  return documents
    .map(document => `---\n${stringify(document, { aliasDuplicateObjects: false })}`)
    .join('');
}

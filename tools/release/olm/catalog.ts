import { stringify } from 'yaml';
import type { Manifest } from '../../../src/cli/install/install-files.ts';
import { manifest } from '../paths.ts';
import { csvName } from './csv.ts';
import { groupVersionKind } from './descriptors.ts';

/** A file-based catalog (olm.operatorframework.io/docs/reference/file-based-catalogs): one package, one channel, one bundle. */

type CsvSpec = {
  readonly description: string;
  readonly icon: readonly { readonly base64data: string; readonly mediatype: string }[];
  readonly relatedImages: readonly object[];
};

/** The objects of the bundle are in the catalog as well: OLM needs no pod to unpack its image. */
const embedded = (object: Manifest): object => ({
  type: 'olm.bundle.object',
  value: { data: Buffer.from(JSON.stringify(object)).toString('base64') },
});

/** YAML documents of the catalog with the bundle of these objects, the CSV first. */
export const catalogOf = (
  objects: readonly Manifest[],
  { channel, image }: { readonly channel: string; readonly image: string },
): string => {
  const [csv, ...others] = objects;
  if (csv === undefined) throw new Error('a bundle has a CSV at least');
  const { description, icon: icons, relatedImages } = csv['spec'] as CsvSpec;
  const [icon] = icons;
  const kinds = others.filter(({ kind }) => kind === 'CustomResourceDefinition').map(groupVersionKind);
  const { name, version } = manifest;
  const documents = [
    { schema: 'olm.package', name, defaultChannel: channel, description, ...(icon && { icon }) },
    { schema: 'olm.channel', package: name, name: channel, entries: [{ name: csvName }] },
    {
      schema: 'olm.bundle',
      package: name,
      name: csvName,
      image,
      properties: [
        ...kinds.map(value => ({ type: 'olm.gvk', value })),
        { type: 'olm.package', value: { packageName: name, version } },
        ...objects.map(embedded),
      ],
      relatedImages: [...relatedImages, { name: 'bundle', image }],
    },
  ];
  return documents.map(document => `---\n${stringify(document)}`).join('');
};

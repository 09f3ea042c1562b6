import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { below, pack } from '../archive.ts';
import { commit } from '../commit.ts';
import { nodePackage, platforms } from '../node-binaries.ts';
import { build, dist, manifest } from '../paths.ts';
import { putProgram } from '../program.ts';
import { provenanceOf, type Subject } from '../provenance.ts';
import { type Architecture, certificatesIn, unpackDebian } from './debian.ts';
import { type Descriptor, Layout } from './oci.ts';
import { sbomOf } from './sbom.ts';

/**
 * The image, as an OCI layout in one archive: made without a container engine, of pinned parts, the
 * same bytes each time.
 */

/** Nobody, by number: Kubernetes cannot tell from a name that it is not root. */
const user = '65532';

const accounts: Readonly<Record<string, string>> = {
  'etc/passwd': `root:x:0:0:root:/:/none\nnonroot:x:${user}:${user}:nonroot:/tmp:/none\n`,
  'etc/group': `root:x:0:\nnonroot:x:${user}:\n`,
  'etc/nsswitch.conf': 'hosts: files dns\n',
};

/**
 * What the packages of Debian bring and nobody needs at run time: programs, translations, documents
 * but for licences.
 */
const unneeded = [
  'usr/bin',
  'usr/sbin',
  'sbin',
  'usr/share/doc-base',
  'usr/share/lintian',
  'usr/share/gdb',
  'usr/share/gcc',
  'usr/lib/x86_64-linux-gnu/gconv',
  'usr/lib/aarch64-linux-gnu/gconv',
  'etc/ca-certificates',
  'etc/ld.so.conf.d',
  'usr/share/man',
  'usr/share/doc/ca-certificates/examples',
];

function put(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

async function base(folder: string, architecture: Architecture): Promise<void> {
  mkdirSync(folder, { recursive: true });
  await unpackDebian(folder, architecture);
  for (const name of unneeded) rmSync(join(folder, name), { recursive: true, force: true });
  const certificates = 'usr/share/ca-certificates';
  const names = readdirSync(join(folder, certificates), {
    recursive: true,
    encoding: 'utf8',
  }).filter(name => name.endsWith('.crt'));
  put(folder, {
    ...accounts,
    'etc/ssl/certs/ca-certificates.crt': `${certificatesIn(join(folder, certificates), names.sort())}\n`,
  });
  rmSync(join(folder, certificates), { recursive: true });
  mkdirSync(join(folder, 'tmp'), { mode: 0o1777 });
}

function labels(created: string): Readonly<Record<string, string>> {
  return {
    'org.opencontainers.image.title': manifest.name,
    'org.opencontainers.image.description': manifest.description,
    'org.opencontainers.image.version': manifest.version,
    'org.opencontainers.image.licenses': manifest.license,
    'org.opencontainers.image.url': 'https://drydock.dev',
    'org.opencontainers.image.revision': commit.hash(),
    'org.opencontainers.image.created': created,
  };
}

/**
 * Of the container's memory, of which Node would leave half unused; the rest is for what is not on
 * V8's heap. A small young generation makes the peak of 200 drained nodes 6 MiB lower, and nothing
 * slower.
 */
const heap = '--max-semi-space-size=1 --max-old-space-size-percentage=70';

/**
 * Of glibc: what is no heap of V8's is given back to the system, instead of kept for later
 * (mallopt(3)). 20 to 30 MiB of an operator that watches 5,000 nodes.
 */
const malloc = [
  'MALLOC_ARENA_MAX=2',
  'MALLOC_MMAP_THRESHOLD_=131072',
  'MALLOC_TRIM_THRESHOLD_=131072',
];

/** As Kubernetes runs it. */
function configOf(created: string): object {
  return {
    created,
    config: {
      User: `${user}:${user}`,
      WorkingDir: '/drydock',
      Env: [
        'PATH=/usr/local/bin',
        'NODE_ENV=production',
        `NODE_OPTIONS=${heap}`,
        ...malloc,
        'SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt',
      ],
      Entrypoint: ['/usr/local/bin/node', '/drydock/packages/cli/src/main.mjs'],
      Cmd: ['operator'],
      ExposedPorts: { '8080/tcp': {}, '8081/tcp': {}, '8443/tcp': {}, '9443/tcp': {} },
      Labels: labels(created),
    },
  };
}

const architectures: Readonly<Record<string, Architecture>> = {
  'linux-x64': 'amd64',
  'linux-arm64': 'arm64',
};

function subjectOf({ digest, platform }: Descriptor): Subject {
  return {
    name: `pkg:oci/${manifest.name}?arch=${platform?.architecture ?? ''}`,
    digest: { sha256: digest.replace('sha256:', '') },
  };
}

/**
 * Makes `drydock-image-VERSION.tar.gz` (an OCI layout; each image in it has its bill of materials
 * and its provenance attached) and the bill as a file; answers their names.
 */
export async function image(): Promise<readonly string[]> {
  const folder = `${build}image/`;
  rmSync(folder, { recursive: true, force: true });
  const layout = new Layout(`${folder}layout`);
  const created = commit.time().toString();
  const packages = await putProgram(`${folder}program/drydock`);
  const own = layout.layer(`${folder}program`);
  const images: Descriptor[] = [];
  for (const platform of platforms) {
    const architecture = architectures[platform.name];
    if (architecture === undefined) continue;
    await base(`${folder}base-${architecture}`, architecture);
    const node = `${folder}node-${architecture}`;
    mkdirSync(`${node}/usr/local/bin`, { recursive: true });
    cpSync(`${nodePackage(platform)}/bin/node`, `${node}/usr/local/bin/node`);
    const layers = [layout.layer(`${folder}base-${architecture}`), layout.layer(node), own];
    images.push(
      layout.image(configOf(created), layers, { os: 'linux', architecture }, labels(created)),
    );
  }
  const sbom = sbomOf(packages);
  const attached = images.flatMap(one => [
    layout.attached('application/vnd.cyclonedx+json', sbom, one),
    layout.attached('application/vnd.in-toto+json', provenanceOf([subjectOf(one)]), one),
  ]);
  layout.index([...images, ...attached], labels(created));
  const [file, bill] = [
    `${manifest.name}-image-${manifest.version}.tar.gz`,
    `${manifest.name}-${manifest.version}.cdx.json`,
  ];
  writeFileSync(`${dist}${bill}`, `${JSON.stringify(sbom, undefined, 2)}\n`);
  pack(`${dist}${file}`, `${folder}layout`, below(`${folder}layout`, { filesOnly: true }));
  return [file, bill];
}

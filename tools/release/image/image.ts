import { rmSync, writeFileSync } from 'node:fs';
import { below, pack } from '../archive.ts';
import { commit } from '../commit.ts';
import type { NodeOrigin } from '../node-origin.ts';
import { build, dist, manifest } from '../paths.ts';
import { putProgram } from '../program.ts';
import { provenanceOf, type Subject } from '../provenance.ts';
import { imageSettings } from './containerfile.ts';
import { imagePlatforms, putBase, putNode } from './files.ts';
import { type Descriptor, Layout } from './oci.ts';
import { sbomOf } from './sbom.ts';

/**
 * The image, as an OCI layout in one archive: made without a container engine, of pinned parts, the
 * same bytes each time. Containerfile has its settings.
 */

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

function subjectOf({ digest, platform }: Descriptor): Subject {
  return {
    name: `pkg:oci/${manifest.name}?arch=${platform?.architecture ?? ''}`,
    digest: { sha256: digest.replace('sha256:', '') },
  };
}

/**
 * Makes `drydock-image-VERSION.tar.gz` (an OCI layout; each image in it has its bill of materials
 * and its provenance attached) and the bills as files. Returns their names.
 */
export async function image(origins: readonly NodeOrigin[]): Promise<readonly string[]> {
  const folder = `${build}image/`;
  rmSync(folder, { recursive: true, force: true });
  const layout = new Layout(`${folder}layout`);
  const created = commit.time().toString();
  const config = { created, config: { ...imageSettings(), Labels: labels(created) } };
  const packages = await putProgram(`${folder}program/drydock`);
  const own = layout.layer(`${folder}program`);
  const images: Descriptor[] = [];
  const attached: Descriptor[] = [];
  const bills: string[] = [];
  for (const { platform, architecture } of imagePlatforms) {
    const origin = origins.find(one => one.platform === platform);
    if (origin === undefined) continue;
    await putBase(`${folder}base-${architecture}`, architecture);
    putNode(`${folder}node-${architecture}`, platform);
    const layers = [
      layout.layer(`${folder}base-${architecture}`),
      layout.layer(`${folder}node-${architecture}`),
      own,
    ];
    const one = layout.image(config, layers, { os: 'linux', architecture }, labels(created));
    const sbom = sbomOf(packages, origin, { architecture, created });
    const bill = `${manifest.name}-image-${manifest.version}-${architecture}.cdx.json`;
    writeFileSync(`${dist}${bill}`, `${JSON.stringify(sbom, undefined, 2)}\n`);
    bills.push(bill);
    images.push(one);
    attached.push(
      layout.attached('application/vnd.cyclonedx+json', sbom, one),
      layout.attached('application/vnd.in-toto+json', provenanceOf([subjectOf(one)], origins), one),
    );
  }
  layout.index([...images, ...attached], labels(created));
  const file = `${manifest.name}-image-${manifest.version}.tar.gz`;
  pack(`${dist}${file}`, `${folder}layout`, below(`${folder}layout`, { filesOnly: true }));
  return [file, ...bills];
}

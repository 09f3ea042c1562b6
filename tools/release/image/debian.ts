import { type DebianFile, unpackPackages } from './debian-archive.ts';
import packages from './debian-packages.json' with { type: 'json' };

/** The packages of Debian in the image, each by its hash. */

/** Of which they are. */
export const debianRelease = '13';

export type Architecture = 'amd64' | 'arm64';

type DebianPackage = {
  readonly name: string;
  readonly version: string;
  readonly files: Readonly<Record<Architecture, DebianFile>>;
};

export const debianPackages = packages as readonly DebianPackage[];

/** The source package that it is made of: advisories are about those. */
export function sourceOf({ files }: DebianPackage): string {
  return files.amd64.path.split('/')[3] ?? '';
}

/** The purl of the package for one architecture. */
export function debianPurl(one: DebianPackage, architecture: Architecture): string {
  const [, arch = ''] = /_([^_]+)\.deb$/.exec(one.files[architecture].path) ?? [];
  const source = sourceOf(one);
  const upstream = source === one.name ? '' : `&upstream=${encodeURIComponent(source)}`;
  const name = `${encodeURIComponent(one.name)}@${encodeURIComponent(one.version)}`;
  return `pkg:deb/debian/${name}?arch=${arch}&distro=debian-${debianRelease}${upstream}`;
}

/** Unpacks all of them into a folder. */
export function unpackDebian(folder: string, architecture: Architecture): Promise<void> {
  const files = debianPackages.map(one => one.files[architecture]);
  return unpackPackages(files, folder, 'tools/release/image/debian-packages.json');
}

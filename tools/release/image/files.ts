import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { nodePackage, type Platform, platforms } from '../node-binaries.ts';
import { imageSettings } from './containerfile.ts';
import { type Architecture, unpackDebian } from './debian.ts';

/** The files of the image below the program: the packages of Debian, and Node. */

const architectures: Readonly<Partial<Record<Platform['name'], Architecture>>> = {
  'linux-x64': 'amd64',
  'linux-arm64': 'arm64',
};

/** The platforms that the image is for. */
export const imagePlatforms = platforms.flatMap(platform => {
  const architecture = architectures[platform.name];
  return architecture === undefined ? [] : [{ platform, architecture }];
});

/**
 * What the packages of Debian bring and nothing needs at run time: programs, translations,
 * documents but for licences.
 */
const unneeded = [
  'bin',
  'sbin',
  'usr/bin',
  'usr/sbin',
  'usr/share/base-files',
  'usr/share/doc-base',
  'usr/share/lintian',
  'usr/share/gdb',
  'usr/share/gcc',
  'usr/lib/x86_64-linux-gnu/gconv',
  'usr/lib/aarch64-linux-gnu/gconv',
  'etc/ca-certificates',
  'etc/ld.so.conf.d',
  'etc/update-motd.d',
  'usr/share/man',
  'usr/share/doc/ca-certificates/examples',
];

function accounts(): Readonly<Record<string, string>> {
  const [user = '', group = ''] = imageSettings().User.split(':');
  return {
    'etc/passwd': `root:x:0:0:root:/:/none\nnonroot:x:${user}:${group}:nonroot:/tmp:/none\n`,
    'etc/group': `root:x:0:\nnonroot:x:${group}:\n`,
    'etc/nsswitch.conf': 'hosts: files dns\n',
  };
}

/** The one file that programs look for: what update-ca-certificates writes. */
function certificatesIn(folder: string): string {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.crt'))
    .sort()
    .map(name => `${readFileSync(join(folder, name), 'utf8').trimEnd()}\n`)
    .join('');
}

/** Puts what is under Node into a folder. */
export async function putBase(folder: string, architecture: Architecture): Promise<void> {
  mkdirSync(folder, { recursive: true });
  await unpackDebian(folder, architecture);
  for (const name of unneeded) rmSync(join(folder, name), { recursive: true, force: true });
  const certificates = join(folder, 'usr', 'share', 'ca-certificates');
  const files = {
    ...accounts(),
    'etc/ssl/certs/ca-certificates.crt': certificatesIn(certificates),
  };
  rmSync(certificates, { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

/** Puts Node into a folder. */
export function putNode(folder: string, platform: Platform): void {
  const place = join(folder, 'usr', 'local', 'bin');
  mkdirSync(place, { recursive: true });
  cpSync(join(nodePackage(platform), 'bin', 'node'), join(place, 'node'));
}

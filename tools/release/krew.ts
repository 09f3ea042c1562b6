import { writeFileSync } from 'node:fs';
import { stringify } from 'yaml';
import type { Archive } from './executables.ts';
import { dist, manifest, releases } from './paths.ts';
import { licencesFile } from './program.ts';

const architectures = { x64: 'amd64', arm64: 'arm64' } as const;

/**
 * The manifest of the kubectl plugin for krew: `kubectl krew install --manifest=drydock.yaml`.
 * Answers its name.
 */
export function krewManifest(
  archives: readonly Archive[],
  sha256: (file: string) => string,
): string {
  const { name, version, description } = manifest;
  const plugin = {
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name },
    spec: {
      version: `v${version}`,
      homepage: 'https://drydock.dev',
      shortDescription: 'Take nodes out of service, and bring them back',
      description: `${description}\n`,
      platforms: archives.map(({ file, platform }) => {
        const [os = '', architecture = ''] = platform.name.split('-');
        return {
          selector: {
            matchLabels: { os, arch: architectures[architecture as keyof typeof architectures] },
          },
          uri: `${releases}/v${version}/${file}`,
          sha256: sha256(file),
          bin: 'drydock',
          files: ['drydock', 'LICENSE', licencesFile].map(from => ({ from, to: '.' })),
        };
      }),
    },
  };
  writeFileSync(`${dist}${name}.krew.yaml`, stringify(plugin));
  return `${name}.krew.yaml`;
}

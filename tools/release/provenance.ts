import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { commit } from './commit.ts';
import { debianPackages, debianPurl } from './image/debian.ts';
import { integrityOf } from './node-binaries.ts';
import { type NodeOrigin, verdictOn } from './node-origin.ts';
import { dist, manifest, root } from './paths.ts';

/**
 * What was made, and of what: a statement of in-toto with the provenance of SLSA 1.0. Whoever
 * publishes signs it.
 */

/** Something that was made, as in-toto names it; digests are hexadecimal. */
export type Subject = { readonly name: string; readonly digest: { readonly sha256: string } };

function sha256(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

function sources(): readonly object[] {
  return [
    {
      uri: `git+https://drydock.dev/${manifest.name}@v${manifest.version}`,
      digest: { gitCommit: commit.hash() },
    },
    { name: 'package-lock.json', digest: { sha256: sha256(`${root}package-lock.json`) } },
  ];
}

/**
 * The package that brings Node for a platform, and how it compares with what Node publishes. The
 * archive of Node is named where it has been read.
 */
function node(origin: NodeOrigin): readonly object[] {
  const { platform, version, sha256, archive, check } = origin;
  const integrity = integrityOf(platform.brings).replace('sha512-', '');
  return [
    {
      uri: `pkg:npm/${platform.brings}@${version}`,
      digest: { sha512: Buffer.from(integrity, 'base64').toString('hex') },
      annotations: { 'bin/node': `sha256:${sha256}`, published: verdictOn(origin) },
    },
    ...(check.kind === 'same' ? [{ uri: archive.url, digest: { sha256: archive.sha256 } }] : []),
  ];
}

function debian(): readonly object[] {
  return debianPackages.flatMap(one =>
    (['amd64', 'arm64'] as const).map(architecture => ({
      uri: debianPurl(one, architecture),
      digest: { sha256: one.files[architecture].sha256 },
    })),
  );
}

/**
 * The statement about what was made. Its builder is the clone in which `npm run release` was run,
 * and it says whether that had changes of its own; the packages of npm are those of
 * package-lock.json. `origins` are those of every Node in it.
 */
export function provenanceOf(subject: readonly Subject[], origins: readonly NodeOrigin[]): object {
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject,
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'https://drydock.dev/release/v1',
        externalParameters: { command: 'npm run release', version: manifest.version },
        internalParameters: { uncommittedChanges: commit.isChanged() },
        resolvedDependencies: [...sources(), ...origins.flatMap(node), ...debian()],
      },
      runDetails: { builder: { id: 'https://drydock.dev/release/clone' } },
    },
  };
}

/** Writes the statement about files of the release. Returns its name. */
export function provenance(files: readonly string[], origins: readonly NodeOrigin[]): string {
  const file = `${manifest.name}-${manifest.version}.provenance.json`;
  const subjects = files.map(name => ({ name, digest: { sha256: sha256(`${dist}${name}`) } }));
  writeFileSync(
    `${dist}${file}`,
    `${JSON.stringify(provenanceOf(subjects, origins), undefined, 2)}\n`,
  );
  return file;
}

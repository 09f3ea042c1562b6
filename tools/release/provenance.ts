import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { commit } from './commit.ts';
import { debianPackages } from './image/debian.ts';
import { integrityOf, platforms } from './node-binaries.ts';
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

function node(): readonly object[] {
  return platforms.map(({ brings }) => ({
    uri: `pkg:npm/${brings}@${manifest.optionalDependencies[brings] ?? ''}`,
    digest: {
      sha512: Buffer.from(integrityOf(brings).replace('sha512-', ''), 'base64').toString('hex'),
    },
  }));
}

function debian(): readonly object[] {
  return debianPackages.flatMap(({ name, version, files }) =>
    Object.entries(files).map(([architecture, file]) => ({
      uri: `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}`,
      digest: { sha256: file.sha256 },
    })),
  );
}

/**
 * The statement about what was made. Its builder is the clone in which `npm run release` was run,
 * and it says whether that had changes of its own; the packages of npm are those of
 * package-lock.json.
 */
export function provenanceOf(subject: readonly Subject[]): object {
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject,
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'https://drydock.dev/release/v1',
        externalParameters: { command: 'npm run release', version: manifest.version },
        internalParameters: { uncommittedChanges: commit.isChanged() },
        resolvedDependencies: [...sources(), ...node(), ...debian()],
      },
      runDetails: { builder: { id: 'https://drydock.dev/release/clone' } },
    },
  };
}

/** Writes the statement about files of the release; answers its name. */
export function provenance(files: readonly string[]): string {
  const file = `${manifest.name}-${manifest.version}.provenance.json`;
  const subjects = files.map(name => ({ name, digest: { sha256: sha256(`${dist}${name}`) } }));
  writeFileSync(`${dist}${file}`, `${JSON.stringify(provenanceOf(subjects), undefined, 2)}\n`);
  return file;
}

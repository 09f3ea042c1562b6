import { posix } from 'node:path';
import { readShipped } from '@drydock/utils/shipped';
import { parse, parseAllDocuments } from 'yaml';

type Labels = Readonly<Record<string, string>>;

/** An object of deploy/. */
export type Manifest = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Labels;
  };
  readonly [field: string]: unknown;
};

/** Returns kind, namespace and name. */
export function keyOf({ kind, metadata }: Manifest): string {
  return `${kind} ${metadata.namespace ?? ''}/${metadata.name}`;
}

/** An add operation of a JSON patch (RFC 6902); the manifests need no other. */
export type Addition = { readonly op: 'add'; readonly path: string; readonly value: unknown };

/** Additions to one object. */
export type Patch = {
  readonly target: { readonly kind: string; readonly name: string };
  readonly additions: readonly Addition[];
};

type Kustomization = {
  readonly resources?: readonly string[];
  /** Folders that add fields to all of these resources. */
  readonly components?: readonly string[];
  readonly labels?: readonly { readonly pairs: Labels }[];
  readonly patches?: readonly { readonly path: string; readonly target: Patch['target'] }[];
};

/** Returns the objects of a YAML stream. */
export function manifestsIn(text: string): readonly Manifest[] {
  return parseAllDocuments(text).map(document => document.toJS() as Manifest);
}

function textOf(folder: string, file: string): string {
  return readShipped(posix.normalize(`deploy/${folder}/${file}`)).toString();
}

function kustomizationOf(folder: string): Kustomization {
  return parse(textOf(folder, 'kustomization.yaml')) as Kustomization;
}

/** Returns the labels that the kustomization.yaml of a folder adds to its objects. */
function labelsOf(folder: string): Labels {
  const { components = [], labels = [] } = kustomizationOf(folder);
  return Object.assign(
    {},
    ...components.map(one => labelsOf(`${folder}/${one}`)),
    ...labels.map(({ pairs }) => pairs),
  ) as Labels;
}

function labelled(manifest: Manifest, labels: Labels): Manifest {
  return Object.keys(labels).length === 0
    ? manifest
    : {
        ...manifest,
        metadata: { ...manifest.metadata, labels: { ...manifest.metadata.labels, ...labels } },
      };
}

/** Returns the objects that a folder's kustomization.yaml names, with the labels that it adds. */
export function manifestsOf(folder: string): readonly Manifest[] {
  const labels = labelsOf(folder);
  return (kustomizationOf(folder).resources ?? [])
    .flatMap(one =>
      one.endsWith('.yaml') ? manifestsIn(textOf(folder, one)) : manifestsOf(`${folder}/${one}`),
    )
    .map(manifest => labelled(manifest, labels));
}

/** Returns the patches that the kustomization.yaml of a folder names. */
export function patchesOf(folder: string): readonly Patch[] {
  return (kustomizationOf(folder).patches ?? []).map(({ path, target }) => ({
    target,
    additions: parse(textOf(folder, path)) as Addition[],
  }));
}

import { posix } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { readShipped } from '../../support/shipped.ts';

/** An object as deploy/ has it. */
export type Manifest = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly [field: string]: unknown;
};

/** One operation of a JSON patch (RFC 6902); the manifests need no other. */
export type Addition = { readonly op: 'add'; readonly path: string; readonly value: unknown };

/** What is added to one object. */
export type Patch = { readonly target: { readonly kind: string; readonly name: string }; readonly additions: readonly Addition[] };

type Kustomization = {
  readonly resources?: readonly string[];
  readonly patches?: readonly { readonly path: string; readonly target: Patch['target'] }[];
};

/** The objects of a YAML stream. */
export const manifestsIn = (text: string): readonly Manifest[] => parseAllDocuments(text).map(document => document.toJS() as Manifest);

const textOf = (folder: string, file: string): string => readShipped(posix.normalize(`deploy/${folder}/${file}`)).toString();

const kustomizationOf = (folder: string): Kustomization => parse(textOf(folder, 'kustomization.yaml')) as Kustomization;

/** The objects of a folder of deploy/, those that its kustomization.yaml names. */
export const manifestsOf = (folder: string): readonly Manifest[] =>
  (kustomizationOf(folder).resources ?? []).flatMap(file => manifestsIn(textOf(folder, file)));

/** The patches that the kustomization.yaml of a folder names. */
export const patchesOf = (folder: string): readonly Patch[] =>
  (kustomizationOf(folder).patches ?? []).map(({ path, target }) => ({ target, additions: parse(textOf(folder, path)) as Addition[] }));

import type { Draft } from '../object.ts';
import { type Column, columnsOf } from './column.ts';
import { decode } from './decode.ts';
import { type Kind, type ReadObject, resourceOf, type Strategy } from './kind.ts';

/** Description of a built-in kind; the rest is derived. */
export type KindEntry = {
  readonly kind: string;
  readonly plural: string;
  readonly strategy: Strategy;
  readonly cells: readonly Column['cell'][];
  /** Name of the Go type; group and kind when left out. */
  readonly struct?: string;
} & Partial<
  Pick<
    Kind,
    'shortNames' | 'categories' | 'status' | 'scale' | 'selectable' | 'answersDeletionWithObject'
  >
> & {
    readonly scope?: 'Cluster';
  };

function read(struct: string) {
  return (draft: Draft): ReadObject => {
    const { apiVersion: _apiVersion, kind: _kind, ...rest } = draft;
    const decoded = decode(rest, struct);
    return decoded.kind === 'decoded'
      ? { kind: 'read', object: decoded.object, unknown: decoded.unknown }
      : decoded;
  };
}

/** Returns a kind that every API server has. */
export function builtIn(group: string, version: string, goGroup: string) {
  return (entry: KindEntry): Kind => {
    const struct = `${goGroup}.${entry.kind}`;
    const resource = resourceOf(group, entry.plural);
    return {
      group,
      version,
      kind: entry.kind,
      listKind: `${entry.kind}List`,
      plural: entry.plural,
      singular: entry.kind.toLowerCase(),
      shortNames: entry.shortNames ?? [],
      categories: entry.categories ?? [],
      namespaced: entry.scope !== 'Cluster',
      resource,
      status: entry.status ?? false,
      ...(entry.scale === undefined ? {} : { scale: entry.scale }),
      selectable: entry.selectable ?? [],
      columns: columnsOf(resource, ...entry.cells),
      answersDeletionWithObject: entry.answersDeletionWithObject ?? false,
      read: read(struct),
      strategy: entry.strategy,
      shape: { kind: 'go', struct },
    };
  };
}

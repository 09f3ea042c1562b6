import type { Kind } from '../kinds/kind.ts';
import type { KindTable } from '../kinds/kind-table.ts';

/** Target of a path. */
export type Route =
  | { readonly kind: 'collection'; readonly of: Kind; readonly namespace: string | undefined }
  | {
      readonly kind: 'object';
      readonly of: Kind;
      readonly namespace: string;
      readonly name: string;
      /** Subresource: `status`, `scale`, `eviction`, …; empty for the object itself. */
      readonly subresource: string;
    }
  /** Discovery, version, health and documents: every non-resource path. */
  | { readonly kind: 'other'; readonly path: string }
  /** A served group and version without a resource of this name. */
  | { readonly kind: 'nothing' };

/** One object, or a subresource of it. */
export type Target = Extract<Route, { readonly kind: 'object' }>;

function split(path: string): readonly string[] {
  return path
    .split('/')
    .filter(part => part !== '')
    .map(decodeURIComponent);
}

type Parts = { readonly group: string; readonly version: string; readonly rest: readonly string[] };

function partsOf(parts: readonly string[]): Parts | undefined {
  const [root, first, second, ...rest] = parts;
  if (root === 'api' && first !== undefined && second !== undefined)
    return { group: '', version: first, rest: [second, ...rest] };
  const [resource, ...more] = rest;
  if (root !== 'apis' || first === undefined || second === undefined || resource === undefined)
    return undefined;
  return { group: first, version: second, rest: [resource, ...more] };
}

/** Finds the target of a path. Upstream: RequestInfoFactory of apiserver/pkg/endpoints/request. */
export function routeOf(path: string, kinds: KindTable): Route {
  const parts = partsOf(split(path));
  if (parts === undefined || !kinds.servesGroup(parts.group)) return { kind: 'other', path };
  const { group, version, rest } = parts;
  const [first = '', second, third, fourth, fifth] = rest;
  // `namespaces/NAME/THING`: a namespace has its own subresources, everything else is a resource in
  // it.
  if (
    first === 'namespaces' &&
    second !== undefined &&
    third !== undefined &&
    !namespaceParts.has(third)
  ) {
    const of = kinds.at(group, version, third);
    if (of === undefined || !of.namespaced) return { kind: 'nothing' };
    if (fourth === undefined) return { kind: 'collection', of, namespace: second };
    return { kind: 'object', of, namespace: second, name: fourth, subresource: fifth ?? '' };
  }
  const of = kinds.at(group, version, first);
  if (of === undefined) return { kind: 'nothing' };
  if (second === undefined) return { kind: 'collection', of, namespace: undefined };
  return of.namespaced
    ? { kind: 'nothing' }
    : { kind: 'object', of, namespace: '', name: second, subresource: third ?? '' };
}

const namespaceParts = new Set(['status', 'finalize']);

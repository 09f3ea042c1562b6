import type { ApiRequest } from '../api/message.ts';
import { routeOf } from '../api/route.ts';
import type { KindTable } from '../kinds/kind-table.ts';

/** An authenticated user. */
export type User = { readonly name: string; readonly groups: readonly string[] };

/**
 * Attributes of a request, in the words of roles. Upstream: RequestInfo of
 * apiserver/pkg/endpoints/request.
 */
export type RequestAttributes =
  | {
      readonly kind: 'resource';
      readonly verb: string;
      readonly group: string;
      readonly resource: string;
      readonly subresource: string;
      readonly namespace: string;
      readonly name: string;
    }
  | { readonly kind: 'path'; readonly verb: string; readonly path: string };

const objectVerbs: Readonly<Record<string, string>> = {
  GET: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

function isYes(value: string | undefined): boolean {
  return value !== undefined && value !== 'false' && value !== '0';
}

function collectionVerb({ method, query }: ApiRequest): string {
  if (method === 'GET') return isYes(query.get('watch')) ? 'watch' : 'list';
  return method === 'DELETE' ? 'deletecollection' : (objectVerbs[method] ?? method.toLowerCase());
}

/**
 * Returns the name that a field selector selects: a list or watch of one object by its name is
 * about that object, so roles may name it.
 */
function selectedName({ query }: ApiRequest, verb: string): string {
  if (!['list', 'watch', 'deletecollection'].includes(verb)) return '';
  return /^metadata\.name==?([^,]+)$/.exec(query.get('fieldSelector') ?? '')?.[1] ?? '';
}

/** Path of access reviews, a kind whose objects are not stored. */
export const reviews = {
  group: 'authorization.k8s.io',
  resource: 'subjectaccessreviews',
  path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
};

export function askedBy(request: ApiRequest, kinds: KindTable): RequestAttributes {
  const route = routeOf(request.path, kinds);
  if (route.kind === 'collection') {
    const verb = collectionVerb(request);
    const { group, plural: resource } = route.of;
    return {
      kind: 'resource',
      verb,
      group,
      resource,
      subresource: '',
      namespace: route.namespace ?? '',
      name: selectedName(request, verb),
    };
  }
  if (route.kind === 'object') {
    const { of, namespace, name, subresource } = route;
    const verb = objectVerbs[request.method] ?? request.method.toLowerCase();
    // A namespace is inside itself: a role in it may name it.
    const place = of.resource === 'namespaces' ? name : namespace;
    return {
      kind: 'resource',
      verb,
      group: of.group,
      resource: of.plural,
      subresource,
      namespace: place,
      name,
    };
  }
  if (request.path === reviews.path) {
    const { group, resource } = reviews;
    return {
      kind: 'resource',
      verb: collectionVerb(request),
      group,
      resource,
      subresource: '',
      namespace: '',
      name: '',
    };
  }
  return (
    behind(request) ?? { kind: 'path', verb: request.method.toLowerCase(), path: request.path }
  );
}

/**
 * Returns the attributes for a group that is not served here: an extension behind the server may
 * serve it, and roles decide on access.
 */
function behind({ method, path }: ApiRequest): RequestAttributes | undefined {
  const found = /^\/apis\/([^/]+)\/[^/]+\/namespaces\/([^/]+)\/([^/]+)\/([^/]+)(?:\/([^/]+))?/.exec(
    path,
  );
  if (found === null) return undefined;
  const [, group = '', namespace = '', resource = '', name = '', subresource = ''] = found.map(
    part => decodeURIComponent(part ?? ''),
  );
  return {
    kind: 'resource',
    verb: objectVerbs[method] ?? method.toLowerCase(),
    group,
    resource,
    subresource,
    namespace,
    name,
  };
}

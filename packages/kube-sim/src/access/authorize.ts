import { isObject, type JsonObject } from '@drydock/apimachinery';
import { type ApiRequest, answer, failed, type Response, routeOf } from '../api/message.ts';
import { badRequest, type Failure, forbidden, forbiddenPath } from '../failure.ts';
import type { KindTable } from '../kinds/kind-table.ts';
import { items, objects, part, type Stored, text } from '../object.ts';
import type { Store } from '../store/store.ts';

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

/**
 * Roles without which only an administrator has any access. Upstream:
 * plugin/pkg/auth/authorizer/rbac/bootstrappolicy.
 */

const rbac = 'rbac.authorization.k8s.io';
const health = ['/healthz', '/livez', '/readyz', '/version', '/version/'];

function role(name: string, rules: readonly JsonObject[]): JsonObject {
  return {
    metadata: { name, labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults' } },
    rules,
  };
}

function binding(name: string, ...groups: readonly string[]): JsonObject {
  return {
    metadata: { name, labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults' } },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name },
    subjects: groups.map(group => ({ kind: 'Group', apiGroup: rbac, name: group })),
  };
}

const everything = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];
const discovery = {
  verbs: ['get'],
  nonResourceURLs: [...health, '/api', '/api/*', '/apis', '/apis/*', '/openapi', '/openapi/*'],
};

/** Roles and bindings, by resource. */
export const firstRoles: readonly (readonly [resource: string, object: JsonObject])[] = [
  [`clusterroles.${rbac}`, role('cluster-admin', everything)],
  [`clusterroles.${rbac}`, role('system:discovery', [discovery])],
  [
    `clusterroles.${rbac}`,
    role('system:public-info-viewer', [{ verbs: ['get'], nonResourceURLs: health }]),
  ],
  [`clusterrolebindings.${rbac}`, binding('cluster-admin', 'system:masters')],
  [`clusterrolebindings.${rbac}`, binding('system:discovery', 'system:authenticated')],
  [
    `clusterrolebindings.${rbac}`,
    binding('system:public-info-viewer', 'system:authenticated', 'system:unauthenticated'),
  ],
];

/**
 * Upstream: RuleAllows of plugin/pkg/auth/authorizer/rbac and
 * pkg/apis/rbac/v1/evaluation_helpers.go.
 */

function words(rule: JsonObject, field: string): readonly string[] {
  return items(rule[field]).map(String);
}

function has(all: readonly string[], wanted: string): boolean {
  return all.includes('*') || all.includes(wanted);
}

function resourceMatches(
  all: readonly string[],
  { resource, subresource }: Extract<RequestAttributes, { readonly kind: 'resource' }>,
): boolean {
  return (
    has(all, subresource === '' ? resource : `${resource}/${subresource}`) ||
    (subresource !== '' && all.includes(`*/${subresource}`))
  );
}

function pathMatches(all: readonly string[], path: string): boolean {
  return all.some(
    one =>
      one === '*' ||
      one === path ||
      (one.endsWith('*') && path.startsWith(one.replace(/\*+$/, ''))),
  );
}

/** Returns whether one rule of a role allows the request. */
function ruleAllows(rule: JsonObject, asked: RequestAttributes): boolean {
  if (!has(words(rule, 'verbs'), asked.verb)) return false;
  if (asked.kind === 'path') return pathMatches(words(rule, 'nonResourceURLs'), asked.path);
  const names = words(rule, 'resourceNames');
  return (
    has(words(rule, 'apiGroups'), asked.group) &&
    resourceMatches(words(rule, 'resources'), asked) &&
    (names.length === 0 || names.includes(asked.name))
  );
}

/** Upstream: plugin/pkg/auth/authorizer/rbac/rbac.go and pkg/registry/rbac/validation/rule.go. */

/** Group whose users may do everything, whatever the roles. */
const masters = 'system:masters';

function isMeant(subject: JsonObject, user: User, namespace: string): boolean {
  const [kind, name] = [text(subject, 'kind'), text(subject, 'name')];
  if (kind === 'User') return name === user.name;
  if (kind === 'Group') return user.groups.includes(name);
  return (
    kind === 'ServiceAccount' &&
    user.name === `system:serviceaccount:${text(subject, 'namespace') || namespace}:${name}`
  );
}

type Rules = { readonly rules: readonly JsonObject[]; readonly problem?: string };

/** Returns the rules of the role that a binding names. */
function rulesOf(store: Store, binding: Stored): Rules {
  const name = text(binding, 'roleRef', 'name');
  const isCluster = text(binding, 'roleRef', 'kind') === 'ClusterRole';
  const resource = `${isCluster ? 'clusterroles' : 'roles'}.${rbac}`;
  const role = store.get(resource, isCluster ? '' : (binding.metadata.namespace ?? ''), name);
  if (role !== undefined) return { rules: objects(role['rules']) };
  return {
    rules: [],
    problem: `${isCluster ? 'clusterrole' : 'role'}.${rbac} "${name}" not found`,
  };
}

function bindingsFor(store: Store, asked: RequestAttributes, user: User): readonly Stored[] {
  const inNamespace =
    asked.kind === 'resource' && asked.namespace !== ''
      ? store.list(`rolebindings.${rbac}`, asked.namespace)
      : [];
  return [...store.list(`clusterrolebindings.${rbac}`), ...inNamespace].filter(binding =>
    objects(binding['subjects']).some(subject =>
      isMeant(subject, user, binding.metadata.namespace ?? ''),
    ),
  );
}

/** Formats aggregated errors as Go does. */
function aggregated(problems: readonly string[]): string {
  const all = [...new Set(problems)];
  return all.length === 1 ? (all[0] ?? '') : `[${all.join(', ')}]`;
}

function refusal(user: User, asked: RequestAttributes, reason: string): Failure {
  const tail = reason === '' ? '' : `: rbac: RBAC: ${reason}`;
  const who = `User ${JSON.stringify(user.name)} cannot ${asked.verb}`;
  if (asked.kind === 'path')
    return forbiddenPath(`${who} path ${JSON.stringify(asked.path)}${tail}`);
  const { group, resource, subresource, namespace, name } = asked;
  const what = JSON.stringify(subresource === '' ? resource : `${resource}/${subresource}`);
  const where =
    namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(namespace)}`;
  return forbidden(
    { group, resource },
    name,
    `${who} resource ${what} in API group ${JSON.stringify(group)} ${where}${tail}`,
  );
}

/**
 * Returns the error when no role allows the request; undefined otherwise. Roles only ever allow.
 */
export function authorize(store: Store, user: User, asked: RequestAttributes): Failure | undefined {
  if (user.groups.includes(masters)) return undefined;
  const problems: string[] = [];
  for (const binding of bindingsFor(store, asked, user)) {
    const { rules, problem } = rulesOf(store, binding);
    if (rules.some(rule => ruleAllows(rule, asked))) return undefined;
    if (problem !== undefined) problems.push(problem);
  }
  return refusal(user, asked, problems.length === 0 ? '' : aggregated(problems));
}

/**
 * SubjectAccessReview: checks the rights of another user. Upstream:
 * pkg/registry/authorization/subjectaccessreview.
 */

function askedIn(spec: JsonObject): RequestAttributes {
  const path = part(spec, 'nonResourceAttributes');
  if (Object.keys(path).length > 0)
    return { kind: 'path', verb: text(path, 'verb'), path: text(path, 'path') };
  const of = part(spec, 'resourceAttributes');
  const [verb, group, resource, subresource] = [
    text(of, 'verb'),
    text(of, 'group'),
    text(of, 'resource'),
    text(of, 'subresource'),
  ];
  return {
    kind: 'resource',
    verb,
    group,
    resource,
    subresource,
    namespace: text(of, 'namespace'),
    name: text(of, 'name'),
  };
}

/** Handles a review, without storing it. */
export function review(store: Store, { body }: ApiRequest): Response {
  const sent = body.kind === 'json' && isObject(body.value) ? body.value : undefined;
  if (sent === undefined) return failed(badRequest('a SubjectAccessReview is expected'));
  const spec = part(sent, 'spec');
  const user = { name: text(spec, 'user'), groups: items(spec['groups']).map(String) };
  const allowed = authorize(store, user, askedIn(spec)) === undefined;
  return answer({ ...sent, status: { allowed } }, 201);
}

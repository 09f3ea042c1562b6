import type { JsonObject } from '@drydock/apimachinery';
import { methodNotAllowed } from '../failure.ts';
import { apiVersionOf, type Kind } from '../kinds/kind.ts';
import type { KindTable } from '../kinds/kind-table.ts';
import { kubernetesMinor, kubernetesVersion } from '../object.ts';
import { type ApiRequest, answer, failed, plain, type Response } from './message.ts';
import type { Server } from './server.ts';

/**
 * Returns the part of the OpenAPI v3 documents that kubectl reads before it applies: the kinds, and
 * that their patches accept `fieldValidation`. Schemas of fields are missing, so `kubectl explain`
 * does not work.
 */
function openApi(kinds: KindTable, path: string): Response | undefined {
  const groups = new Map(kinds.all().map(kind => [rootOf(kind), apiVersionOf(kind)]));
  if (path === '/openapi/v3') {
    const paths = [...groups.keys()].map(root => [
      root,
      { serverRelativeURL: `/openapi/v3/${root}?hash=0` },
    ]);
    return answer({ paths: Object.fromEntries(paths) as JsonObject });
  }
  const root = path.replace('/openapi/v3/', '');
  if (!path.startsWith('/openapi/v3/') || !groups.has(root)) return undefined;
  const served = kinds.all().filter(kind => rootOf(kind) === root);
  return answer({
    openapi: '3.0.0',
    info: { title: 'Drydock', version: kubernetesVersion },
    paths: Object.fromEntries(
      served.map(kind => [`/${pathOf(kind)}`, { patch: patchOf(kind) }]),
    ) as JsonObject,
    components: {
      schemas: Object.fromEntries(
        served.map(kind => [
          nameOf(kind),
          { type: 'object', 'x-kubernetes-group-version-kind': [kindOf(kind)] },
        ]),
      ) as JsonObject,
    },
  });
}

function rootOf({ group, version }: Kind): string {
  return group === '' ? `api/${version}` : `apis/${group}/${version}`;
}
function pathOf(kind: Kind): string {
  return `${rootOf(kind)}/${kind.namespaced ? 'namespaces/{namespace}/' : ''}${kind.plural}/{name}`;
}
function kindOf({ group, version, kind }: Kind): JsonObject {
  return { group, version, kind };
}
function nameOf({ group, version, kind }: Kind): string {
  return `${group === '' ? 'core' : group}.${version}.${kind}`;
}

function parameter(name: string): JsonObject {
  return { name, in: 'query', schema: { type: 'string', uniqueItems: true } };
}

function patchOf(kind: Kind): JsonObject {
  return {
    parameters: ['dryRun', 'fieldManager', 'fieldValidation', 'force'].map(parameter),
    'x-kubernetes-action': 'patch',
    'x-kubernetes-group-version-kind': kindOf(kind),
  };
}

/**
 * Discovery of the server: versions, groups, resources, health. Upstream:
 * apiserver/pkg/endpoints/discovery.
 */

/** Version of the control plane with which test/conformance compares this one. */
const version: JsonObject = {
  major: '1',
  minor: String(kubernetesMinor),
  emulationMajor: '1',
  emulationMinor: String(kubernetesMinor),
  minCompatibilityMajor: '1',
  minCompatibilityMinor: String(kubernetesMinor - 1),
  gitVersion: `${kubernetesVersion}+drydock`,
  gitCommit: '',
  gitTreeState: '',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: '',
  platform: '',
};

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** Verbs in the order of apiextensions-apiserver. */
const customVerbs = [
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'create',
  'update',
  'watch',
];

/** Returns the verbs of a kind; namespaces lack deletecollection. */
function verbsOf({ resource, shape }: Kind): readonly string[] {
  if (shape.kind === 'schema') return customVerbs;
  return resource === 'namespaces' ? verbs.filter(verb => verb !== 'deletecollection') : verbs;
}

type Sub = {
  readonly name: string;
  readonly kind: string;
  readonly group?: string;
  readonly version?: string;
  readonly verbs: readonly string[];
};

const partVerbs = ['get', 'patch', 'update'];

function subresources(kind: Kind): readonly Sub[] {
  return [
    ...(kind.resource === 'pods'
      ? [
          { name: 'binding', kind: 'Binding', verbs: ['create'] },
          { name: 'eviction', kind: 'Eviction', group: 'policy', version: 'v1', verbs: ['create'] },
        ]
      : []),
    ...(kind.resource === 'namespaces'
      ? [{ name: 'finalize', kind: 'Namespace', verbs: ['update'] }]
      : []),
    ...(kind.scale === undefined
      ? []
      : [{ name: 'scale', kind: 'Scale', group: 'autoscaling', version: 'v1', verbs: partVerbs }]),
    ...(kind.status ? [{ name: 'status', kind: kind.kind, verbs: partVerbs }] : []),
  ];
}

function resourcesOf(kind: Kind): readonly JsonObject[] {
  return [
    {
      name: kind.plural,
      singularName: kind.singular,
      namespaced: kind.namespaced,
      kind: kind.kind,
      verbs: verbsOf(kind),
      ...(kind.shortNames.length === 0 ? {} : { shortNames: kind.shortNames }),
      ...(kind.categories.length === 0 ? {} : { categories: kind.categories }),
    },
    ...subresources(kind).map(({ name, ...sub }) => ({
      name: `${kind.plural}/${name}`,
      singularName: '',
      namespaced: kind.namespaced,
      ...sub,
    })),
  ];
}

function byPlural(one: Kind, other: Kind): number {
  return one.plural < other.plural ? -1 : 1;
}
function inGroup(kinds: KindTable, group: string, version: string): readonly Kind[] {
  return kinds
    .all()
    .filter(one => one.group === group && one.version === version)
    .sort(byPlural);
}

function resourceList(kinds: readonly Kind[], groupVersion: string): JsonObject {
  return {
    kind: 'APIResourceList',
    ...(groupVersion === 'v1' ? {} : { apiVersion: 'v1' }),
    groupVersion,
    resources: kinds.flatMap(resourcesOf),
  };
}

/**
 * Returns the versions of a group, the most stable first: version.CompareKubeAwareVersionStrings.
 */
function versionsOf(kinds: KindTable, group: string): readonly string[] {
  return [
    ...new Set(
      kinds
        .all()
        .filter(one => one.group === group)
        .map(one => one.version),
    ),
  ].sort(byStability);
}

function byStability(one: string, other: string): number {
  const rank = (text: string): readonly number[] => {
    const [, major = '0', level, minor = '0'] =
      /^v([0-9]+)(?:(alpha|beta)([0-9]+))?$/.exec(text) ?? [];
    return [level === undefined ? 2 : level === 'beta' ? 1 : 0, Number(major), Number(minor)];
  };
  const [a, b] = [rank(one), rank(other)];
  for (const [index, value] of a.entries()) if (value !== b[index]) return (b[index] ?? 0) - value;
  return one < other ? -1 : 1;
}

function groupsIn(kinds: KindTable): readonly string[] {
  return [...new Set(kinds.all().map(({ group }) => group))].filter(group => group !== '');
}

function groupOf(kinds: KindTable, group: string): JsonObject {
  const versions = versionsOf(kinds, group).map(version => ({
    groupVersion: `${group}/${version}`,
    version,
  }));
  return { name: group, versions, preferredVersion: versions[0] ?? {} };
}

/**
 * Returns everything in one response:
 * `application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList`.
 */
function aggregated(kinds: KindTable, groups: readonly string[]): JsonObject {
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items: groups.map(group => ({
      metadata: group === '' ? {} : { name: group },
      versions: versionsOf(kinds, group).map(version => ({
        version,
        resources: inGroup(kinds, group, version).map(discovered),
        freshness: 'Current',
      })),
    })),
  };
}

function kindName(group: string, version: string, kind: string): JsonObject {
  return { group, version, kind };
}

function discovered(kind: Kind): JsonObject {
  return {
    resource: kind.plural,
    responseKind: kindName(kind.group, kind.version, kind.kind),
    scope: kind.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: kind.singular,
    verbs: verbsOf(kind),
    ...(kind.shortNames.length === 0 ? {} : { shortNames: kind.shortNames }),
    ...(kind.categories.length === 0 ? {} : { categories: kind.categories }),
    ...(subresources(kind).length === 0
      ? {}
      : {
          subresources: subresources(kind).map(
            ({ name, kind: own, group = kind.group, version = kind.version, verbs }) => ({
              subresource: name,
              responseKind: kindName(group, version, own),
              verbs,
            }),
          ),
        }),
  };
}

function notFoundText(): Response {
  return plain(404, '404 page not found\n');
}

const aggregatedType = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

function inAggregate(body: JsonObject): Response {
  return { kind: 'object', status: 200, headers: { 'content-type': aggregatedType }, body };
}

/** Handles every non-resource path. */
export function discovery(server: Server, request: ApiRequest): Response {
  const { kinds } = server.registry;
  const path = request.path.replace(/\/$/, '');
  if (['/healthz', '/livez', '/readyz'].includes(path)) return plain(200, 'ok');
  if (request.method !== 'GET')
    return isDiscovered(kinds, path) ? failed(methodNotAllowed()) : notFoundText();
  const wantsAll =
    /as=APIGroupDiscoveryList/.test(request.accept) && /v=v2(;|,|$)/.test(request.accept);
  if (path === '/version') return answer(version);
  if (path === '/api')
    return wantsAll
      ? inAggregate(aggregated(kinds, ['']))
      : answer({ kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] });
  if (path === '/apis') {
    if (wantsAll) return inAggregate(aggregated(kinds, groupsIn(kinds)));
    return answer({
      kind: 'APIGroupList',
      apiVersion: 'v1',
      groups: groupsIn(kinds).map(group => groupOf(kinds, group)),
    });
  }
  return ofGroup(kinds, path) ?? openApi(kinds, path) ?? notFoundText();
}

/** Returns whether this is a path of discovery. */
function isDiscovered(kinds: KindTable, path: string): boolean {
  return ['/api', '/apis', '/version'].includes(path) || ofGroup(kinds, path) !== undefined;
}

function ofGroup(kinds: KindTable, path: string): Response | undefined {
  const [, root = '', first = '', second, more] = path.split('/');
  if (more !== undefined) return undefined;
  if (root === 'api' && first === 'v1' && second === undefined)
    return answer(resourceList(inGroup(kinds, '', 'v1'), 'v1'));
  if (root !== 'apis' || !groupsIn(kinds).includes(first)) return undefined;
  if (second === undefined)
    return answer({ kind: 'APIGroup', apiVersion: 'v1', ...groupOf(kinds, first) });
  const found = inGroup(kinds, first, second);
  return found.length === 0
    ? undefined
    : answer(resourceList(found, apiVersionOf({ group: first, version: second })));
}

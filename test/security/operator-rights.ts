import { defaultNamespace, defaultParts, extraParts, manifests } from '@drydock/cli/install';

/**
 * Rights as `VERB RESOURCE.GROUP[/SUBRESOURCE]`: those that the shipped roles give to the operator,
 * and the one that a call needs.
 */

/**
 * Roles that are for people, for the agents or for the pod of a rehearsal; every other one is the
 * operator's.
 */
const ofOthers =
  /^drydock-(maintenance-(viewer|editor|admin)|drainer|metrics-reader|plan-(viewer|operator|approver|author)|rehearsal|agent)$/;

type Rule = {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly verbs: readonly string[];
};

function right(verb: string, group: string, resource: string, sub: string | undefined): string {
  return `${verb} ${resource}${group === '' ? '' : `.${group}`}${sub === undefined ? '' : `/${sub}`}`;
}

function rightsOf({ apiGroups = [], resources = [], verbs }: Rule): readonly string[] {
  return resources.flatMap(one => {
    const [resource = '', ...sub] = one.split('/');
    return apiGroups.flatMap(group =>
      verbs.map(verb => right(verb, group, resource, sub.length > 0 ? sub.join('/') : undefined)),
    );
  });
}

/** Everything that the shipped roles, with all parts installed, let the operator do. */
export function grantedRights(): readonly string[] {
  const all = manifests({
    parts: new Set([...defaultParts, ...extraParts]),
    groups: [],
    namespace: defaultNamespace,
  });
  const roles = all.filter(
    ({ kind, metadata }) =>
      (kind === 'ClusterRole' || kind === 'Role') && !ofOthers.test(metadata.name),
  );
  return [
    ...new Set(roles.flatMap(role => (role['rules'] as readonly Rule[]).flatMap(rightsOf))),
  ].sort();
}

const verbs = {
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
  WATCH: 'watch',
} as const;

/** The right that a call needs; undefined for one that asks what is served. */
export function rightFor(method: keyof typeof verbs | 'GET', path: string): string | undefined {
  const [, root, ...parts] = path.split('/');
  const [group = '', rest] = root === 'api' ? ['', parts.slice(1)] : [parts[0], parts.slice(2)];
  const [resource, name, ...sub] =
    rest[0] === 'namespaces' && rest.length > 2 ? rest.slice(2) : rest;
  if (resource === undefined) return undefined;
  const reads = name === undefined ? 'list' : 'get';
  return right(
    method === 'GET' ? reads : verbs[method],
    group,
    resource,
    sub.length > 0 ? sub.join('/') : undefined,
  );
}

import type { JsonObject } from '@drydock/apimachinery';
import { type Failure, forbidden, forbiddenPath } from '../failure.ts';
import { objects, type Stored, text } from '../object.ts';
import type { Store } from '../store/store.ts';
import type { RequestAttributes, User } from './asked.ts';
import { ruleAllows } from './rules.ts';

/** Upstream: plugin/pkg/auth/authorizer/rbac/rbac.go and pkg/registry/rbac/validation/rule.go. */

const rbac = 'rbac.authorization.k8s.io';
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

import type { JsonObject } from '@drydock/apimachinery';
import { items } from '../object.ts';
import type { RequestAttributes } from './asked.ts';

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
export function ruleAllows(rule: JsonObject, asked: RequestAttributes): boolean {
  if (!has(words(rule, 'verbs'), asked.verb)) return false;
  if (asked.kind === 'path') return pathMatches(words(rule, 'nonResourceURLs'), asked.path);
  const names = words(rule, 'resourceNames');
  return (
    has(words(rule, 'apiGroups'), asked.group) &&
    resourceMatches(words(rule, 'resources'), asked) &&
    (names.length === 0 || names.includes(asked.name))
  );
}

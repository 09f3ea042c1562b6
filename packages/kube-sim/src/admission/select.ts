import type { Json, JsonObject } from '@drydock/apimachinery';
import { matches, readSelector } from '@drydock/apimachinery';
import { at, items, objects, text } from '../object.ts';
import type { AdmissionAttributes } from '../registry/metadata.ts';
import type { Store } from '../store/store.ts';

/**
 * Scope of a webhook or a policy. Upstream: apiserver/pkg/admission/plugin/webhook/predicates and
 * plugin/policy/matching.
 */

function words(rule: JsonObject, field: string): readonly string[] {
  return items(rule[field]).map(String);
}
function has(all: readonly string[], wanted: string): boolean {
  return all.includes('*') || all.includes(wanted);
}

function resourceMatches(
  all: readonly string[],
  { of, subresource }: AdmissionAttributes,
): boolean {
  return all.some(one => {
    const [resource = '', sub = ''] = one.split('/');
    return (
      (resource === '*' || resource === of.plural) &&
      (sub === subresource || (sub === '*' && one !== '*'))
    );
  });
}

function scopeMatches(scope: string, { of }: AdmissionAttributes): boolean {
  return scope === '' || scope === '*' || (scope === 'Namespaced') === of.namespaced;
}

function nameMatches(names: readonly string[], { name }: AdmissionAttributes): boolean {
  return names.length === 0 || names.includes(name);
}

function ruleMatches(rule: JsonObject, attempt: AdmissionAttributes): boolean {
  return (
    has(words(rule, 'operations'), attempt.operation) &&
    has(words(rule, 'apiGroups'), attempt.of.group) &&
    has(words(rule, 'apiVersions'), attempt.of.version) &&
    resourceMatches(words(rule, 'resources'), attempt) &&
    scopeMatches(text(rule, 'scope'), attempt) &&
    nameMatches(words(rule, 'resourceNames'), attempt)
  );
}

function isEmpty(selector: Json | undefined): boolean {
  return (
    selector === undefined ||
    (objects(at(selector, 'matchExpressions')).length === 0 &&
      Object.keys(at(selector, 'matchLabels') ?? {}).length === 0)
  );
}

function labelsOf(object: JsonObject | undefined): Readonly<Record<string, string>> {
  return (at(object, 'metadata', 'labels') ?? {}) as Readonly<Record<string, string>>;
}

/**
 * Returns whether the selector matches the object's namespace, or the namespace itself. Never
 * excludes cluster-scoped objects.
 */
function namespaceMatches(
  selector: Json | undefined,
  attempt: AdmissionAttributes,
  store: Store,
): boolean {
  if (isEmpty(selector)) return true;
  const isNamespace = attempt.of.resource === 'namespaces';
  if (!attempt.of.namespaced && !isNamespace) return true;
  const namespace = isNamespace
    ? (attempt.object ?? attempt.before)
    : store.get('namespaces', '', attempt.namespace);
  return matches(readSelector(selector), labelsOf(namespace));
}

function objectMatches(
  selector: Json | undefined,
  { object, before }: AdmissionAttributes,
): boolean {
  return (
    isEmpty(selector) ||
    [object, before].some(
      one => one !== undefined && matches(readSelector(selector), labelsOf(one)),
    )
  );
}

function inScope(match: JsonObject, attempt: AdmissionAttributes, store: Store): boolean {
  return (
    namespaceMatches(match['namespaceSelector'], attempt, store) &&
    objectMatches(match['objectSelector'], attempt)
  );
}

/** Returns whether the webhook's rules and selectors match. */
export function concerns(webhook: JsonObject, attempt: AdmissionAttributes, store: Store): boolean {
  return (
    objects(webhook['rules']).some(rule => ruleMatches(rule, attempt)) &&
    inScope(webhook, attempt, store)
  );
}

/**
 * Returns whether the matchConstraints of a policy match, or the matchResources of a binding, which
 * may leave the rules to the policy.
 */
export function isWithin(match: JsonObject, attempt: AdmissionAttributes, store: Store): boolean {
  const rules = objects(match['resourceRules']);
  return (
    (rules.length === 0 || rules.some(rule => ruleMatches(rule, attempt))) &&
    !objects(match['excludeResourceRules']).some(rule => ruleMatches(rule, attempt)) &&
    inScope(match, attempt, store)
  );
}

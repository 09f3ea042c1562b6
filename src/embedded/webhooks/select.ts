import type { Json, JsonObject } from '../../core/json.ts';
import { matches, readSelector } from '../../core/pod/selector.ts';
import { shown } from '../api/render.ts';
import { evaluate } from '../cel/evaluate.ts';
import { parse } from '../cel/parse.ts';
import { at, items, objects, text } from '../object.ts';
import type { Attempt } from '../registry/gate.ts';
import type { Store } from '../store/store.ts';

/** Which webhooks an attempt concerns. Upstream: apiserver/pkg/admission/plugin/webhook/{generic,predicates,matchconditions}. */

const words = (rule: JsonObject, field: string): readonly string[] => items(rule[field]).map(String);
const has = (all: readonly string[], wanted: string): boolean => all.includes('*') || all.includes(wanted);

const resourceMatches = (all: readonly string[], { of, subresource }: Attempt): boolean =>
  all.some(one => {
    const [resource = '', sub = ''] = one.split('/');
    return (resource === '*' || resource === of.plural) && (sub === subresource || (sub === '*' && one !== '*'));
  });

const scopeMatches = (scope: string, { of }: Attempt): boolean =>
  scope === '' || scope === '*' || (scope === 'Namespaced') === of.namespaced;

const ruleMatches = (rule: JsonObject, attempt: Attempt): boolean =>
  has(words(rule, 'operations'), attempt.operation) &&
  has(words(rule, 'apiGroups'), attempt.of.group) &&
  has(words(rule, 'apiVersions'), attempt.of.version) &&
  resourceMatches(words(rule, 'resources'), attempt) &&
  scopeMatches(text(rule, 'scope'), attempt);

const isEmpty = (selector: Json | undefined): boolean =>
  selector === undefined ||
  (objects(at(selector, 'matchExpressions')).length === 0 && Object.keys(at(selector, 'matchLabels') ?? {}).length === 0);

const labelsOf = (object: JsonObject | undefined): Readonly<Record<string, string>> =>
  (at(object, 'metadata', 'labels') ?? {}) as Readonly<Record<string, string>>;

/** Of the namespace that the object is in, or that it is. Cluster-wide objects are never left out by it. */
const namespaceMatches = (selector: Json | undefined, attempt: Attempt, store: Store): boolean => {
  if (isEmpty(selector)) return true;
  const isNamespace = attempt.of.resource === 'namespaces';
  if (!attempt.of.namespaced && !isNamespace) return true;
  const namespace = isNamespace ? (attempt.object ?? attempt.before) : store.get('namespaces', '', attempt.namespace);
  return matches(readSelector(selector), labelsOf(namespace));
};

const objectMatches = (selector: Json | undefined, { object, before }: Attempt): boolean =>
  isEmpty(selector) || [object, before].some(one => one !== undefined && matches(readSelector(selector), labelsOf(one)));

/** An object as webhooks see it: with its kind and version; null where there is none. */
export const asSent = ({ of, subresource }: Attempt, object: JsonObject | undefined): Json =>
  object === undefined ? null : subresource === '' || subresource === 'status' ? shown(of, object) : object;

/** What names stand for in match conditions. */
const bindingsOf = (attempt: Attempt): Readonly<Record<string, Json>> => ({
  object: asSent(attempt, attempt.object),
  oldObject: asSent(attempt, attempt.before),
  request: {
    operation: attempt.operation,
    name: attempt.name,
    namespace: attempt.namespace,
    subResource: attempt.subresource,
    dryRun: attempt.dryRun,
  },
});

type Conditions = { readonly kind: 'met' | 'unmet' } | { readonly kind: 'error'; readonly message: string };

/** One that is false leaves the webhook out, whatever the others do; then one that fails counts by the failure policy. */
export const conditionsOf = (webhook: JsonObject, attempt: Attempt): Conditions => {
  const bindings = bindingsOf(attempt);
  const results = objects(webhook['matchConditions']).map(condition => {
    const parsed = parse(text(condition, 'expression'));
    return parsed.kind === 'wrong' ? ({ kind: 'error', message: parsed.message } as const) : evaluate(parsed.expression, bindings);
  });
  if (results.some(result => result.kind === 'value' && result.value !== true)) return { kind: 'unmet' };
  return results.find(result => result.kind === 'error') ?? { kind: 'met' };
};

/** Whether its rules and selectors say that the webhook is asked. */
export const concerns = (webhook: JsonObject, attempt: Attempt, store: Store): boolean =>
  objects(webhook['rules']).some(rule => ruleMatches(rule, attempt)) &&
  namespaceMatches(webhook['namespaceSelector'], attempt, store) &&
  objectMatches(webhook['objectSelector'], attempt);

import type { Json, JsonObject } from '@drydock/apimachinery';
import { authorizer, type Bindings, evaluate, Lazy, parse, type Result } from '@drydock/cel';
import { authorize, type User } from '../access/authorize.ts';
import { shown } from '../api/render.ts';
import { denial, type Failure, forbidden } from '../failure.ts';
import { named } from '../kinds/kind.ts';
import { items, objects, part, type Stored, text } from '../object.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../registry/metadata.ts';
import type { Store } from '../store/store.ts';
import { isWithin } from './select.ts';

/**
 * Admission attributes as webhooks and expressions see them. Upstream:
 * apiserver/pkg/admission/plugin/webhook/request and plugin/cel.
 */

/** Returns an object with its kind and version; null where there is none. */
export function asSent(
  { of, subresource }: AdmissionAttributes,
  object: JsonObject | undefined,
): Json {
  return object === undefined
    ? null
    : subresource === '' || subresource === 'status'
      ? shown(of, object)
      : object;
}

/** Returns the request without the objects. */
export function requestOf(attempt: AdmissionAttributes, user: User): JsonObject {
  const { of, subresource, namespace, name, operation, dryRun } = attempt;
  const kind =
    subresource === 'eviction'
      ? { group: 'policy', version: 'v1', kind: 'Eviction' }
      : { group: of.group, version: of.version, kind: of.kind };
  const resource = { group: of.group, version: of.version, resource: of.plural };
  return {
    kind,
    resource,
    ...(subresource !== '' && { subResource: subresource, requestSubResource: subresource }),
    requestKind: kind,
    requestResource: resource,
    name,
    ...(namespace !== '' && { namespace }),
    operation,
    userInfo: { username: user.name, groups: user.groups },
    dryRun,
  };
}

/** Returns the variables of expressions. */
export function bindingsOf(attempt: AdmissionAttributes, user: User, store: Store): Bindings {
  return {
    object: asSent(attempt, attempt.object),
    oldObject: asSent(attempt, attempt.before),
    // Missing texts are empty here: the type has all fields.
    request: {
      namespace: '',
      subResource: '',
      requestSubResource: '',
      ...requestOf(attempt, user),
    },
    namespaceObject: store.get('namespaces', '', attempt.namespace) ?? null,
    [authorizer]: ({
      check: verb = '',
      group = '',
      resource = '',
      subresource = '',
      namespace = '',
      name = '',
    }) =>
      authorize(store, user, {
        kind: 'resource',
        verb,
        group,
        resource,
        subresource,
        namespace,
        name,
      }) === undefined,
  };
}

/** Evaluates an expression, which may be invalid. */
function computed(expression: string, bindings: Bindings): Result {
  const parsed = parse(expression);
  return parsed.kind === 'wrong'
    ? { kind: 'error', message: parsed.message }
    : evaluate(parsed.expression, bindings);
}

type Conditions =
  | { readonly kind: 'met' | 'unmet' }
  | { readonly kind: 'error'; readonly message: string };

/**
 * Evaluates match conditions: one that is false excludes the webhook or policy, whatever the
 * others; otherwise an error counts by the failure policy.
 */
export function conditionsOf(conditions: Json | undefined, bindings: Bindings): Conditions {
  const results = objects(conditions).map(condition =>
    computed(text(condition, 'expression'), bindings),
  );
  if (results.some(result => result.kind === 'value' && result.value !== true))
    return { kind: 'unmet' };
  return results.find(result => result.kind === 'error') ?? { kind: 'met' };
}

/** ValidatingAdmissionPolicies. Upstream: apiserver/pkg/admission/plugin/policy/validating. */

const group = 'admissionregistration.k8s.io';

/** Failure of one validation. */
type Objection = { readonly reason: string; readonly message: string };

const codes: Readonly<Record<string, number>> = {
  Unauthorized: 401,
  Forbidden: 403,
  RequestEntityTooLarge: 413,
  Invalid: 422,
};

function usable(result: Result): string {
  return result.kind === 'value' && typeof result.value === 'string' ? result.value.trim() : '';
}

/** Returns the evaluated message if it is one line, else the static one, else the expression. */
function messageOf(validation: JsonObject, bindings: Bindings): string {
  const expression = text(validation, 'messageExpression');
  const computedOne = expression === '' ? '' : usable(computed(expression, bindings));
  const message = computedOne.includes('\n') ? '' : computedOne;
  return (
    message ||
    text(validation, 'message').trim() ||
    `failed expression: ${text(validation, 'expression').trim()}`
  );
}

/**
 * Adds the variables of the policy, each evaluated when it is read; a later one may read an earlier
 * one.
 */
function withVariables(spec: JsonObject, bindings: Bindings): Bindings {
  const variables = objects(spec['variables']).map(
    variable => [text(variable, 'name'), parse(text(variable, 'expression'))] as const,
  );
  const members = variables.flatMap(([name, parsed]) =>
    parsed.kind === 'wrong' ? [] : [[name, parsed.expression] as const],
  );
  return { ...bindings, variables: new Lazy(new Map(members)) };
}

function failures(spec: JsonObject, message: string): readonly Objection[] {
  return text(spec, 'failurePolicy') === 'Ignore' ? [] : [{ reason: 'Invalid', message }];
}

function objectionsOf(spec: JsonObject, plain: Bindings): readonly Objection[] {
  const bindings = withVariables(spec, plain);
  const conditions = conditionsOf(spec['matchConditions'], bindings);
  if (conditions.kind === 'unmet') return [];
  if (conditions.kind === 'error') return failures(spec, conditions.message);
  return objects(spec['validations']).flatMap((validation): readonly Objection[] => {
    const expression = text(validation, 'expression');
    const result = computed(expression, bindings);
    if (result.kind === 'error')
      return failures(spec, `expression '${expression}' resulted in error: ${result.message}`);
    if (result.value === true) return [];
    return [
      { reason: text(validation, 'reason') || 'Invalid', message: messageOf(validation, bindings) },
    ];
  });
}

function denied(
  attempt: AdmissionAttributes,
  policy: string,
  binding: string,
  { reason, message }: Objection,
): Failure {
  const why = `ValidatingAdmissionPolicy '${policy}' with binding '${binding}' denied request: ${message}`;
  const { message: whole, details } = forbidden(named(attempt.of), attempt.name, why, [
    { message: why },
  ]);
  return { ...denial(codes[reason] ?? 422, reason, whole), ...(details && { details }) };
}

export type Judgement = { readonly failure?: Failure; readonly warnings: readonly string[] };

function judged(
  attempt: AdmissionAttributes,
  binding: Stored,
  objections: readonly Objection[],
): Judgement {
  const [policy, name] = [text(binding, 'spec', 'policyName'), binding.metadata.name];
  const actions = items(part(binding, 'spec')['validationActions']);
  const [first] = objections;
  const warn = ({ message }: Objection): string =>
    `Validation failed for ValidatingAdmissionPolicy '${policy}' with binding '${name}': ${message}`;
  return {
    ...(first !== undefined &&
      actions.includes('Deny') && { failure: denied(attempt, policy, name, first) }),
    warnings: actions.includes('Warn') ? objections.map(warn) : [],
  };
}

/** Returns the result of all bound policies. */
export function policiesOn(store: Store, attempt: AdmissionAttributes, user: User): Judgement {
  const all = store
    .list(`validatingadmissionpolicybindings.${group}`)
    .flatMap((binding): readonly Judgement[] => {
      const policy = store.get(
        `validatingadmissionpolicies.${group}`,
        '',
        text(binding, 'spec', 'policyName'),
      );
      if (policy === undefined || attempt.of.group === group) return [];
      const spec = part(policy, 'spec');
      const concerned =
        isWithin(part(spec, 'matchConstraints'), attempt, store) &&
        isWithin(part(binding, 'spec', 'matchResources'), attempt, store);
      return concerned
        ? [judged(attempt, binding, objectionsOf(spec, bindingsOf(attempt, user, store)))]
        : [];
    });
  const failure = all.find(one => one.failure !== undefined)?.failure;
  return { ...(failure && { failure }), warnings: all.flatMap(({ warnings }) => warnings) };
}

/**
 * Returns an admission plugin for the cluster's own components, which receive no warnings and call
 * no webhooks.
 */
export function policyGate(store: Store, user: User): AdmissionPlugin {
  return attempt => {
    const { failure } = policiesOn(store, attempt, user);
    return failure && { kind: 'refused', failure };
  };
}

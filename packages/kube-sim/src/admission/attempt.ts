import type { Json, JsonObject } from '@drydock/apimachinery';
import { authorizer, type Bindings, evaluate, parse, type Result } from '@drydock/cel';
import type { User } from '../access/asked.ts';
import { authorize } from '../access/authorize.ts';
import { shown } from '../api/render.ts';
import { objects, text } from '../object.ts';
import type { AdmissionAttributes } from '../registry/gate.ts';
import type { Store } from '../store/store.ts';

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
export function computed(expression: string, bindings: Bindings): Result {
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

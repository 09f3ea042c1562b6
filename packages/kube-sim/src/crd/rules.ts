import { isObject, type Json, type JsonObject, sameJson } from '@drydock/apimachinery';
import type { Bindings, Expression } from '@drydock/cel';
import { check, evaluate, mentions, parse, Typed } from '@drydock/cel';
import type { Cause } from '../failure.ts';
import { items, objects, text } from '../object.ts';

/**
 * x-kubernetes-validations: CEL rules of a schema. Upstream:
 * apiextensions-apiserver/pkg/apiserver/schema/cel.
 */

type Rule = {
  readonly expression: Expression;
  readonly source: string;
  readonly message: string;
  readonly messageExpression: Expression | undefined;
  readonly reason: string;
  readonly fieldPath: string;
  /** Whether it is a transition rule, which reads the former value. */
  readonly isTransition: boolean;
  readonly optionalOldSelf: boolean;
};

/** Rules of a schema and of its parts; undefined where there are none. */
export type Rules = {
  readonly own: readonly Rule[];
  /** Schema of the value that the rules check. */
  readonly schema: JsonObject;
  readonly properties: ReadonlyMap<string, Rules>;
  readonly items?: Rules;
  /** Keys by which an element of a list is matched with one in the former list. */
  readonly keys?: readonly string[];
  readonly additional?: Rules;
};

export type RuleProblem = {
  readonly path: string;
  readonly rule: JsonObject;
  readonly message: string;
  readonly member: 'rule' | 'messageExpression';
};

/**
 * Compiles the rules of a schema; invalid ones are added to the problems. `path` is the schema's
 * place in the definition.
 */
export function compile(
  schema: JsonObject,
  path: string,
  problems: RuleProblem[],
): Rules | undefined {
  const given = objects(schema['x-kubernetes-validations']);
  const own = given.flatMap((rule, index) =>
    ruleOf(rule, schema, `${path}.x-kubernetes-validations[${index}]`, problems),
  );
  const properties = new Map<string, Rules>();
  for (const [key, inner] of Object.entries(
    isObject(schema['properties']) ? schema['properties'] : {},
  )) {
    const rules = isObject(inner)
      ? compile(inner, `${path}.properties[${key}]`, problems)
      : undefined;
    if (rules !== undefined) properties.set(key, rules);
  }
  const inner = isObject(schema['items'])
    ? compile(schema['items'], `${path}.items`, problems)
    : undefined;
  const additional = isObject(schema['additionalProperties'])
    ? compile(schema['additionalProperties'], `${path}.additionalProperties`, problems)
    : undefined;
  if (own.length === 0 && properties.size === 0 && inner === undefined && additional === undefined)
    return undefined;
  const keys =
    schema['x-kubernetes-list-type'] === 'map'
      ? items(schema['x-kubernetes-list-map-keys']).map(String)
      : undefined;
  return {
    own,
    schema,
    properties,
    ...(inner === undefined ? {} : { items: inner }),
    ...(keys === undefined ? {} : { keys }),
    ...(additional === undefined ? {} : { additional }),
  };
}

function compiled(source: string, schema: JsonObject): Expression | string {
  const parsed = parse(source);
  if (parsed.kind === 'wrong') return parsed.message;
  return check(parsed.expression, source, schema) ?? parsed.expression;
}

function ruleOf(
  rule: JsonObject,
  schema: JsonObject,
  path: string,
  problems: RuleProblem[],
): readonly Rule[] {
  const source = text(rule, 'rule');
  const expression = compiled(source, schema);
  if (typeof expression === 'string') {
    problems.push({ path, rule, message: `compilation failed: ${expression}`, member: 'rule' });
    return [];
  }
  const wording = text(rule, 'messageExpression');
  const messageExpression = wording === '' ? undefined : compiled(wording, schema);
  if (typeof messageExpression === 'string') {
    problems.push({
      path,
      rule,
      message: `messageExpression compilation failed: ${messageExpression}`,
      member: 'messageExpression',
    });
    return [];
  }
  return [
    {
      expression,
      source,
      message: text(rule, 'message'),
      messageExpression,
      reason: text(rule, 'reason') || 'FieldValueInvalid',
      fieldPath: text(rule, 'fieldPath'),
      isTransition: mentions(expression, 'oldSelf'),
      optionalOldSelf: rule['optionalOldSelf'] === true,
    },
  ];
}

/** Returns the rules that a value violates. `before` is the value that it replaces. */
export function ruleCauses(
  rules: Rules,
  value: Json,
  before: Json | undefined,
  path: string,
): readonly Cause[] {
  const own = rules.own.flatMap(rule => broken(rule, value, before, path, rules.schema));
  if (Array.isArray(value))
    return [...own, ...elementCauses(rules, value as readonly Json[], before, path)];
  if (!isObject(value)) return own;
  const inner = Object.entries(value).flatMap(([key, member]) => {
    const theirs = rules.properties.get(key) ?? rules.additional;
    if (theirs === undefined || member === undefined || member === null) return [];
    return ruleCauses(
      theirs,
      member,
      isObject(before) ? before[key] : undefined,
      path === '' ? key : `${path}.${key}`,
    );
  });
  return [...own, ...inner];
}

function elementCauses(
  rules: Rules,
  value: readonly Json[],
  before: Json | undefined,
  path: string,
): readonly Cause[] {
  const { items: inner, keys } = rules;
  if (inner === undefined) return [];
  const earlier = (one: Json): Json | undefined =>
    keys === undefined || !isObject(one)
      ? undefined
      : objects(before).find(other => keys.every(key => sameJson(other[key], one[key])));
  return value.flatMap((one, index) => ruleCauses(inner, one, earlier(one), `${path}[${index}]`));
}

function broken(
  rule: Rule,
  self: Json,
  oldSelf: Json | undefined,
  path: string,
  schema: JsonObject,
): readonly Cause[] {
  if (rule.isTransition && oldSelf === undefined && !rule.optionalOldSelf) return [];
  // Where a former value may be missing, it is an optional one.
  const bindings = {
    self: new Typed(self, schema),
    oldSelf: new Typed(oldSelf, schema, rule.optionalOldSelf),
  };
  const result = evaluate(rule.expression, bindings);
  if (result.kind === 'value' && result.value === true) return [];
  const type = text(schema, 'type');
  const field = (path + rule.fieldPath).replace(/^\./, '') || '<nil>';
  if (result.kind === 'error')
    return [
      {
        reason: 'FieldValueInvalid',
        message: `Invalid value: ${JSON.stringify(type)}: ${failureOf(rule, result.message)}`,
        field,
      },
    ];
  // Objects and lists are not quoted, because they may be large.
  const shown = type === 'object' || type === 'array' ? '' : `${JSON.stringify(self)}: `;
  return [
    {
      reason: rule.reason,
      message: `${intro[rule.reason] ?? 'Invalid value: '}${shown}${messageOf(rule, bindings)}`,
      field,
    },
  ];
}

const intro: Readonly<Record<string, string>> = {
  FieldValueForbidden: 'Forbidden: ',
  FieldValueRequired: 'Required value: ',
  FieldValueDuplicate: 'Duplicate value: ',
};

/** Returns the message for a rule that cannot be evaluated. */
function failureOf({ message, source }: Rule, error: string): string {
  const rule = (message || source).trim();
  if (error.startsWith('no such overload'))
    return `'${error}': call arguments did not match a supported operator, function or macro signature for rule: ${rule}`;
  if (error.startsWith('operation cancelled'))
    return `'${error}': no further validation rules will be run due to call cost exceeds limit for rule: ${rule}`;
  return `${error} evaluating rule: ${rule}`;
}

function messageOf(rule: Rule, bindings: Bindings): string {
  const worded = rule.messageExpression && evaluate(rule.messageExpression, bindings);
  if (worded?.kind === 'value' && typeof worded.value === 'string') return worded.value;
  return rule.message || `failed rule: ${rule.source}`;
}

import { maxExpressionLength } from '@drydock/core/plan';
import { z } from 'zod';

/** Returns a CEL rule of a CRD (x-kubernetes-validations). */
export function rule(
  rule: string,
  message: string,
): { readonly rule: string; readonly message: string } {
  return { rule, message };
}

export function rules(...all: readonly ReturnType<typeof rule>[]): Record<string, unknown> {
  return { 'x-kubernetes-validations': all };
}

export const time = z.string().meta({ format: 'date-time' });

/**
 * Schema of a Kubernetes object name (RFC 1123 subdomain), by length only: the API server validates
 * the rest.
 */
export const objectName = z.string().min(1).max(253);

const requirement = z.object({
  key: z.string().min(1).max(317),
  operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']),
  values: z.array(z.string().max(63)).max(100).optional(),
});

export const labelSelector = z
  .object({
    matchLabels: z.record(z.string(), z.string()).optional(),
    matchExpressions: z.array(requirement).max(32).optional(),
  })
  .describe('A label selector. An empty selector selects all pods.');

export const podReference = z.object({
  namespace: z.string().optional(),
  name: z.string().optional(),
});

/**
 * Returns the same object without the defaults that the API server would fill in: for a kind whose
 * own defaults differ. It keeps the description and the rules.
 */
export function withoutDefaults(object: z.ZodObject): z.ZodObject {
  const fields = Object.entries(object.shape).map(([key, field]) => [
    key,
    field instanceof z.ZodDefault
      ? (field.removeDefault() as z.ZodType).optional().meta(field.meta() ?? {})
      : field,
  ]);
  return z
    .object(Object.fromEntries(fields) as Record<string, z.ZodType>)
    .meta(object.meta() ?? {});
}

const condition = z.object({
  type: z.string().max(316),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string().max(1024),
  message: z.string().max(32768),
  observedGeneration: z.int().optional(),
  lastTransitionTime: time,
});

/** Schema of metav1.Condition, one of each type. */
export const conditions = z
  .array(condition)
  .optional()
  .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] });

/** Returns the schema of a CEL expression of a plan over a node. */
export function expression(what: string) {
  return z
    .string()
    .min(1)
    .max(maxExpressionLength)
    .describe(`${what} CEL over node, machine, plan and now.`);
}

/** Schema of the name of a part of a plan: a stage, a gate, a hook. */
export const stageName = z
  .string()
  .min(1)
  .max(63)
  .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);

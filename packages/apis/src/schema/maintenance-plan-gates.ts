import { gatePlaces, maxExpressionLength } from '@drydock/core/plan';
import { z } from 'zod';
import { objectName, rule, rules, stageName } from './common.ts';

/**
 * Gates of a MaintenancePlan: each is of exactly one kind. None of them names an address or a
 * Secret: an author of plans can direct the operator only to sources that its administrator has
 * configured.
 */

const seconds = z.int32().min(0);

const gateCommon = {
  name: stageName,
  at: z
    .array(z.enum(gatePlaces))
    .max(2)
    .optional()
    .describe(
      'When the gate is evaluated. Defaults to both: before a node starts, and while it soaks.',
    ),
  onFalse: z
    .enum(['Wait', 'Halt'])
    .default('Wait')
    .describe(
      'Wait: the plan waits until the gate is true again. Halt: once a node has started, the plan halts until spec.retries sets the gate aside.',
    ),
  forSeconds: seconds
    .default(0)
    .describe(
      'Seconds for which the gate must have been true without interruption before a node starts.',
    ),
};

const workloads = z
  .object({
    namespaces: z
      .array(z.string().min(1).max(63))
      .max(100)
      .optional()
      .describe('Defaults to all namespaces.'),
  })
  .describe('True when every PodDisruptionBudget has at least as many healthy pods as it wants.');

const object = z
  .object({
    apiVersion: z
      .string()
      .max(316)
      .regex(/^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?v[0-9][a-z0-9]*$/),
    resource: z
      .string()
      .max(63)
      .regex(/^[a-z][-a-z0-9]*$/)
      .describe('Plural name of the resource, for example cephclusters.'),
    namespace: z.string().min(1).max(63).optional(),
    name: objectName,
    expression: z
      .string()
      .min(1)
      .max(maxExpressionLength)
      .describe('Whether the object is as it should be. CEL over object and now.'),
  })
  .meta(
    rules(
      rule(
        "!(self.apiVersion == 'v1' && self.resource == 'secrets')",
        'a gate cannot read Secrets',
      ),
    ),
  )
  .describe(
    'True when the expression is true for one object, which Drydock must have the right to read.',
  );

/**
 * Returns the schema of a source. The gate reports whether the operator knows the source: the API
 * server does not.
 */
function source(kind: string) {
  return stageName
    .default('default')
    .describe(
      `Name of a source of kind ${kind} in the file of the operator's flag --monitoring-config.`,
    );
}

const promql = z
  .object({
    source: source('prometheus'),
    query: z
      .string()
      .min(1)
      .max(4096)
      .describe('An instant query that returns a vector or a scalar.'),
    expression: z
      .string()
      .min(1)
      .max(maxExpressionLength)
      .describe(
        'Whether a sample is as it should be; must be true for all samples. CEL over value (a double) and labels.',
      ),
    minSamples: z
      .int32()
      .min(1)
      .max(1000)
      .default(1)
      .describe(
        'Minimum number of samples. With fewer samples, or a value that is not finite, the gate is Unknown.',
      ),
  })
  .describe('True when the expression is true for every sample of a Prometheus query.');

const alerts = z
  .object({
    source: source('alertmanager'),
    matchers: z
      .array(
        z
          .string()
          .max(512)
          .regex(/^[a-zA-Z_][a-zA-Z0-9_]*(=|!=|=~|!~)".*"$/),
      )
      .min(1)
      .max(16)
      .describe(
        'Matchers in the syntax of Alertmanager, for example severity="critical" or alertname!="Watchdog". An alert counts when all of them match.',
      ),
    excludeHeldNodes: z
      .boolean()
      .default(false)
      .describe(
        'Ignore alerts about nodes that the plan has in flight: alerts with a label whose value is the name of such a node, with or without a port.',
      ),
  })
  .describe('True when no matching alert is firing. Silenced and inhibited alerts do not count.');

const oneKind =
  '[has(self.workloads), has(self.object), has(self.promql), has(self.alerts)].filter(one, one).size() == 1';

export const gate = z
  .object({
    ...gateCommon,
    workloads: workloads.optional(),
    object: object.optional(),
    promql: promql.optional(),
    alerts: alerts.optional(),
  })
  .meta(rules(rule(oneKind, 'set exactly one of workloads, object, promql and alerts')));

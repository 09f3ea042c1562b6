import { z } from 'zod';
import { gatePlaces } from '../../core/plan/gates/gate.ts';
import { longestExpression } from '../../core/plan/plan.ts';
import { objectName, rule, rules, stageName } from './common.ts';

/** The gates of a MaintenancePlan: each is of exactly one kind. None of them names an address or a Secret: whoever writes plans has the operator ask nobody but whom its own operator has named. */

const seconds = z.int32().min(0);

const gateCommon = {
  name: stageName,
  at: z
    .array(z.enum(gatePlaces))
    .max(2)
    .optional()
    .describe('Where it is asked. Defaults to both: before a node is begun with, and while it soaks.'),
  onFalse: z
    .enum(['Wait', 'Halt'])
    .default('Wait')
    .describe('Wait: until it is true again. Halt: once a node has been begun with, the plan stops until it is set aside by spec.retries.'),
  forSeconds: seconds.default(0).describe('It must have been true for so long without a break before a node is begun with.'),
};

const workloads = z
  .object({ namespaces: z.array(z.string().min(1).max(63)).max(100).optional().describe('Defaults to all namespaces.') })
  .describe('True when no PodDisruptionBudget has fewer healthy pods than it wants.');

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
      .describe('Plural, as in its path, for example cephclusters.'),
    namespace: z.string().min(1).max(63).optional(),
    name: objectName,
    expression: z.string().min(1).max(longestExpression).describe('Whether it is as it should be. CEL over object and now.'),
  })
  .meta(rules(rule("!(self.apiVersion == 'v1' && self.resource == 'secrets')", 'a gate reads no Secrets')))
  .describe('True when the expression is, over one object that Drydock has the right to read.');

/** Which of them the operator knows is told by the gate: the API server does not know. */
const source = (kind: string) =>
  stageName.default('default').describe(`Name of a source of kind ${kind}, as the operator has been given it (--monitoring-config).`);

const promql = z
  .object({
    source: source('prometheus'),
    query: z.string().min(1).max(4096).describe('An instant query: its result is a vector or a scalar.'),
    expression: z
      .string()
      .min(1)
      .max(longestExpression)
      .describe('Whether a sample is as it should be. CEL over value (a double) and labels; all samples must be.'),
    minSamples: z
      .int32()
      .min(1)
      .max(1000)
      .default(1)
      .describe('With fewer samples the gate cannot be told. It cannot be told either when a value is not finite.'),
  })
  .describe('True when the expression is, of every sample of a query to Prometheus.');

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
        'As Alertmanager writes them, for example severity="critical" or alertname!="Watchdog". An alert counts when all of them match.',
      ),
    excludeHeldNodes: z
      .boolean()
      .default(false)
      .describe(
        'Alerts about nodes that the plan has in flight do not count: those with a label whose value is the name of such a node, with or without a port.',
      ),
  })
  .describe('True when no alert that matches is firing. Silenced and inhibited ones do not count.');

const oneKind = '[has(self.workloads), has(self.object), has(self.promql), has(self.alerts)].filter(one, one).size() == 1';

export const gate = z
  .object({
    ...gateCommon,
    workloads: workloads.optional(),
    object: object.optional(),
    promql: promql.optional(),
    alerts: alerts.optional(),
  })
  .meta(rules(rule(oneKind, 'exactly one of workloads, object, promql and alerts is the gate')));

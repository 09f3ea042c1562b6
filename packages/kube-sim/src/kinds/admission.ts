import type { JsonObject } from '@drydock/apimachinery';
import { type Cause, required } from '../failure.ts';
import { at, type Draft, objects, part, text } from '../object.ts';
import * as cell from './cells.ts';
import { builtIn, type KindEntry } from './cells.ts';
import type { Kind, Strategy } from './kind.ts';

/** Upstream: pkg/registry/admissionregistration and pkg/apis/admissionregistration. */

const { age, name, word } = cell;

function withScope(rule: JsonObject): JsonObject {
  return { scope: '*', ...rule };
}
const everything = { matchPolicy: 'Equivalent', namespaceSelector: {}, objectSelector: {} };

function webhookDefaults(webhook: JsonObject): JsonObject {
  const client = part(webhook, 'clientConfig');
  return {
    failurePolicy: 'Fail',
    timeoutSeconds: 10,
    ...everything,
    ...webhook,
    ...(webhook['rules'] !== undefined && { rules: objects(webhook['rules']).map(withScope) }),
    ...(client['service'] !== undefined && {
      clientConfig: { ...client, service: { port: 443, ...part(client, 'service') } },
    }),
  };
}

const webhooks: Strategy = {
  generation: 'counted',
  needsVersion: true,
  defaults: draft =>
    draft['webhooks'] === undefined
      ? draft
      : { ...draft, webhooks: objects(draft['webhooks']).map(webhookDefaults) },
};

function matchDefaults(given: JsonObject): JsonObject {
  return {
    ...everything,
    ...given,
    ...Object.fromEntries(
      ['resourceRules', 'excludeResourceRules'].flatMap(field =>
        given[field] === undefined ? [] : [[field, objects(given[field]).map(withScope)]],
      ),
    ),
  };
}

function withMatch(draft: Draft, field: string, more: JsonObject = {}): Draft {
  const spec = part(draft, 'spec');
  return {
    ...draft,
    spec: {
      ...more,
      ...spec,
      ...(spec[field] !== undefined && { [field]: matchDefaults(part(spec, field)) }),
    },
  };
}

const paramsAreNotServed =
  'parameters are not served by the embedded API server: write their values into the expressions';

function policyCauses(draft: Draft): readonly Cause[] {
  const spec = part(draft, 'spec');
  const rules = objects(at(spec, 'matchConstraints', 'resourceRules'));
  return [
    ...(rules.length > 0 ? [] : [required('spec.matchConstraints.resourceRules', '')]),
    ...(objects(spec['validations']).length > 0
      ? []
      : [required('spec.validations', 'validations or auditAnnotations must be specified')]),
    ...(spec['paramKind'] === undefined
      ? []
      : [
          {
            reason: 'FieldValueForbidden',
            message: `Forbidden: ${paramsAreNotServed}`,
            field: 'spec.paramKind',
          },
        ]),
  ];
}

const policies: Strategy = {
  generation: 'counted',
  defaults: draft => withMatch(draft, 'matchConstraints', { failurePolicy: 'Fail' }),
  validate: policyCauses,
};

function bindingCauses(draft: Draft): readonly Cause[] {
  return [
    ...(text(draft, 'spec', 'policyName') === '' ? [required('spec.policyName', '')] : []),
    ...(at(draft, 'spec', 'validationActions') === undefined
      ? [required('spec.validationActions', '')]
      : []),
  ];
}

const policyBindings: Strategy = {
  generation: 'counted',
  defaults: draft => withMatch(draft, 'matchResources'),
  validate: bindingCauses,
};

/** Kinds that configure admission. */
export const admissionKinds: readonly Kind[] = (
  [
    {
      kind: 'ValidatingWebhookConfiguration',
      plural: 'validatingwebhookconfigurations',
      scope: 'Cluster',
      categories: ['api-extensions'],
      strategy: webhooks,
      cells: [name, cell.size('webhooks'), age],
    },
    {
      kind: 'ValidatingAdmissionPolicy',
      plural: 'validatingadmissionpolicies',
      scope: 'Cluster',
      categories: ['api-extensions'],
      status: true,
      strategy: policies,
      cells: [
        name,
        object => objects(at(object, 'spec', 'validations')).length,
        () => '<unset>',
        age,
      ],
    },
    {
      kind: 'ValidatingAdmissionPolicyBinding',
      plural: 'validatingadmissionpolicybindings',
      scope: 'Cluster',
      categories: ['api-extensions'],
      strategy: policyBindings,
      cells: [name, word('spec', 'policyName'), () => '<unset>', age],
    },
  ] satisfies readonly KindEntry[]
).map(builtIn('admissionregistration.k8s.io', 'v1', 'admissionregistration'));

import { isObject, type Json, type JsonObject, sameJson } from '../../core/json.ts';
import { allowQuorumLossAnnotation } from '../../core/quorum/quorum.ts';

/**
 * What a maintenance may say that destroys, or overrules others, is a right of its own beside the right to write the object: a verb on its resource, which RBAC grants
 * and `kubectl auth can-i` answers for. It is asked for by a ValidatingAdmissionPolicy (deploy/admission-policies, generated from here) and by the webhook.
 */

/** Verbs, as RBAC has them. */
export type Right = 'waive-quorum' | 'delete-pods' | 'shut-down-vms' | 'declare-urgent';

type Consent = {
  readonly right: Right;
  /** Of its policy, behind that of the right, where there are several. */
  readonly name?: string;
  /** What whoever has it may say, to go after "this object". */
  readonly says: string;
  /** Resources of which it is asked. */
  readonly of: readonly string[];
  /** The part of an object that needs it; undefined where there is none. */
  readonly part: (object: JsonObject) => Json | undefined;
  /** The same in CEL: an expression over VAR (`object` or `oldObject`) that is an empty list where there is none. */
  readonly cel: string;
};

const at = (value: Json | undefined, ...path: readonly string[]): Json | undefined =>
  path.reduce<Json | undefined>((inner, key) => (isObject(inner) ? inner[key] : undefined), value);

const listAt = (object: JsonObject, ...path: readonly string[]): readonly Json[] => {
  const list = at(object, ...path);
  return Array.isArray(list) ? (list as readonly Json[]) : [];
};

const some = (list: readonly Json[]): Json | undefined => (list.length === 0 ? undefined : list);

const urgentKinds: readonly Json[] = ['preemption', 'termination'];

const drains = ['maintenances', 'machinemaintenances', 'machineeventsources'];

/** Where the drain of an object is, and the same in CEL. That of a plan is the one of the Maintenances that it makes. */
type DrainPlace = { readonly path: readonly string[]; readonly cel: string; readonly of: readonly string[]; readonly name?: string };

const drainPlaces: readonly DrainPlace[] = [
  { path: ['spec', 'drain'], cel: 'VAR.?spec.?drain', of: drains },
  {
    path: ['spec', 'template', 'maintenance', 'drain'],
    cel: 'VAR.?spec.?template.?maintenance.?drain',
    of: ['maintenanceplans'],
    name: 'of-plans',
  },
];

const ofDrain = ({ path, cel, of, name }: DrainPlace): readonly Consent[] => [
  {
    right: 'delete-pods',
    says: 'deletes pods, bypassing their budgets (drain.disableEviction, action Delete of drain.ladder)',
    of,
    ...(name !== undefined && { name }),
    part: object => {
      const rungs = listAt(object, ...path, 'ladder').filter(rung => at(rung, 'action') === 'Delete');
      return at(object, ...path, 'disableEviction') === true ? ['disableEviction', ...rungs] : some(rungs);
    },
    cel: `(${cel}.?disableEviction.orValue(false) ? [dyn('disableEviction')] : []) + ${cel}.?ladder.orValue([]).filter(rung, rung.action == 'Delete').map(rung, dyn(rung))`,
  },
  {
    right: 'shut-down-vms',
    says: 'shuts down VMs (drain.virtualMachines.notMigratable: ShutDown)',
    of,
    ...(name !== undefined && { name }),
    part: object => {
      const vms = at(object, ...path, 'virtualMachines');
      return at(vms, 'notMigratable') === 'ShutDown' ? vms : undefined;
    },
    cel: `${cel}.?virtualMachines.?notMigratable.orValue('') == 'ShutDown' ? [dyn(VAR.${path.join('.')}.virtualMachines)] : []`,
  },
];

const consents: readonly Consent[] = [
  {
    right: 'waive-quorum',
    says: `allows the control plane to lose its quorum (annotation ${allowQuorumLossAnnotation})`,
    of: ['maintenances', 'nodemaintenances'],
    part: object => (at(object, 'metadata', 'annotations', allowQuorumLossAnnotation) === 'true' ? true : undefined),
    cel: `VAR.metadata.?annotations['${allowQuorumLossAnnotation}'].orValue('') == 'true' ? ['true'] : []`,
  },
  ...drainPlaces.flatMap(ofDrain),
  {
    right: 'declare-urgent',
    says: 'declares that its machine will be gone within minutes (events of kind preemption or termination), which bypasses approval, windows and limits',
    of: ['machinemaintenances'],
    part: object => some(listAt(object, 'spec', 'events').filter(event => urgentKinds.includes(at(event, 'kind') ?? null))),
    cel: `VAR.?spec.?events.orValue([]).filter(event, event.kind in ['preemption', 'termination']).map(event, dyn(event))`,
  },
];

/** A resource as a right is asked of it. */
type Resource = { readonly group: string; readonly resource: string };

/** The rights that this write needs beside the one to make it: what was there before has been asked for then. */
export const rightsFor = (resource: string, object: JsonObject, before: JsonObject | undefined): readonly Right[] =>
  consents.flatMap(({ right, of, part }) => {
    const said = of.includes(resource) ? part(object) : undefined;
    return said === undefined || (before !== undefined && sameJson(part(before), said)) ? [] : [right];
  });

/** What to tell whoever lacks it. */
export const withoutRight = (right: Right, { group, resource }: Resource): string => {
  const says = consents.find(one => one.right === right)?.says ?? '';
  return `this object ${says}: that needs the right ${right} on ${resource}.${group}, which you do not have; to check, run kubectl auth can-i ${right} ${resource}.${group}`;
};

const groups: Readonly<Record<string, readonly string[]>> = {
  'drydock.dev': ['maintenances', 'machineeventsources', 'maintenanceplans'],
  'machinemaintenance.managed.openshift.io': ['machinemaintenances'],
  'nodemaintenance.medik8s.io': ['nodemaintenances'],
  'nodemaintenance.kubevirt.io': ['nodemaintenances'],
  'kubevirt.io': ['nodemaintenances'],
};

/**
 * The objects of these resources, with what the API server would put in by itself. It takes matchConstraints as a whole when a manifest is applied, so that
 * one without that would differ from what stands in the cluster, and be a conflict for everybody but who applied it first.
 */
const written = (of: readonly string[]): JsonObject => ({
  matchPolicy: 'Equivalent',
  namespaceSelector: {},
  objectSelector: {},
  resourceRules: Object.entries(groups)
    .map(([group, all]) => ({ group, resources: all.filter(resource => of.includes(resource)) }))
    .filter(({ resources }) => resources.length > 0)
    .map(({ group, resources }) => ({ apiGroups: [group], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources, scope: '*' })),
});

const policyFor = ({ right, name: suffix, of, says, cel }: Consent): readonly JsonObject[] => {
  const name = ['drydock', right, suffix].filter(Boolean).join('-');
  const mayAsk =
    "authorizer.group(request.resource.group).resource(request.resource.resource).namespace(has(request.namespace) ? request.namespace : '')";
  const onResource = `request.resource.resource + '.' + request.resource.group`;
  return [
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: written(of),
        variables: [
          { name: 'said', expression: cel.replaceAll('VAR', 'object') },
          { name: 'before', expression: `request.operation == 'UPDATE' ? (${cel.replaceAll('VAR', 'oldObject')}) : []` },
        ],
        validations: [
          {
            expression: `variables.said == [] || variables.said == variables.before || ${mayAsk}.check('${right}').allowed()`,
            messageExpression: `'this object ${says}: that needs the right ${right} on ' + ${onResource} + ', which you do not have; to check, run kubectl auth can-i ${right} ' + ${onResource}`,
            reason: 'Forbidden',
          },
        ],
      },
    },
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name },
      spec: { policyName: name, validationActions: ['Deny'] },
    },
  ];
};

/** The policies that ask for the rights, each with its binding. */
export const consentPolicies = (): readonly JsonObject[] => consents.flatMap(policyFor);

import { isObject, type Json, type JsonObject, sameJson } from '@drydock/apimachinery';
import { releaseDuringWorkAnnotation } from '@drydock/core/maintenance';
import { allowQuorumLossAnnotation } from '@drydock/core/quorum';

/**
 * Consent: contents of a maintenance that destroy data, or overrule other users, need a right of
 * their own beside the right to write the object: a verb on its resource, which RBAC grants and
 * `kubectl auth can-i` checks. A ValidatingAdmissionPolicy (deploy/admission-policies, generated
 * from here) and the webhook enforce it. The right covers the object as a whole: while an object
 * has such contents, a change of any other field of its spec needs the same right, because each
 * field may determine to what they apply.
 */

/** Verbs, as in RBAC. */
export type Right =
  | 'waive-quorum'
  | 'release-during-work'
  | 'delete-pods'
  | 'shut-down-vms'
  | 'declare-urgent';

type Consent = {
  readonly right: Right;
  /** Suffix of the policy's name after that of the right, if there are several. */
  readonly name?: string;
  /** Text for what the right allows, after "this object". */
  readonly effect: string;
  /** Resources that it applies to. */
  readonly of: readonly string[];
  /** Function that reports whether the object has such contents. */
  readonly isSaidBy: (object: JsonObject) => boolean;
  /** CEL expression of the same condition over VAR (`object` or `oldObject`). */
  readonly cel: string;
};

/**
 * Fields of a spec that determine neither to what the contents apply nor how: any user who may
 * write the object may change them. A field that is not named here is covered by the right.
 */
const freeFields: Readonly<Record<string, readonly string[]>> = {
  maintenances: ['reason', 'requester'],
  nodemaintenances: ['reason'],
  machinemaintenances: ['approved', 'keepSeconds'],
  machineeventsources: [],
  maintenanceplans: [
    'concurrency',
    'expectedSeconds',
    'halt',
    'onDelete',
    'order',
    'pace',
    'pause',
    'rehearse',
    'retries',
    'runID',
    'skipNodes',
    'soakAfterReleaseSeconds',
    'soakSeconds',
    'state',
  ],
};

/**
 * Reports whether a field of the spec of a resource may be changed without the rights for the
 * object's contents.
 */
export function isFreeField(resource: string, field: string): boolean {
  return freeFields[resource]?.includes(field) === true;
}

function at(value: Json | undefined, ...path: readonly string[]): Json | undefined {
  return path.reduce<Json | undefined>(
    (inner, key) => (isObject(inner) ? inner[key] : undefined),
    value,
  );
}

function listAt(object: JsonObject, ...path: readonly string[]): readonly Json[] {
  const list = at(object, ...path);
  return Array.isArray(list) ? (list as readonly Json[]) : [];
}

const urgentKinds: readonly Json[] = ['preemption', 'termination'];

const drains = ['maintenances', 'machinemaintenances', 'machineeventsources'];

/**
 * Place of the drain in an object, also in CEL. That of a plan is the drain of the Maintenances
 * that it creates.
 */
type DrainPlace = {
  readonly path: readonly string[];
  readonly cel: string;
  readonly of: readonly string[];
  readonly name?: string;
};

const drainPlaces: readonly DrainPlace[] = [
  { path: ['spec', 'drain'], cel: 'VAR.?spec.?drain', of: drains },
  {
    path: ['spec', 'template', 'maintenance', 'drain'],
    cel: 'VAR.?spec.?template.?maintenance.?drain',
    of: ['maintenanceplans'],
    name: 'of-plans',
  },
];

function ofDrain({ path, cel, of, name }: DrainPlace): readonly Consent[] {
  return [
    {
      right: 'delete-pods',
      effect:
        'deletes pods, bypassing their budgets (drain.disableEviction, action Delete of drain.ladder)',
      of,
      ...(name !== undefined && { name }),
      isSaidBy: object =>
        at(object, ...path, 'disableEviction') === true ||
        listAt(object, ...path, 'ladder').some(rung => at(rung, 'action') === 'Delete'),
      cel: `${cel}.?disableEviction.orValue(false) || ${cel}.?ladder.orValue([]).exists(rung, rung.action == 'Delete')`,
    },
    {
      right: 'shut-down-vms',
      effect: 'shuts down VMs (drain.virtualMachines.notMigratable: ShutDown)',
      of,
      ...(name !== undefined && { name }),
      isSaidBy: object => at(object, ...path, 'virtualMachines', 'notMigratable') === 'ShutDown',
      cel: `${cel}.?virtualMachines.?notMigratable.orValue('') == 'ShutDown'`,
    },
  ];
}

/** Returns the condition on an annotation with the value "true". */
function annotation(name: string): Pick<Consent, 'isSaidBy' | 'cel'> {
  return {
    isSaidBy: object => at(object, 'metadata', 'annotations', name) === 'true',
    cel: `VAR.metadata.?annotations['${name}'].orValue('') == 'true'`,
  };
}

const consents: readonly Consent[] = [
  {
    right: 'waive-quorum',
    effect: `allows the control plane to lose its quorum (annotation ${allowQuorumLossAnnotation})`,
    of: ['maintenances', 'nodemaintenances'],
    ...annotation(allowQuorumLossAnnotation),
  },
  {
    right: 'release-during-work',
    effect: `releases its node while the work of a MaintenancePlan runs on it (annotation ${releaseDuringWorkAnnotation})`,
    of: ['maintenances'],
    ...annotation(releaseDuringWorkAnnotation),
  },
  ...drainPlaces.flatMap(ofDrain),
  {
    right: 'declare-urgent',
    effect:
      'declares that its machine will be gone within minutes (events of kind preemption or termination), which bypasses approval, windows and limits',
    of: ['machinemaintenances'],
    isSaidBy: object =>
      listAt(object, 'spec', 'events').some(event =>
        urgentKinds.includes(at(event, 'kind') ?? null),
      ),
    cel: `VAR.?spec.?events.orValue([]).exists(event, event.kind in ['preemption', 'termination'])`,
  },
];

function agreedPart(resource: string, { spec }: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(isObject(spec) ? spec : {}).filter(([field]) => !isFreeField(resource, field)),
  );
}

function namesIn(object: JsonObject): ReadonlySet<Json | undefined> {
  return new Set(listAt(object, 'spec', 'skipNodes').map(one => at(one, 'name')));
}

/**
 * Reports whether the plan still skips all these nodes: more skipped nodes do no harm, fewer may.
 */
function skipsAsMany(object: JsonObject, before: JsonObject): boolean {
  return namesIn(before).isSubsetOf(namesIn(object));
}

function isAgreedTo(resource: string, object: JsonObject, before: JsonObject): boolean {
  return (
    sameJson(agreedPart(resource, before), agreedPart(resource, object)) &&
    skipsAsMany(object, before)
  );
}

/** A resource for which a right is checked. */
type Resource = { readonly group: string; readonly resource: string };

/**
 * Returns the rights that this write needs beside the right to make it: the previous contents, as a
 * whole, were checked earlier.
 */
export function rightsFor(
  resource: string,
  object: JsonObject,
  before: JsonObject | undefined,
): readonly Right[] {
  return consents.flatMap(({ right, of, isSaidBy }) => {
    if (!of.includes(resource) || !isSaidBy(object)) return [];
    return before !== undefined && isSaidBy(before) && isAgreedTo(resource, object, before)
      ? []
      : [right];
  });
}

/** Returns the text for a user without the right. */
export function withoutRight(right: Right, { group, resource }: Resource): string {
  const effect = consents.find(one => one.right === right)?.effect ?? '';
  return `this object ${effect}: that, and a change of what it applies to, needs the right ${right} on ${resource}.${group}, which you do not have; to check, run kubectl auth can-i ${right} ${resource}.${group}`;
}

const groups: Readonly<Record<string, readonly string[]>> = {
  'drydock.dev': ['maintenances', 'machineeventsources', 'maintenanceplans'],
  'machinemaintenance.managed.openshift.io': ['machinemaintenances'],
  'nodemaintenance.medik8s.io': ['nodemaintenances'],
  'nodemaintenance.kubevirt.io': ['nodemaintenances'],
  'kubevirt.io': ['nodemaintenances'],
};

/**
 * Returns the objects of these resources, with the defaults that the API server would fill in. It
 * treats matchConstraints as a whole when a manifest is applied, so a manifest without the defaults
 * would differ from the cluster, and be a conflict for every client except the first one that
 * applied it.
 */
function written(of: readonly string[]): JsonObject {
  return {
    matchPolicy: 'Equivalent',
    namespaceSelector: {},
    objectSelector: {},
    resourceRules: Object.entries(groups)
      .map(([group, all]) => ({ group, resources: all.filter(resource => of.includes(resource)) }))
      .filter(({ resources }) => resources.length > 0)
      .map(({ group, resources }) => ({
        apiGroups: [group],
        apiVersions: ['*'],
        operations: ['CREATE', 'UPDATE'],
        resources,
        scope: '*',
      })),
  };
}

/**
 * Returns the covered parts of an object, in CEL: every field of the spec except the free ones,
 * including fields that the kind gets later.
 */
function agreedVariables(of: readonly string[]): readonly JsonObject[] {
  return [
    { name: 'spec', expression: 'dyn(object).?spec.orValue({})' },
    {
      name: 'specBefore',
      expression: "request.operation == 'UPDATE' ? dyn(oldObject).?spec.orValue({}) : {}",
    },
    { name: 'free', expression: `${celMap(of)}[request.resource.resource]` },
  ];
}

function celMap(of: readonly string[]): string {
  return `{${of.map(resource => `'${resource}': [${(freeFields[resource] ?? []).map(field => `'${field}'`).join(', ')}]`).join(', ')}}`;
}

function unchanged(of: readonly string[]): string {
  const same =
    'variables.spec.all(field, field in variables.free || field in variables.specBefore && variables.spec[field] == variables.specBefore[field])';
  const none =
    'variables.specBefore.all(field, field in variables.free || field in variables.spec)';
  const skips =
    'variables.specBefore.?skipNodes.orValue([]).all(node, variables.spec.?skipNodes.orValue([]).exists(other, other.name == node.name))';
  return [same, none, ...(of.includes('maintenanceplans') ? [skips] : [])].join(' && ');
}

function policyFor({ right, name: suffix, of, effect, cel }: Consent): readonly JsonObject[] {
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
          {
            name: 'saidBefore',
            expression: `request.operation == 'UPDATE' && (${cel.replaceAll('VAR', 'oldObject')})`,
          },
          ...agreedVariables(of),
        ],
        validations: [
          {
            expression: `!variables.said || variables.saidBefore && ${unchanged(of)} || ${mayAsk}.check('${right}').allowed()`,
            messageExpression: `'this object ${effect}: that, and a change of what it applies to, needs the right ${right} on ' + ${onResource} + ', which you do not have; to check, run kubectl auth can-i ${right} ' + ${onResource}`,
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
}

/** Returns the policies that enforce the rights, each with its binding. */
export function consentPolicies(): readonly JsonObject[] {
  return consents.flatMap(policyFor);
}

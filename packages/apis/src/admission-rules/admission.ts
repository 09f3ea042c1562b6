import { isObject, type JsonObject } from '@drydock/apimachinery';
import { allowQuorumLossAnnotation, type QuorumRule, quorumMessage } from '@drydock/core/quorum';
import { maintenancesPath } from '@drydock/core/request';

/**
 * Definitions of the validating webhook for each served kind: its paths, its checks, and the words
 * of its denials.
 */

/**
 * Texts of a kind of which a node has one object at most. Byte for byte those of the replaced
 * operators.
 */
type NodeTexts = {
  readonly missing: (nodeName: string) => string;
  readonly unreadable: (cause: string) => string;
  readonly taken: (nodeName: string) => string;
  readonly unlistable: (cause: string) => string;
  readonly moved: string;
};

/**
 * Texts and rules for the quorum: the budget that guards etcd on OpenShift, where members are
 * counted, and the words of a denial.
 */
type QuorumTexts = {
  readonly counted: QuorumRule;
  /**
   * Guard. `any`: the budgets of namespace openshift-etcd, of which there must be one. `named`:
   * etcd-quorum-guard, if it exists.
   */
  readonly guard: 'any' | 'named';
  /** Node labels by which the rule recognizes that etcd runs there. */
  readonly labels: readonly string[];
  readonly denied: (nodeName: string) => string;
  readonly nodeUnreadable: (cause: string) => string;
  readonly guardUnreadable: (cause: string) => string;
};

/**
 * A kind for which the webhook is called: whether the user has the rights for the contents of the
 * object.
 */
export type WebhookKind = {
  /** Name of its CRD: `plural.group`. */
  readonly name: string;
  readonly kind: string;
  readonly webhook: string;
  /**
   * Paths of the webhook; the first is in our own configuration, the others in those of the
   * replaced operators.
   */
  readonly paths: readonly [string, ...string[]];
  readonly group: string;
  readonly versions: readonly string[];
  readonly resource: string;
};

/**
 * A kind of maintenances of nodes: the node, and the quorum of the control plane, are checked as
 * well.
 */
export type AdmissionKind = WebhookKind & {
  /**
   * Collections for the whole cluster. They contain the same objects: the first that is served is
   * read.
   */
  readonly collections: readonly string[];
  /** Function that returns the name of the node; empty if the object names none. */
  readonly nodeNameOf: (object: JsonObject) => string;
  /**
   * Function that reports whether the object keeps, or will take, its node out of service. An
   * object that is being deleted does so until it is gone.
   */
  readonly wants: (object: JsonObject) => boolean;
  /**
   * Texts about the node; missing if several objects on one node are allowed and a missing node is
   * reported in the status.
   */
  readonly node?: NodeTexts;
  readonly quorum: QuorumTexts;
};

const seedTexts: NodeTexts = {
  missing: nodeName => `invalid nodeName, no node with name ${nodeName} found`,
  unreadable: cause =>
    `could not get node for validating spec.NodeName, please try again: could not get node: ${cause}`,
  taken: nodeName => `invalid nodeName, a NodeMaintenance for node ${nodeName} already exists`,
  unlistable: cause =>
    `could not list NodeMaintenances for validating spec.NodeName, please try again: ${cause}`,
  moved: "updating spec.NodeName isn't allowed",
};

const medik8sQuorum: QuorumTexts = {
  counted: 'on OpenShift',
  guard: 'any',
  labels: ['node-role.kubernetes.io/master', 'node-role.kubernetes.io/control-plane'],
  denied: quorumMessage,
  nodeUnreadable: cause =>
    `could not get node for master/control-plane quorum validation, please try again: ${cause}`,
  guardUnreadable: cause => cause,
};

const kubevirtQuorum: QuorumTexts = {
  counted: 'on OpenShift',
  guard: 'named',
  labels: ['node-role.kubernetes.io/master'],
  denied: () =>
    'can not put master node into maintenance at this moment, it would violate the master quorum',
  nodeUnreadable: cause =>
    `could not get node for master quorum validation, please try again: ${cause}`,
  guardUnreadable: cause =>
    `could not get etcd-quorum-guard PDB for master quorum validation, please try again: ${cause}`,
};

function textAt(object: JsonObject, part: string, field: string): string {
  const inner = object[part];
  const value = isObject(inner) ? inner[field] : undefined;
  return typeof value === 'string' ? value : '';
}

function specNode(object: JsonObject): string {
  return textAt(object, 'spec', 'nodeName');
}

const nodeMaintenance = {
  kind: 'NodeMaintenance',
  resource: 'nodemaintenances',
  nodeNameOf: specNode,
  wants: () => true,
  node: seedTexts,
} as const;

const kinds: readonly AdmissionKind[] = [
  {
    ...nodeMaintenance,
    name: 'nodemaintenances.nodemaintenance.medik8s.io',
    webhook: 'vnodemaintenance.kb.io',
    paths: ['/validate-nodemaintenance-medik8s-io-v1beta1-nodemaintenance'],
    group: 'nodemaintenance.medik8s.io',
    versions: ['v1beta1'],
    collections: ['/apis/nodemaintenance.medik8s.io/v1beta1/nodemaintenances'],
    quorum: medik8sQuorum,
  },
  {
    ...nodeMaintenance,
    name: 'nodemaintenances.nodemaintenance.kubevirt.io',
    webhook: 'vnodemaintenance.kubevirt.kb.io',
    paths: [
      '/validate-nodemaintenance-kubevirt-io-v1beta1-nodemaintenance',
      // The operator before v0.11.
      '/validate-nodemaintenance-kubevirt-io-v1beta1-nodemaintenances',
    ],
    group: 'nodemaintenance.kubevirt.io',
    versions: ['v1beta1'],
    collections: ['/apis/nodemaintenance.kubevirt.io/v1beta1/nodemaintenances'],
    quorum: kubevirtQuorum,
  },
  {
    ...nodeMaintenance,
    name: 'nodemaintenances.kubevirt.io',
    webhook: 'vnodemaintenance.v1alpha.kubevirt.kb.io',
    paths: ['/validate-kubevirt-io-nodemaintenance'],
    group: 'kubevirt.io',
    versions: ['v1alpha1', 'v1alpha3'],
    collections: [
      '/apis/kubevirt.io/v1alpha1/nodemaintenances',
      '/apis/kubevirt.io/v1alpha3/nodemaintenances',
    ],
    // v1alpha3 has no spec.nodeName: there the object is named after its node.
    nodeNameOf: object => specNode(object) || textAt(object, 'metadata', 'name'),
    quorum: medik8sQuorum,
  },
  {
    name: 'maintenances.drydock.dev',
    kind: 'Maintenance',
    webhook: 'vmaintenance.drydock.dev',
    paths: ['/validate-drydock-dev-v1alpha1-maintenance'],
    group: 'drydock.dev',
    versions: ['v1alpha1'],
    resource: 'maintenances',
    collections: [maintenancesPath],
    nodeNameOf: specNode,
    wants: object =>
      textAt(object, 'spec', 'level') !== 'Announce' &&
      textAt(object, 'status', 'failure') !== 'Released',
    quorum: { ...medik8sQuorum, counted: 'everywhere' },
  },
];

/** Returns every kind of maintenances of nodes. */
export function admissionKinds(): readonly AdmissionKind[] {
  return kinds;
}

/** Kinds for which only the rights of the user are checked. */
const consentKinds: readonly WebhookKind[] = [
  {
    name: 'machinemaintenances.machinemaintenance.managed.openshift.io',
    kind: 'MachineMaintenance',
    webhook: 'vmachinemaintenance.drydock.dev',
    paths: ['/validate-machinemaintenance-managed-openshift-io-v1alpha1-machinemaintenance'],
    group: 'machinemaintenance.managed.openshift.io',
    versions: ['v1alpha1'],
    resource: 'machinemaintenances',
  },
  {
    name: 'machineeventsources.drydock.dev',
    kind: 'MachineEventSource',
    webhook: 'vmachineeventsource.drydock.dev',
    paths: ['/validate-drydock-dev-v1alpha1-machineeventsource'],
    group: 'drydock.dev',
    versions: ['v1alpha1'],
    resource: 'machineeventsources',
  },
];

/**
 * Kind of plans, for which the webhook checks whether the plan can be carried out at all, and the
 * rights of the user.
 */
const planKind: WebhookKind = {
  name: 'maintenanceplans.drydock.dev',
  kind: 'MaintenancePlan',
  webhook: 'vmaintenanceplan.drydock.dev',
  paths: ['/validate-drydock-dev-v1alpha1-maintenanceplan'],
  group: 'drydock.dev',
  versions: ['v1alpha1'],
  resource: 'maintenanceplans',
};

/** Returns every kind for which the webhook is called. */
export function webhookKinds(): readonly WebhookKind[] {
  return [...kinds, ...consentKinds, planKind];
}

export function isPlanKind({ name }: WebhookKind): boolean {
  return name === planKind.name;
}

export function isAdmissionKind(kind: WebhookKind): kind is AdmissionKind {
  return 'wants' in kind;
}

/**
 * An entry of a ValidatingWebhookConfiguration (admissionregistration.k8s.io/v1), without the
 * address at which it is served.
 */
export type WebhookEntry = {
  readonly name: string;
  /** Path of the URL; it goes into clientConfig.service.path or to the end of clientConfig.url. */
  readonly path: string;
  readonly rules: readonly {
    readonly apiGroups: readonly string[];
    readonly apiVersions: readonly string[];
    readonly operations: readonly ('CREATE' | 'UPDATE')[];
    readonly resources: readonly string[];
    readonly scope: '*';
  }[];
  readonly failurePolicy: 'Fail';
  readonly matchPolicy: 'Equivalent';
  readonly sideEffects: 'NoneOnDryRun';
  readonly timeoutSeconds: number;
  readonly admissionReviewVersions: readonly ['v1', 'v1beta1'];
  readonly matchConditions: readonly { readonly name: string; readonly expression: string }[];
};

const specChanged =
  "request.operation != 'UPDATE' || has(object.spec) != has(oldObject.spec) || (has(object.spec) && object.spec != oldObject.spec)";

function waives(object: string): string {
  return `has(${object}.metadata.annotations) && '${allowQuorumLossAnnotation}' in ${object}.metadata.annotations && ${object}.metadata.annotations['${allowQuorumLossAnnotation}'] == 'true'`;
}

/**
 * Condition that lets writes of finalizers, labels and other annotations pass without the webhook.
 */
const ofNodes = {
  name: 'spec-is-new-or-changed-or-quorum-is-waived',
  expression: `${specChanged} || (${waives('object')} && !(${waives('oldObject')}))`,
};

/**
 * Returns the conditions for MachineMaintenances, which the operator updates all the time: the
 * webhook is called only for writes that may need a right of their own, and never for the
 * operator's.
 */
function ofMachines(asksForMore: string): WebhookEntry['matchConditions'] {
  return [
    {
      name: 'not-by-the-operator',
      expression: "request.userInfo.username != 'system:serviceaccount:drydock-system:drydock'",
    },
    {
      name: 'spec-is-new-or-changed-and-asks-for-more',
      expression: `(${specChanged}) && has(object.spec) && (${asksForMore})`,
    },
  ];
}

const drains = 'has(object.spec.drain)';
const isUrgent =
  "has(object.spec.events) && object.spec.events.exists(event, event.kind == 'preemption' || event.kind == 'termination')";

/**
 * Parts of a plan that have expressions, or that need a right: to pause, limit or end a plan does
 * not need the webhook.
 */
const partsOfPlan = [
  'due',
  'done',
  'order.?expression',
  'work',
  'gates',
  'rollback',
  'direction',
  'template',
];

const ofPlans = {
  name: 'plan-is-new-or-its-expressions-changed',
  expression: `request.operation != 'UPDATE' || ${partsOfPlan.map(part => `object.?spec.?${part} != oldObject.?spec.?${part}`).join(' || ')}`,
};

function conditionsFor(kind: WebhookKind): WebhookEntry['matchConditions'] {
  if (isAdmissionKind(kind)) return [ofNodes];
  if (isPlanKind(kind)) return [ofPlans];
  return ofMachines(kind.resource === 'machinemaintenances' ? `${drains} || ${isUrgent}` : drains);
}

/**
 * Seconds for which the API server waits for a response: a create hangs that long if the node of
 * the connected replica has just lost power.
 */
export const webhookTimeoutSeconds = 5;

/** Returns the webhooks, one for each kind: the source of the manifests. */
export function webhooks(): readonly WebhookEntry[] {
  return webhookKinds().map(kind => ({
    name: kind.webhook,
    path: kind.paths[0],
    rules: [
      {
        apiGroups: [kind.group],
        apiVersions: kind.versions,
        operations: ['CREATE', 'UPDATE'],
        resources: [kind.resource],
        scope: '*',
      },
    ],
    failurePolicy: 'Fail',
    matchPolicy: 'Equivalent',
    sideEffects: 'NoneOnDryRun',
    timeoutSeconds: webhookTimeoutSeconds,
    admissionReviewVersions: ['v1', 'v1beta1'],
    matchConditions: conditionsFor(kind),
  }));
}

/** Address of a webhook for the API server: a Service, or a URL. */
export type ClientConfig =
  | {
      readonly service: {
        readonly name: string;
        readonly namespace: string;
        readonly path: string;
        readonly port: number;
      };
      readonly caBundle?: string;
    }
  | { readonly url: string; readonly caBundle?: string };

/**
 * Returns the ValidatingWebhookConfiguration with all webhooks; `clientConfig` returns the address
 * of each path.
 */
export function webhookConfiguration(
  clientConfig: (path: string) => ClientConfig,
  name = 'drydock',
): JsonObject {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name },
    webhooks: webhooks().map(({ path, name, ...entry }) => ({
      name,
      clientConfig: clientConfig(path),
      ...entry,
    })),
  };
}

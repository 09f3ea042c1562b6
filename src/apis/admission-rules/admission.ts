import { isObject, type JsonObject } from '../../core/json.ts';
import { allowQuorumLossAnnotation, type QuorumRule, quorumMessage } from '../../core/quorum/quorum.ts';
import { maintenancesPath } from '../../core/request/request.ts';

/** What the validating webhook is for each served kind: where it is asked, what it asks about, and in whose words it says no. */

/** The words of a kind of which a node has one object at most. Byte for byte those of the operators that are replaced. */
type NodeTexts = {
  readonly missing: (nodeName: string) => string;
  readonly unreadable: (cause: string) => string;
  readonly taken: (nodeName: string) => string;
  readonly unlistable: (cause: string) => string;
  readonly moved: string;
};

/** Which budget guards etcd on OpenShift, where the members are counted, and the words of a no. */
type QuorumTexts = {
  readonly counted: QuorumRule;
  /** `any`: the budgets of namespace openshift-etcd, of which there must be one. `named`: etcd-quorum-guard, if there is one. */
  readonly guard: 'any' | 'named';
  /** The node label by which the rule knows that etcd runs there. */
  readonly labels: readonly string[];
  readonly denied: (nodeName: string) => string;
  readonly nodeUnreadable: (cause: string) => string;
  readonly guardUnreadable: (cause: string) => string;
};

/** A kind of which the webhook is asked: whether somebody may say what he says there. */
export type WebhookKind = {
  /** `plural.group`, the name of its CRD. */
  readonly name: string;
  readonly kind: string;
  readonly webhook: string;
  /** Where it is asked; the first is in our own configuration, the others in those of the operators that are replaced. */
  readonly paths: readonly [string, ...string[]];
  readonly group: string;
  readonly versions: readonly string[];
  readonly resource: string;
};

/** A kind of maintenances of nodes: the node, and the quorum of the control plane, have a say as well. */
export type AdmissionKind = WebhookKind & {
  /** Collections for the whole cluster. They hold the same objects: the first that is served is read. */
  readonly collections: readonly string[];
  /** Empty when the object names none. */
  readonly nodeNameOf: (object: JsonObject) => string;
  /** The object keeps, or will take, its node out of service. One that is being deleted does so until it is gone. */
  readonly wants: (object: JsonObject) => boolean;
  /** Missing where several objects on one node are fine and a missing node is reported in the status. */
  readonly node?: NodeTexts;
  readonly quorum: QuorumTexts;
};

const seedTexts: NodeTexts = {
  missing: nodeName => `invalid nodeName, no node with name ${nodeName} found`,
  unreadable: cause => `could not get node for validating spec.NodeName, please try again: could not get node: ${cause}`,
  taken: nodeName => `invalid nodeName, a NodeMaintenance for node ${nodeName} already exists`,
  unlistable: cause => `could not list NodeMaintenances for validating spec.NodeName, please try again: ${cause}`,
  moved: "updating spec.NodeName isn't allowed",
};

const medik8sQuorum: QuorumTexts = {
  counted: 'on OpenShift',
  guard: 'any',
  labels: ['node-role.kubernetes.io/master', 'node-role.kubernetes.io/control-plane'],
  denied: quorumMessage,
  nodeUnreadable: cause => `could not get node for master/control-plane quorum validation, please try again: ${cause}`,
  guardUnreadable: cause => cause,
};

const kubevirtQuorum: QuorumTexts = {
  counted: 'on OpenShift',
  guard: 'named',
  labels: ['node-role.kubernetes.io/master'],
  denied: () => 'can not put master node into maintenance at this moment, it would violate the master quorum',
  nodeUnreadable: cause => `could not get node for master quorum validation, please try again: ${cause}`,
  guardUnreadable: cause => `could not get etcd-quorum-guard PDB for master quorum validation, please try again: ${cause}`,
};

const textAt = (object: JsonObject, part: string, field: string): string => {
  const inner = object[part];
  const value = isObject(inner) ? inner[field] : undefined;
  return typeof value === 'string' ? value : '';
};

const specNode = (object: JsonObject): string => textAt(object, 'spec', 'nodeName');

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
    collections: ['/apis/kubevirt.io/v1alpha1/nodemaintenances', '/apis/kubevirt.io/v1alpha3/nodemaintenances'],
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
    wants: object => textAt(object, 'spec', 'stage') !== 'Announce' && textAt(object, 'status', 'failure') !== 'GivenBack',
    quorum: { ...medik8sQuorum, counted: 'everywhere' },
  },
];

/** Every kind of maintenances of nodes. */
export const admissionKinds = (): readonly AdmissionKind[] => kinds;

/** Kinds of which only the rights of whoever writes them are asked. */
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

/** Whether a plan can be carried out at all is asked of it, and the rights of whoever writes it. */
const planKind: WebhookKind = {
  name: 'maintenanceplans.drydock.dev',
  kind: 'MaintenancePlan',
  webhook: 'vmaintenanceplan.drydock.dev',
  paths: ['/validate-drydock-dev-v1alpha1-maintenanceplan'],
  group: 'drydock.dev',
  versions: ['v1alpha1'],
  resource: 'maintenanceplans',
};

/** Every kind that the webhook is asked about. */
export const webhookKinds = (): readonly WebhookKind[] => [...kinds, ...consentKinds, planKind];

export const isPlanKind = ({ name }: WebhookKind): boolean => name === planKind.name;

export const isAdmissionKind = (kind: WebhookKind): kind is AdmissionKind => 'wants' in kind;

/** One entry of a ValidatingWebhookConfiguration (admissionregistration.k8s.io/v1), without the address at which it is served. */
export type WebhookEntry = {
  readonly name: string;
  /** Of the URL; it goes into clientConfig.service.path or at the end of clientConfig.url. */
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

const waives = (object: string): string =>
  `has(${object}.metadata.annotations) && '${allowQuorumLossAnnotation}' in ${object}.metadata.annotations && ${object}.metadata.annotations['${allowQuorumLossAnnotation}'] == 'true'`;

/** Finalizers, labels and other annotations are nobody's business: those writes do not need the webhook to be up. */
const ofNodes = {
  name: 'spec-is-new-or-changed-or-quorum-is-waived',
  expression: `${specChanged} || (${waives('object')} && !(${waives('oldObject')}))`,
};

/** The operator keeps MachineMaintenances up to date all the time: only what may need a right of its own needs the webhook, and nothing of the operator's. */
const ofMachines = (asksForMore: string): WebhookEntry['matchConditions'] => [
  { name: 'not-by-the-operator', expression: "request.userInfo.username != 'system:serviceaccount:drydock-system:drydock'" },
  { name: 'spec-is-new-or-changed-and-asks-for-more', expression: `(${specChanged}) && has(object.spec) && (${asksForMore})` },
];

const drains = 'has(object.spec.drain)';
const isUrgent = "has(object.spec.events) && object.spec.events.exists(event, event.kind == 'preemption' || event.kind == 'termination')";

/** The parts of a plan that have expressions, or that need a right: pausing, limiting and ending a plan does not need the webhook to be up. */
const partsOfPlan = ['due', 'done', 'order.?expression', 'work', 'gates', 'rollback', 'undo', 'template'];

const ofPlans = {
  name: 'plan-is-new-or-its-expressions-changed',
  expression: `request.operation != 'UPDATE' || ${partsOfPlan.map(part => `object.?spec.?${part} != oldObject.?spec.?${part}`).join(' || ')}`,
};

const conditionsFor = (kind: WebhookKind): WebhookEntry['matchConditions'] => {
  if (isAdmissionKind(kind)) return [ofNodes];
  if (isPlanKind(kind)) return [ofPlans];
  return ofMachines(kind.resource === 'machinemaintenances' ? `${drains} || ${isUrgent}` : drains);
};

/**
 * For so long the API server waits for an answer, and so long a create hangs while the node of the replica that it is connected to has just lost power.
 */
export const webhookTimeoutSeconds = 5;

/** The webhooks, one a kind: the source of the manifests. */
export const webhooks = (): readonly WebhookEntry[] =>
  webhookKinds().map(kind => ({
    name: kind.webhook,
    path: kind.paths[0],
    rules: [
      { apiGroups: [kind.group], apiVersions: kind.versions, operations: ['CREATE', 'UPDATE'], resources: [kind.resource], scope: '*' },
    ],
    failurePolicy: 'Fail',
    matchPolicy: 'Equivalent',
    sideEffects: 'NoneOnDryRun',
    timeoutSeconds: webhookTimeoutSeconds,
    admissionReviewVersions: ['v1', 'v1beta1'],
    matchConditions: conditionsFor(kind),
  }));

/** Where the API server finds a webhook: by a Service, or by a URL. */
export type ClientConfig =
  | {
      readonly service: { readonly name: string; readonly namespace: string; readonly path: string; readonly port: number };
      readonly caBundle?: string;
    }
  | { readonly url: string; readonly caBundle?: string };

/** The ValidatingWebhookConfiguration with all webhooks; `clientConfig` is asked for the address of each path. */
export const webhookConfiguration = (clientConfig: (path: string) => ClientConfig, name = 'drydock'): JsonObject => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name },
  webhooks: webhooks().map(({ path, name, ...entry }) => ({ name, clientConfig: clientConfig(path), ...entry })),
});

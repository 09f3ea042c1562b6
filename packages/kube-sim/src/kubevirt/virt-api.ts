import { isObject, type JsonObject } from '@drydock/apimachinery';
import { type ApiRequest, answer, failed, plain, type Response } from '../api/message.ts';
import { writesOn } from '../controllers/runner.ts';
import { badRequest, internalError, notFound } from '../failure.ts';
import { at, objects, part, type Stored, strings, text, without } from '../object.ts';
import type { RegistryContext } from '../registry/metadata.ts';
import {
  annotations,
  apiVersion,
  conditionOf,
  drainTaint,
  group,
  hasDrainTaint,
  home,
  instances,
  isMigratable,
  isUnfinished,
  labels,
  markOf,
  migrationsOf,
  nodeOf,
  strategyOf,
} from './words.ts';

/** CRDs of KubeVirt for the simulation: fields are free, subresources are the real ones. */

function column(name: string, type: string, jsonPath: string): JsonObject {
  return { name, type, jsonPath };
}

const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

type Kind = {
  readonly kind: string;
  readonly shortNames: readonly string[];
  readonly hasStatus: boolean;
  readonly columns: readonly JsonObject[];
};

const age = column('Age', 'date', '.metadata.creationTimestamp');
const phase = column('Phase', 'string', '.status.phase');
const ready = column('Ready', 'string', ".status.conditions[?(@.type=='Ready')].status");

const kinds: readonly Kind[] = [
  { kind: 'KubeVirt', shortNames: ['kv', 'kvs'], hasStatus: true, columns: [age, phase] },
  {
    kind: 'VirtualMachine',
    shortNames: ['vm', 'vms'],
    hasStatus: true,
    columns: [age, column('Status', 'string', '.status.printableStatus'), ready],
  },
  {
    kind: 'VirtualMachineInstance',
    shortNames: ['vmi', 'vmis'],
    // As in the real one, the status is written with the object.
    hasStatus: false,
    columns: [age, phase, column('NodeName', 'string', '.status.nodeName'), ready],
  },
  {
    kind: 'VirtualMachineInstanceMigration',
    shortNames: ['vmim', 'vmims'],
    hasStatus: true,
    columns: [phase, column('VMI', 'string', '.spec.vmiName')],
  },
];

function definition({ kind, shortNames, hasStatus, columns }: Kind): JsonObject {
  const plural = `${kind.toLowerCase()}s`;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase(), shortNames },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: { type: 'object', properties: { spec: anything, status: anything } },
          },
          ...(hasStatus && { subresources: { status: {} } }),
          additionalPrinterColumns: columns,
        },
      ],
    },
  };
}

/** Paths of the simulated virt-api's webhooks. */
const paths = {
  eviction: '/pod-eviction-validate',
  migration: '/migration-validate-create',
} as const;

function webhook(name: string, path: string, rule: JsonObject, more: JsonObject): JsonObject {
  return {
    name,
    clientConfig: { service: { namespace: home, name: 'virt-api', path, port: 443 } },
    rules: [rule],
    failurePolicy: 'Fail',
    timeoutSeconds: 10,
    admissionReviewVersions: ['v1'],
    ...more,
  };
}

const webhooks: JsonObject = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: 'virt-api-validator' },
  webhooks: [
    webhook(
      'virt-launcher-eviction-interceptor.kubevirt.io',
      paths.eviction,
      { operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods/eviction'] },
      {
        sideEffects: 'NoneOnDryRun',
        matchConditions: [
          { name: 'only-vms', expression: 'object.metadata.name.startsWith("virt-launcher")' },
        ],
      },
    ),
    webhook(
      'migration-create-validator.kubevirt.io',
      paths.migration,
      {
        operations: ['CREATE'],
        apiGroups: [group],
        apiVersions: ['v1'],
        resources: ['virtualmachineinstancemigrations'],
      },
      { sideEffects: 'None' },
    ),
  ],
};

/** CRDs to create before the controllers start. */
export const kubeVirtDefinitions: readonly JsonObject[] = kinds.map(definition);

/**
 * Objects that virt-operator leaves in a cluster beside the CRDs: to be created after them, as an
 * administrator would.
 */
export function kubeVirtObjects(
  configuration: JsonObject = { evictionStrategy: 'LiveMigrate' },
): readonly JsonObject[] {
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: home } },
    {
      apiVersion,
      kind: 'KubeVirt',
      metadata: { name: 'kubevirt', namespace: home },
      spec: { configuration },
      status: { phase: 'Deployed' },
    },
    webhooks,
  ];
}

/**
 * Responses of virt-api, word for word: evictions of launchers, new migrations, and cancelled
 * evacuations.
 */

type ReviewResult =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'denied'; readonly code: number; readonly message: string };

const allowed: ReviewResult = { kind: 'allowed' };
function denied(code: number, message: string): ReviewResult {
  return { kind: 'denied', code, message };
}

function setMark(registry: RegistryContext, vmi: Stored, node: string | undefined): boolean {
  const status = without({ ...part(vmi, 'status'), evacuationNodeName: node });
  return writesOn(registry).update(instances, { ...vmi, status }).kind === 'stored';
}

/**
 * Returns KubeVirt's response to an eviction: `mark` has the VM migrated, `allow` leaves the pod to
 * the API server.
 */
function verdictOn({ store }: RegistryContext, vmi: Stored): 'mark' | 'allow' | 'refuse' {
  const strategy = strategyOf(store, vmi);
  if (strategy === 'External') return 'mark';
  if (strategy === 'LiveMigrate') return isMigratable(vmi) ? 'mark' : 'refuse';
  return strategy === 'LiveMigrateIfPossible' && isMigratable(vmi) ? 'mark' : 'allow';
}

/** Upstream: pkg/virt-api/webhooks/validating-webhook/admitters/pod-eviction-admitter.go. */
function eviction(registry: RegistryContext, request: JsonObject): ReviewResult {
  const namespace = text(request, 'namespace');
  const pod = registry.store.get('pods', namespace, text(request, 'name'));
  const isLauncher = strings(pod?.metadata.labels)[labels.launcher] === 'virt-launcher';
  if (
    pod === undefined ||
    !isLauncher ||
    ['Succeeded', 'Failed'].includes(text(pod, 'status', 'phase'))
  )
    return allowed;
  const vmi = registry.store.get(
    instances,
    namespace,
    strings(pod.metadata.annotations)[annotations.domain] ?? '',
  );
  if (vmi === undefined) return allowed;
  const { name } = vmi.metadata;
  const verdict = verdictOn(registry, vmi);
  if (verdict === 'allow') return allowed;
  if (verdict === 'refuse')
    return denied(
      429,
      `VMI ${name} is configured with an eviction strategy but is not live-migratable`,
    );
  const triggered = `Eviction triggered evacuation of VMI "${namespace}/${name}"`;
  if (markOf(vmi) !== '') return denied(429, `Evacuation in progress: ${triggered}`);
  if (text(pod, 'spec', 'nodeName') !== nodeOf(vmi))
    return denied(429, 'Eviction request for target Pod');
  if (at(request, 'dryRun') !== true) setMark(registry, vmi, nodeOf(vmi));
  return denied(429, triggered);
}

/** Upstream: admitters/migration-create-admitter.go. */
function migration({ store }: RegistryContext, request: JsonObject): ReviewResult {
  const namespace = text(request, 'namespace');
  const name = text(request, 'object', 'spec', 'vmiName');
  const vmi = store.get(instances, namespace, name);
  if (vmi === undefined) return denied(400, `the VMI "${namespace}/${name}" does not exist`);
  if (['Succeeded', 'Failed'].includes(text(vmi, 'status', 'phase')))
    return denied(400, 'Cannot migrate VMI in finalized state.');
  const condition = conditionOf(vmi, 'LiveMigratable');
  if (condition?.['status'] === 'False')
    return denied(
      400,
      `Cannot migrate VMI, Reason: ${text(condition, 'reason')}, Message: ${text(condition, 'message')}`,
    );
  const [other] = migrationsOf(store, vmi).filter(isUnfinished);
  if (other === undefined) return allowed;
  const job = `Active migration job (${other.metadata.uid}) is currently already in progress for VMI ${name}.`;
  return denied(400, `in-flight migration detected. ${job}`);
}

/** Handles an AdmissionReview. */
export function review(registry: RegistryContext, path: string, asked: JsonObject): JsonObject {
  const request = part(asked, 'request');
  const verdict =
    path === paths.eviction
      ? eviction(registry, request)
      : path === paths.migration
        ? migration(registry, request)
        : allowed;
  const { uid } = request;
  const response =
    verdict.kind === 'allowed'
      ? { uid, allowed: true }
      : { uid, allowed: false, status: { code: verdict.code, message: verdict.message } };
  return { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response };
}

const cancelPath =
  /^\/apis\/subresources\.kubevirt\.io\/v1\/namespaces\/([^/]+)\/virtualmachineinstances\/([^/]+)\/evacuate\/cancel$/;

function rejected(): Response {
  return failed(internalError('the server rejected our request due to an error in our request'));
}
const nothing: Response = plain(200, '');

function cancel(
  registry: RegistryContext,
  namespace: string,
  name: string,
  { body }: ApiRequest,
): Response {
  const vmi = registry.store.get(instances, namespace, name);
  if (vmi === undefined)
    return failed(notFound({ group: 'kubevirt.io', resource: 'virtualmachineinstance' }, name));
  const mark = markOf(vmi);
  if (mark === '') return nothing;
  const node = registry.store.get('nodes', '', mark);
  if (node !== undefined && hasDrainTaint(node)) {
    const taint = objects(at(node, 'spec', 'taints')).find(({ key }) => key === drainTaint);
    const shown = `&Taint{Key:${drainTaint},Value:${text(taint, 'value')},Effect:NoSchedule,TimeAdded:<nil>,}`;
    return failed(badRequest(`Node "${mark}" has NodeDrainTaintKey "${shown}"`));
  }
  const options = body.kind === 'json' && isObject(body.value) ? body.value : {};
  if (options['evacuationNodeName'] !== mark) return rejected();
  if (!listed(options['dryRun']).includes('All')) setMark(registry, vmi, undefined);
  return nothing;
}

function listed(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

/**
 * Returns whether the client accepts an empty response, which is the response to a success; a
 * specific media type excludes it.
 */
function acceptsNothing(accept: string): boolean {
  return accept === '' || accept.includes('*/*');
}

/** Handles requests for the group subresources.kubevirt.io. */
export function serve(registry: RegistryContext, request: ApiRequest): Response {
  const path = request.path.replace(/\/$/, '');
  if (path === '/apis/subresources.kubevirt.io/v1/healthz')
    return answer({ apiserver: { connectivity: 'ok' } });
  const found = cancelPath.exec(path);
  if (found === null) return plain(404, '404: Page Not Found');
  if (request.method !== 'PUT') return plain(405, '405: Method Not Allowed');
  if (!acceptsNothing(request.accept))
    return plain(406, '406: Not Acceptable\n\nAvailable representations: ');
  return cancel(
    registry,
    decodeURIComponent(found[1] ?? ''),
    decodeURIComponent(found[2] ?? ''),
    request,
  );
}

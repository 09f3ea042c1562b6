import type { JsonObject } from '@drydock/apimachinery';
import { type AdmissionKind, admissionKinds } from '@drydock/apis/admission-rules';
import type { Review } from '../review.ts';

/** Objects and requests for tests. */

function kindOf(name: string): AdmissionKind {
  const found = admissionKinds().find(kind => kind.name === name);
  if (found === undefined) throw new Error(`no kind ${name}`);
  return found;
}

export const medik8s = kindOf('nodemaintenances.nodemaintenance.medik8s.io');
export const kubevirt = kindOf('nodemaintenances.nodemaintenance.kubevirt.io');
export const alpha = kindOf('nodemaintenances.kubevirt.io');
export const maintenance = kindOf('maintenances.drydock.dev');

export const own = 'drydock-system';
export const leases = `/apis/coordination.k8s.io/v1/namespaces/${own}/leases`;
export const budgets = '/apis/policy/v1/namespaces/openshift-etcd/poddisruptionbudgets';
export const guards = '/api/v1/namespaces/openshift-etcd/pods';

/** Collections that every test's server serves. */
export const collections: readonly string[] = [
  '/api/v1/nodes',
  leases,
  budgets,
  guards,
  ...admissionKinds().flatMap(({ collections: [first] }) => first ?? []),
];

export const controlPlane = { 'node-role.kubernetes.io/control-plane': '' };

export function node(
  name: string,
  labels: Readonly<Record<string, string>> = {},
  ready = 'True',
): JsonObject {
  return {
    metadata: { name, uid: `uid-${name}`, labels },
    status: { conditions: [{ type: 'Ready', status: ready }] },
  };
}

/** An object as the webhook sees it: the API server has given it its uid by then. */
export function object(
  name: string,
  nodeName: string,
  over: JsonObject = {},
  metadata: JsonObject = {},
): JsonObject {
  return {
    metadata: { name, uid: `uid-${name}`, generation: 1, ...metadata },
    spec: { nodeName, ...over },
  };
}

export function nameOf({ metadata }: JsonObject): string {
  return (metadata as { readonly name: string }).name;
}

export function pathOf(kind: AdmissionKind, name: string): string {
  return `${kind.collections[0]}/${name}`;
}

export function review(
  kind: AdmissionKind,
  operation: string,
  given: Partial<Review> = {},
): Review {
  return {
    apiVersion: 'admission.k8s.io/v1',
    uid: 'request',
    operation,
    kind: kind.kind,
    version: kind.versions[0] ?? '',
    namespace: '',
    user: { username: 'ann', groups: ['system:authenticated'] },
    subresource: '',
    dryRun: false,
    ...given,
  };
}

export function creation(
  kind: AdmissionKind,
  created: JsonObject,
  given: Partial<Review> = {},
): Review {
  return review(kind, 'CREATE', { object: created, ...given });
}

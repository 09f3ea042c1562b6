import type { JsonObject } from '@drydock/apimachinery';

/**
 * Roles without which only an administrator has any access. Upstream:
 * plugin/pkg/auth/authorizer/rbac/bootstrappolicy.
 */

const rbac = 'rbac.authorization.k8s.io';
const health = ['/healthz', '/livez', '/readyz', '/version', '/version/'];

function role(name: string, rules: readonly JsonObject[]): JsonObject {
  return {
    metadata: { name, labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults' } },
    rules,
  };
}

function binding(name: string, ...groups: readonly string[]): JsonObject {
  return {
    metadata: { name, labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults' } },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name },
    subjects: groups.map(group => ({ kind: 'Group', apiGroup: rbac, name: group })),
  };
}

const everything = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];
const discovery = {
  verbs: ['get'],
  nonResourceURLs: [...health, '/api', '/api/*', '/apis', '/apis/*', '/openapi', '/openapi/*'],
};

/** Roles and bindings, by resource. */
export const firstRoles: readonly (readonly [resource: string, object: JsonObject])[] = [
  [`clusterroles.${rbac}`, role('cluster-admin', everything)],
  [`clusterroles.${rbac}`, role('system:discovery', [discovery])],
  [
    `clusterroles.${rbac}`,
    role('system:public-info-viewer', [{ verbs: ['get'], nonResourceURLs: health }]),
  ],
  [`clusterrolebindings.${rbac}`, binding('cluster-admin', 'system:masters')],
  [`clusterrolebindings.${rbac}`, binding('system:discovery', 'system:authenticated')],
  [
    `clusterrolebindings.${rbac}`,
    binding('system:public-info-viewer', 'system:authenticated', 'system:unauthenticated'),
  ],
];

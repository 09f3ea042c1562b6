/**
 * The definitions that the embedded API server serves or reads, by their names in the API server's
 * own document.
 */
export const roots: readonly string[] = [
  ...[
    'Binding',
    'ConfigMap',
    'Event',
    'Namespace',
    'Node',
    'PersistentVolume',
    'PersistentVolumeClaim',
    'Pod',
    'Secret',
    'ServiceAccount',
  ].map(kind => `io.k8s.api.core.v1.${kind}`),
  ...['ControllerRevision', 'DaemonSet', 'Deployment', 'ReplicaSet', 'StatefulSet'].map(
    kind => `io.k8s.api.apps.v1.${kind}`,
  ),
  ...['ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding'].map(
    kind => `io.k8s.api.rbac.v1.${kind}`,
  ),
  'io.k8s.api.batch.v1.Job',
  'io.k8s.api.autoscaling.v1.Scale',
  'io.k8s.api.policy.v1.PodDisruptionBudget',
  'io.k8s.api.policy.v1.Eviction',
  'io.k8s.api.coordination.v1.Lease',
  'io.k8s.api.scheduling.v1.PriorityClass',
  'io.k8s.api.storage.v1.VolumeAttachment',
  ...[
    'ValidatingWebhookConfiguration',
    'ValidatingAdmissionPolicy',
    'ValidatingAdmissionPolicyBinding',
  ].map(kind => `io.k8s.api.admissionregistration.v1.${kind}`),
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition',
  'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions',
  'io.k8s.api.authorization.v1.SubjectAccessReview',
];

/**
 * Collections that Drydock itself uses, by group: each is a value of a metric label. Authors of
 * plans may name any other collection in a gate.
 */
const known: Readonly<Record<string, string>> = {
  '': 'bindings configmaps events namespaces nodes persistentvolumeclaims persistentvolumes pods secrets serviceaccounts services',
  'admissionregistration.k8s.io':
    'validatingadmissionpolicies validatingadmissionpolicybindings validatingwebhookconfigurations',
  'apiextensions.k8s.io': 'customresourcedefinitions',
  apps: 'daemonsets deployments replicasets statefulsets',
  'authentication.k8s.io': 'tokenreviews',
  'authorization.k8s.io': 'selfsubjectaccessreviews selfsubjectrulesreviews subjectaccessreviews',
  batch: 'cronjobs jobs',
  'cluster.x-k8s.io': 'clusters machinedeployments machinepools machines machinesets',
  'config.openshift.io': 'infrastructures',
  'controlplane.cluster.x-k8s.io': 'kubeadmcontrolplanes',
  'coordination.k8s.io': 'leases',
  'drydock.dev':
    'machineeventsources maintenanceapprovals maintenanceplanrecords maintenanceplans maintenances maintenancewindows nodenotices',
  'kubevirt.io':
    'kubevirts nodemaintenances virtualmachineinstancemigrations virtualmachineinstances virtualmachines',
  'lifecycle.k8s.io': 'evictionrequests evictions',
  'machine.openshift.io': 'controlplanemachinesets machines machinesets',
  'machinemaintenance.managed.openshift.io': 'machinemaintenances',
  'nodemaintenance.kubevirt.io': 'nodemaintenances',
  'nodemaintenance.medik8s.io': 'nodemaintenances',
  policy: 'poddisruptionbudgets',
  'scheduling.k8s.io': 'priorityclasses',
  'storage.k8s.io': 'storageclasses volumeattachments',
  'subresources.kubevirt.io': 'virtualmachineinstances',
};
const collections: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries(known).map(([group, names]) => [group, new Set(names.split(' '))]),
);

const subresources: ReadonlySet<string> = new Set([
  'status',
  'finalize',
  'eviction',
  'log',
  'proxy',
  'scale',
  'binding',
  'token',
  'evacuate',
  'cancel',
  'metrics',
]);

/** Paths that are not objects. */
const others: ReadonlySet<string> = new Set([
  '/',
  '/version',
  '/readyz',
  '/livez',
  '/healthz',
  '/api',
  '/apis',
  '/openapi/v2',
  '/openapi/v3',
]);

const versions: ReadonlySet<string> = new Set(
  'v1 v2 v1alpha1 v1alpha2 v1alpha3 v1beta1 v1beta2 v1beta3 v2beta1 v2beta2'.split(' '),
);

function versionOf(text: string | undefined): string {
  return text !== undefined && versions.has(text) ? text : '{version}';
}

/**
 * Returns the path of a call without the names in it, for metrics:
 * `/api/v1/namespaces/{namespace}/pods/{name}/eviction`. The number of results is bounded, whatever
 * the requests. Kubernetes paths are regular: `/api/<version>` or `/apis/<group>/<version>`, then
 * `namespaces/<namespace>` where there is one, then the collection, the object's name, the
 * subresource.
 */
export function pathTemplate(path: string): string {
  const parts = path.split('/');
  const isCore = parts[1] === 'api';
  if ((!isCore && parts[1] !== 'apis') || parts.length < 3)
    return others.has(path) ? path : '{other}';
  const group = isCore ? '' : (parts[2] ?? '');
  const own = collections.get(group);
  const rest = parts.slice(isCore ? 3 : 4);
  const inNamespace =
    rest[0] === 'namespaces' && rest.length > 2 && !namespaceSubresources.has(rest[2] ?? '');
  const [collection, name, ...subresource] = inNamespace ? rest.slice(2) : rest;
  const version = versionOf(parts[isCore ? 2 : 3]);
  const template = isCore
    ? ['', 'api', own === undefined ? '{version}' : version]
    : ['', 'apis', own === undefined ? '{group}' : group];
  if (!isCore && parts.length > 3) template.push(own === undefined ? '{version}' : version);
  if (inNamespace) template.push('namespaces', '{namespace}');
  if (collection !== undefined)
    template.push(own?.has(collection) === true ? collection : '{resource}');
  if (name !== undefined) template.push('{name}');
  // Behind a proxy subresource, the rest of the path belongs to another server.
  for (const part of subresource.slice(0, 2))
    template.push(subresources.has(part) ? part : '{subresource}');
  return template.join('/');
}

const namespaceSubresources: ReadonlySet<string> = new Set(['status', 'finalize']);

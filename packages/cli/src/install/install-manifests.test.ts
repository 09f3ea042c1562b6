import assert from 'node:assert/strict';
import { test } from 'node:test';
import { copiedKinds } from '@drydock/rehearse/snapshot';
import { UsageError } from '@drydock/utils';
import { version } from '../shared/version.ts';
import type { Manifest } from './install-locate.ts';
import { type InstallOptions, installationOf, manifests } from './inventory.ts';
import { defaultNamespace, defaultParts, extraParts } from './rollout.ts';

const defaults: InstallOptions = {
  parts: new Set(defaultParts),
  groups: [],
  namespace: defaultNamespace,
};
const everything: InstallOptions = {
  ...defaults,
  parts: new Set([...defaultParts, ...extraParts]),
};

function namesOf(all: readonly Manifest[]): readonly string[] {
  return all.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
}

type Pod = {
  readonly containers: readonly {
    readonly image: string;
    readonly args: readonly string[];
    readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  }[];
  readonly volumes: readonly {
    readonly name: string;
    readonly secret?: { readonly secretName: string };
  }[];
};
type Deployment = { readonly replicas: number; readonly template: { readonly spec: Pod } };

function deploymentIn(all: readonly Manifest[]): Deployment {
  const found = all.find(({ kind }) => kind === 'Deployment');
  assert.ok(found, 'there is a Deployment');
  return found['spec'] as Deployment;
}

function containerIn(all: readonly Manifest[]): Pod['containers'][number] {
  const [container] = deploymentIn(all).template.spec.containers;
  assert.ok(container, 'with a container');
  return container;
}

test('namespaces and kinds come first, the webhook last', () => {
  const kinds = manifests(defaults).map(({ kind }) => kind);
  const lastOf = (kind: string): number => kinds.lastIndexOf(kind);
  assert.equal(kinds.indexOf('Namespace'), 0);
  assert.ok(lastOf('Namespace') < kinds.indexOf('CustomResourceDefinition'));
  assert.ok(lastOf('CustomResourceDefinition') < kinds.indexOf('ClusterRole'));
  assert.ok(lastOf('ClusterRole') < kinds.indexOf('ClusterRoleBinding'));
  assert.ok(lastOf('RoleBinding') < kinds.indexOf('Deployment'));
  assert.equal(kinds.at(-1), 'ValidatingWebhookConfiguration');
});

test('two objects never have the same name, whatever is installed', () => {
  const names = manifests({
    ...everything,
    groups: ['nodemaintenance.kubevirt.io', 'kubevirt.io'],
  }).map(
    ({ apiVersion, kind, metadata }) =>
      `${apiVersion} ${kind} ${metadata.namespace ?? ''}/${metadata.name}`,
  );
  assert.deepEqual(new Set(names).size, names.length);
});

test("a namespace that is there for its leases can be the operator's own, with all that its own needs", () => {
  const spaces = manifests({ ...defaults, namespace: 'node-maintenance' }).filter(
    ({ kind }) => kind === 'Namespace',
  );
  const own = spaces.filter(({ metadata }) => metadata.name === 'node-maintenance');
  assert.equal(own.length, 1);
  assert.match(JSON.stringify(own), /pod-security\.kubernetes\.io\/enforce":"restricted/);
});

test('another namespace is another one everywhere', () => {
  const all = manifests({ ...everything, namespace: 'elsewhere' }).filter(
    ({ kind }) => kind !== 'CustomResourceDefinition',
  );
  assert.doesNotMatch(JSON.stringify(all), /drydock-system/);
  const homes = all
    .map(({ metadata }) => metadata.namespace)
    .filter(namespace => namespace !== undefined);
  assert.deepEqual([...new Set(homes)].sort(), [
    'drydock-agent',
    'drydock-plans',
    'elsewhere',
    'kube-system',
    'medik8s-leases',
    'node-maintenance',
  ]);
  assert.ok(namesOf(all).includes('Namespace elsewhere'));
});

test('each object says whose it is, of which version and part; what others use as well is left without labels', () => {
  const shared = ['Namespace medik8s-leases', 'Namespace node-maintenance'];
  for (const part of [...defaultParts, ...extraParts]) {
    const parts = new Set(
      part === 'cert-manager' ? (['operator', 'webhook', part] as const) : [part],
    );
    const all = manifests({ parts, groups: ['kubevirt.io'], namespace: 'elsewhere' });
    for (const manifest of part === 'cert-manager'
      ? all.filter(({ apiVersion }) => apiVersion.startsWith(part))
      : all) {
      const name = `${manifest.kind} ${manifest.metadata.name}`;
      const { labels } = manifest.metadata;
      const isKind = manifest.kind === 'CustomResourceDefinition';
      if (shared.includes(name) || (isKind && !name.endsWith('.drydock.dev'))) {
        assert.equal(labels, undefined, name);
        continue;
      }
      assert.equal(labels?.['app.kubernetes.io/part-of'], 'drydock', name);
      assert.equal(labels['app.kubernetes.io/version'], version(), name);
      assert.equal(
        labels['app.kubernetes.io/name'],
        part === 'agent' ? 'drydock-agent' : 'drydock',
        name,
      );
      assert.equal(labels['drydock.dev/part'], part, name);
      assert.equal(installationOf(manifest), isKind ? undefined : 'elsewhere', name);
    }
  }
  assert.equal(
    JSON.stringify(deploymentIn(manifests(everything)).template).includes('drydock.dev/part'),
    false,
    'pods are chosen by their labels',
  );
});

test('image and replicas are as wished, and of this version when nothing is said', () => {
  const tailored = manifests({ ...defaults, image: 'example.test/drydock:7', replicas: 3 });
  assert.equal(deploymentIn(tailored).replicas, 3);
  assert.equal(containerIn(tailored).image, 'example.test/drydock:7');
  assert.equal(deploymentIn(manifests(defaults)).replicas, 2);
  assert.equal(containerIn(manifests(defaults)).image, `drydock:${version()}`);
});

test('no pod asks for a uid: the image names one, and where namespaces have uids of their own another is refused', () => {
  const parts = new Set([...defaultParts, ...extraParts]);
  const workloads = manifests({ parts, groups: [], namespace: defaultNamespace }).filter(
    ({ kind }) => ['Deployment', 'DaemonSet'].includes(kind),
  );
  assert.equal(workloads.length, 2);
  for (const workload of workloads) {
    assert.doesNotMatch(
      JSON.stringify(workload),
      /"(runAsUser|runAsGroup|fsGroup|supplementalGroups)"/,
      workload.metadata.name,
    );
    assert.match(JSON.stringify(workload), /"runAsNonRoot":true/);
  }
});

test('without the webhook nothing sends the API server to it, and the operator does not serve it', () => {
  const all = manifests({ ...defaults, parts: new Set(['crds', 'rbac', 'operator']) });
  assert.doesNotMatch(namesOf(all).join('\n'), /Webhook|drydock-webhook/);
  assert.deepEqual(
    containerIn(all).args.filter(arg => arg.startsWith('--webhook')),
    ['--webhook-port=0'],
  );
  assert.deepEqual(
    containerIn(manifests(defaults)).args.filter(arg => arg.startsWith('--webhook')),
    ['--webhook-port=9443'],
  );
});

test('with cert-manager its certificate is mounted where the operator is told to look', () => {
  const all = manifests(everything);
  const { volumes } = deploymentIn(all).template.spec;
  const { args, volumeMounts } = containerIn(all);
  const mount = volumeMounts.find(({ name }) => name === 'webhook-cert');
  assert.ok(args.includes(`--webhook-cert-dir=${mount?.mountPath ?? ''}`), args.join(' '));
  const certificate = all.find(({ kind }) => kind === 'Certificate');
  assert.ok(certificate);
  assert.equal(
    volumes.find(({ name }) => name === 'webhook-cert')?.secret?.secretName,
    (certificate['spec'] as { readonly secretName: string }).secretName,
  );
  const webhook = all.find(({ kind }) => kind === 'ValidatingWebhookConfiguration');
  assert.deepEqual(
    (webhook?.metadata as { readonly annotations?: object } | undefined)?.annotations,
    {
      'cert-manager.io/inject-ca-from': `${defaultNamespace}/${certificate.metadata.name}`,
    },
  );
  assert.throws(
    () => manifests({ ...defaults, parts: new Set(['operator', 'cert-manager']) }),
    UsageError,
  );
});

test('sources of metrics and alerts are read from where their Secret is mounted, which need not exist', () => {
  for (const options of [defaults, everything]) {
    const all = manifests(options);
    const { args, volumeMounts } = containerIn(all);
    const mount = volumeMounts.find(({ name }) => name === 'monitoring');
    assert.ok(
      args.includes(`--monitoring-config=${mount?.mountPath ?? ''}/sources.yaml`),
      args.join(' '),
    );
    const volume = deploymentIn(all).template.spec.volumes.find(
      ({ name }) => name === 'monitoring',
    );
    assert.deepEqual(volume?.secret, { secretName: 'drydock-monitoring', optional: true });
    const told = volumeMounts.find(({ name }) => name === 'notifications');
    assert.ok(
      args.includes(`--notification-config=${told?.mountPath ?? ''}/receivers.yaml`),
      args.join(' '),
    );
  }
});

test('older kinds are installed by their group, and a group that is none is named', () => {
  const crds = (groups: readonly string[]): readonly string[] =>
    manifests({ ...defaults, parts: new Set(['crds']), groups }).map(
      ({ metadata }) => metadata.name,
    );
  assert.deepEqual(crds([]), [
    'machineeventsources.drydock.dev',
    'machinemaintenances.machinemaintenance.managed.openshift.io',
    'maintenanceapprovals.drydock.dev',
    'maintenanceplanrecords.drydock.dev',
    'maintenanceplans.drydock.dev',
    'maintenances.drydock.dev',
    'maintenancewindows.drydock.dev',
    'nodemaintenances.nodemaintenance.medik8s.io',
    'nodenotices.drydock.dev',
  ]);
  assert.ok(crds(['kubevirt.io']).includes('nodemaintenances.kubevirt.io'));
  assert.throws(
    () => crds(['example.test']),
    /unknown group "example.test"; available: drydock.dev, machinemaintenance/,
  );
});

type Rule = {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
};

function rulesOf(kind: 'ClusterRole' | 'Role', mine: (name: string) => boolean): readonly Rule[] {
  return manifests(everything)
    .filter(manifest => manifest.kind === kind && mine(manifest.metadata.name))
    .flatMap(manifest => manifest['rules'] as readonly Rule[]);
}

test('no role grants everything of anything, or the right to grant rights', () => {
  for (const rule of [...rulesOf('ClusterRole', () => true), ...rulesOf('Role', () => true)]) {
    const words = [...rule.verbs, ...(rule.resources ?? []), ...(rule.apiGroups ?? [])];
    assert.deepEqual(
      words.filter(word =>
        ['*', 'escalate', 'bind', 'impersonate', 'approve', 'sign'].includes(word),
      ),
      [],
      JSON.stringify(rule),
    );
  }
});

test('what the operator may change in the whole cluster is exactly this', () => {
  const operator = [
    'drydock-operator',
    'drydock-pod-deletion',
    'drydock-announcements',
    'drydock-machines',
    'drydock-virtual-machines',
  ];
  const changes = rulesOf('ClusterRole', name => operator.includes(name)).flatMap(
    ({ apiGroups = [], resources = [], resourceNames, verbs }) =>
      verbs
        .filter(verb => !['get', 'list', 'watch'].includes(verb))
        .flatMap(verb =>
          apiGroups.flatMap(group =>
            resources.map(
              one =>
                `${verb} ${one}${group === '' ? '' : `.${group}`}${resourceNames ? ` ${resourceNames.join()}` : ''}`,
            ),
          ),
        ),
  );
  assert.deepEqual(changes.sort(), [
    'be-part maintenances.drydock.dev',
    'create events',
    'create evictionrequests.lifecycle.k8s.io',
    'create maintenances.drydock.dev',
    'create pods/eviction',
    'create subjectaccessreviews.authorization.k8s.io',
    'create tokenreviews.authentication.k8s.io',
    'delete evictionrequests.lifecycle.k8s.io',
    'delete machines.cluster.x-k8s.io',
    'delete machines.machine.openshift.io',
    'delete maintenances.drydock.dev',
    'delete nodenotices.drydock.dev',
    'delete pods',
    'delete virtualmachineinstancemigrations.kubevirt.io',
    'delete-pods maintenances.drydock.dev',
    'patch events',
    'patch evictionrequests.lifecycle.k8s.io',
    'patch machinedeployments.cluster.x-k8s.io',
    'patch machineeventsources/status.drydock.dev',
    'patch machinemaintenances/status.machinemaintenance.managed.openshift.io',
    'patch machines.cluster.x-k8s.io',
    'patch machines.machine.openshift.io',
    'patch machinesets.cluster.x-k8s.io',
    'patch maintenanceplans/status.drydock.dev',
    'patch maintenances.drydock.dev',
    'patch maintenances/status.drydock.dev',
    'patch maintenancewindows/status.drydock.dev',
    'patch nodemaintenances.kubevirt.io',
    'patch nodemaintenances.nodemaintenance.kubevirt.io',
    'patch nodemaintenances.nodemaintenance.medik8s.io',
    'patch nodemaintenances/status.kubevirt.io',
    'patch nodemaintenances/status.nodemaintenance.kubevirt.io',
    'patch nodemaintenances/status.nodemaintenance.medik8s.io',
    'patch nodenotices.drydock.dev',
    'patch nodes',
    'patch nodes/status',
    'patch pods/status',
    'patch validatingwebhookconfigurations.admissionregistration.k8s.io drydock',
    'shut-down-vms maintenances.drydock.dev',
    'update virtualmachineinstances/evacuate.subresources.kubevirt.io',
    'update virtualmachineinstances/evacuate/cancel.subresources.kubevirt.io',
  ]);
});

test('what the part for plans adds is exactly this: pods in a namespace of their own, and nothing of the rest of the cluster', () => {
  const said = (rules: readonly Rule[]): readonly string[] =>
    rules
      .flatMap(({ resources = [], verbs }) =>
        resources.flatMap(resource => verbs.map(verb => `${verb} ${resource}`)),
      )
      .toSorted();
  assert.deepEqual(said(rulesOf('ClusterRole', name => name === 'drydock-plans')), [
    'be-part maintenances',
    'create maintenanceplanrecords',
    'create maintenances',
    'delete maintenanceplanrecords',
    'delete maintenances',
    'delete-pods maintenances',
    'get maintenanceapprovals',
    'get maintenanceplanrecords',
    'list maintenanceapprovals',
    'list maintenanceplanrecords',
    'patch maintenanceplanrecords',
    'patch maintenanceplans',
    'shut-down-vms maintenances',
    'watch maintenanceapprovals',
    'watch maintenanceplanrecords',
  ]);
  assert.deepEqual(said(rulesOf('Role', name => name === 'drydock-plans')), [
    'create pods',
    'delete pods',
    'get pods',
    'list pods',
    'watch pods',
  ]);
  const [role] = manifests(everything).filter(
    ({ kind, metadata }) => kind === 'Role' && metadata.name === 'drydock-plans',
  );
  assert.equal(role?.metadata.namespace, 'drydock-plans');
  assert.doesNotMatch(
    namesOf(manifests(defaults)).join('\n'),
    /drydock-plans/,
    'it is installed when asked for',
  );
});

test('whoever rehearses plans reads what a rehearsal is made of, and no more', () => {
  const rules = rulesOf('ClusterRole', name => name === 'drydock-rehearsal');
  assert.deepEqual([...new Set(rules.flatMap(({ verbs }) => verbs))], ['list']);
  const granted = rules.flatMap(({ apiGroups = [], resources = [] }) =>
    apiGroups.flatMap(group => resources.map(plural => `${plural}.${group}`)),
  );
  const copied = copiedKinds.map(
    ({ apiVersion, plural }) =>
      `${plural}.${apiVersion.includes('/') ? apiVersion.split('/')[0] : ''}`,
  );
  assert.deepEqual(granted.toSorted(), copied.toSorted());
});

test('secrets and leases are out of reach but in the namespaces that are for them', () => {
  const global = rulesOf('ClusterRole', name => name !== 'drydock-node-leases').flatMap(
    ({ resources = [] }) => resources,
  );
  assert.deepEqual(
    global.filter(resource =>
      ['secrets', 'configmaps', 'leases', 'serviceaccounts'].includes(resource),
    ),
    [],
  );
  const bound = manifests(everything)
    .filter(({ kind }) => kind === 'ClusterRoleBinding')
    .map(binding => (binding['roleRef'] as { readonly name: string }).name);
  assert.deepEqual(bound.sort(), [
    'drydock-agent',
    'drydock-announcements',
    'drydock-machines',
    'drydock-operator',
    'drydock-plans',
    'drydock-pod-deletion',
    'drydock-rehearsal',
    'drydock-virtual-machines',
  ]);
  const reads = rulesOf('Role', () => true).filter(({ resources = [] }) =>
    resources.includes('secrets'),
  );
  for (const { verbs, resourceNames } of reads)
    assert.ok(resourceNames?.length === 1 || verbs.join() === 'create', 'one secret, by its name');
});

test('rights to machines and VMs are parts of their own, the operator may be kept to the control plane, and a policy says who may reach it', () => {
  const names = namesOf(manifests(defaults)).join('\n');
  assert.doesNotMatch(names, /drydock-machines|drydock-virtual-machines/);
  assert.match(names, /NetworkPolicy drydock/);
  const affinity = (all: readonly Manifest[]): string =>
    JSON.stringify((deploymentIn(all).template.spec as unknown as { affinity: unknown }).affinity);
  assert.doesNotMatch(affinity(manifests(defaults)), /required.*control-plane/);
  assert.match(
    affinity(manifests({ ...defaults, parts: new Set([...defaultParts, 'control-plane']) })),
    /"preferredDuring.*"nodeAffinity"|"requiredDuringSchedulingIgnoredDuringExecution":\{"nodeSelectorTerms":\[\{"matchExpressions":\[\{"key":"node-role.kubernetes.io\/control-plane"/,
  );
});

test('metrics are served over HTTPS, to whoever may get them', () => {
  assert.ok(containerIn(manifests(defaults)).args.includes('--metrics-secure'));
  assert.match(
    JSON.stringify(manifests(everything).find(({ kind }) => kind === 'ServiceMonitor')),
    /"scheme":"https".*"serverName":"drydock-metrics/,
  );
});

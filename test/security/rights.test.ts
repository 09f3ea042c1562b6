import assert from 'node:assert/strict';
import { request as ask } from 'node:https';
import { after, before, describe, test } from 'node:test';
import type { Reply } from '../control-plane/objects/api.ts';
import { create, failureIn, getNode, nodePath } from '../control-plane/objects/cluster.ts';
import type { Manifest } from '../control-plane/objects/manifests.ts';
import { freePorts } from '../control-plane/processes/ports.ts';
import { until } from '../control-plane/wait.ts';
import {
  type OperatorHarness,
  type OperatorProcess,
  skipOf,
  startHarness,
} from '../operator/harness/harness.ts';
import {
  isHeld,
  maintenance,
  maintenancePath,
  makeNode,
  ourTaints,
  remove,
  untilMaintenance,
} from '../operator/harness/look.ts';

/**
 * Nobody gets more than he has: a tenant of one namespace, a kubelet, an editor, a caller of the
 * metrics, on a real API server.
 */

const rbac = 'rbac.authorization.k8s.io/v1';
function machineMaintenances(namespace: string): string {
  return `/apis/machinemaintenance.managed.openshift.io/v1alpha1/namespaces/${namespace}/machinemaintenances`;
}
const maintenances = '/apis/drydock.dev/v1alpha1/maintenances';

const users = {
  tenant: [],
  editor: [],
  chief: [],
  kubelet: { name: 'system:node:victim', groups: ['system:nodes'], namespace: 'default' },
};

const started = await startHarness({ users, roles: ['machine-api'] });
const skip = skipOf(started);
const harness = started as OperatorHarness;

function bound(name: string, user: string): Manifest {
  return {
    apiVersion: rbac,
    kind: 'ClusterRoleBinding',
    metadata: { name: `${name}-${user}` },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: user }],
  };
}

describe('nobody gets more than he has', { skip, timeout: 180_000 }, () => {
  const { api, controlPlane } = harness;
  let operator: OperatorProcess;

  before(async () => {
    await create(
      api,
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'tenant-a' } },
      {
        apiVersion: rbac,
        kind: 'Role',
        metadata: { name: 'everything', namespace: 'tenant-a' },
        rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
      },
      {
        apiVersion: rbac,
        kind: 'RoleBinding',
        metadata: { name: 'everything', namespace: 'tenant-a' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'everything' },
        subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'tenant' }],
      },
      bound('drydock-maintenance-editor', 'editor'),
      bound('drydock-maintenance-admin', 'chief'),
      bound('drydock-maintenance-viewer', 'chief'),
    );
    const [port = 0] = await freePorts(1);
    operator = await harness.startOperator({
      flags: [`--metrics-bind-address=127.0.0.1:${port}`, '--metrics-secure'],
    });
    operator = { ...operator, metrics: `https://127.0.0.1:${port}/metrics` };
  });
  after(() => harness.stop());

  const as = (
    user: keyof typeof users,
    method: 'POST' | 'PATCH',
    path: string,
    body: unknown,
  ): Promise<Reply> =>
    controlPlane
      .apiOf(user)
      .call(method, path, body, method === 'PATCH' ? 'application/merge-patch+json' : undefined);

  const drainOf = (node: string, drain: object = {}): Manifest => ({
    apiVersion: 'machinemaintenance.managed.openshift.io/v1alpha1',
    kind: 'MachineMaintenance',
    metadata: { name: `mm-${node}` },
    spec: {
      maintenancescheduled: false,
      machineid: node,
      machinelink: node,
      machineRef: { kind: 'Node', name: node },
      strategy: 'Drain',
      events: [{ provider: 'me', id: '1', kind: 'reboot', state: 'Active', source: 'me' }],
      drain,
    },
  });

  test("a tenant's MachineMaintenance does nothing but say so, even with all rights in his namespace", async () => {
    await makeNode(api, 'target');
    const version = (await getNode(api, 'target')).metadata.resourceVersion;
    const made = await as(
      'tenant',
      'POST',
      machineMaintenances('tenant-a'),
      drainOf('target', { disableEviction: true, force: true }),
    );
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const own = (): Promise<{
      readonly metadata: { readonly finalizers?: unknown };
      readonly status?: { readonly message?: string };
    }> => api.get(`${machineMaintenances('tenant-a')}/mm-target`);
    await until('a word about it', async () => (await own()).status?.message !== undefined);
    const { metadata, status } = await own();
    assert.match(
      status?.message ?? '',
      /^Not worked on: such objects count in namespace drydock-system only\./,
    );
    assert.equal(metadata.finalizers, undefined);
    assert.deepEqual(
      (await api.get<{ readonly items: readonly unknown[] }>(maintenances)).items,
      [],
    );
    assert.equal(
      (await getNode(api, 'target')).metadata.resourceVersion,
      version,
      'the node is as it was',
    );
    assert.equal(
      (await as('tenant', 'POST', machineMaintenances('drydock-system'), drainOf('target'))).status,
      403,
    );
  });

  test('the same object in the namespace of the operator is worked on: it is the namespace that counts', async () => {
    await api.post(machineMaintenances('drydock-system'), drainOf('target'));
    await until('the node to be held', async () => isHeld(await getNode(api, 'target'), ourTaints));
    await remove(api, `${machineMaintenances('drydock-system')}/mm-target`);
    await until('it to be released', async () => !isHeld(await getNode(api, 'target'), ourTaints));
  });

  const forged = JSON.stringify({
    taints: {
      'dedicated:NoSchedule': null,
      'medik8s.io/drain:NoSchedule': { key: 'evil', effect: 'NoExecute' },
      'evil:NoExecute': { key: 'evil', effect: 'NoExecute' },
    },
    labels: {
      'node-role.kubernetes.io/etcd': '',
      'node-restriction.kubernetes.io/tier': 'trusted',
    },
  });
  const annotate = (): Promise<Reply> =>
    as('kubelet', 'PATCH', nodePath('victim'), {
      metadata: { annotations: { 'drydock.dev/before': forged } },
    });

  test('a kubelet may not write the record of what its node was; where it can, only what a hold can have touched is believed', async () => {
    await makeNode(api, 'victim');
    const dedicated = { key: 'dedicated', effect: 'NoSchedule' };
    await api.patch(nodePath('victim'), { spec: { taints: [dedicated] } });
    const byPolicy = await annotate();
    assert.equal(byPolicy.status, 403);
    assert.match(
      failureIn(byPolicy).message,
      /a node must not change its annotation drydock\.dev\/before/,
    );
    const label = await as('kubelet', 'PATCH', nodePath('victim'), {
      metadata: { labels: { 'node-restriction.kubernetes.io/tier': 'x' } },
    });
    assert.equal(label.status, 403, 'NodeRestriction is on');
    assert.equal(
      (await as('kubelet', 'PATCH', nodePath('target'), { metadata: { annotations: { a: 'b' } } }))
        .status,
      403,
      'and the Node authorizer',
    );
    assert.equal(
      (
        await as('kubelet', 'PATCH', `${nodePath('victim')}/status`, {
          metadata: { annotations: { a: 'b' } },
        })
      ).status,
      200,
    );

    await api.delete(
      '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/drydock-node-record',
    );
    await until('the policy to be gone', async () => (await annotate()).status === 200);
    await until(
      'the record to be taken off',
      async () =>
        (await getNode(api, 'victim')).metadata.annotations?.['drydock.dev/before'] === undefined,
    );
    const { spec, metadata } = await getNode(api, 'victim');
    assert.deepEqual(
      spec.taints?.map(({ key, effect }) => ({ key, effect })),
      [dedicated],
    );
    assert.equal(metadata.labels?.['node-role.kubernetes.io/etcd'], undefined);
    assert.equal(metadata.labels?.['node-restriction.kubernetes.io/tier'], undefined);
    await api.post('/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings', {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: 'drydock-node-record' },
      spec: { policyName: 'drydock-node-record', validationActions: ['Deny'] },
    });
  });

  const risky: readonly (readonly [string, object, object])[] = [
    ['delete-pods', { drain: { disableEviction: true } }, {}],
    ['delete-pods', { drain: { ladder: [{ afterSeconds: 5, action: 'Delete' }] } }, {}],
    ['shut-down-vms', { drain: { virtualMachines: { notMigratable: 'ShutDown' } } }, {}],
    ['waive-quorum', {}, { 'drydock.dev/allow-quorum-loss': 'true' }],
    ['be-part', {}, { 'drydock.dev/machine-maintenance': 'drydock-system/mm' }],
  ];

  for (const [right, spec, annotations] of risky) {
    test(`${right} is a right of its own, on create and on update: ${JSON.stringify({ ...spec, ...annotations })}`, async () => {
      const plain = {
        apiVersion: 'drydock.dev/v1alpha1',
        kind: 'Maintenance',
        metadata: { name: 'risk' },
        spec: { nodeName: 'nowhere', level: 'Announce' },
      };
      const daring = {
        ...plain,
        metadata: { name: 'risk', annotations },
        spec: { ...plain.spec, ...spec },
      };
      const no = new RegExp(
        `needs the right ${right} on\\s+maintenances\\.drydock\\.dev, which you do not have`,
      );
      const refused = await as('editor', 'POST', maintenances, daring);
      assert.equal(refused.status, 403);
      assert.match(failureIn(refused).message, no);
      assert.equal((await as('editor', 'POST', maintenances, plain)).status, 201);
      const added = await as('editor', 'PATCH', maintenancePath('risk'), {
        metadata: { annotations },
        spec,
      });
      assert.equal(added.status, 403);
      assert.match(failureIn(added).message, no);
      const chief = right === 'be-part' ? 'admin' : 'chief';
      const byChief = await controlPlane
        .apiOf(chief)
        .call(
          'PATCH',
          maintenancePath('risk'),
          { metadata: { annotations }, spec },
          'application/merge-patch+json',
        );
      assert.equal(byChief.status, 200, JSON.stringify(byChief.body));
      const rest = await as('editor', 'PATCH', maintenancePath('risk'), {
        metadata: { labels: { team: 'a' } },
        spec: { reason: 'another' },
      });
      assert.equal(rest.status, 200, 'what was agreed to stays so, whoever writes the rest');
      await remove(api, maintenancePath('risk'));
    });
  }

  test('kubectl auth can-i answers for each right', { skip: harness.lacksKubectl }, async () => {
    const canI = async (user: string, right: string): Promise<string> => {
      const { stdout } = await controlPlane.kubectl([
        'auth',
        'can-i',
        right,
        'maintenances.drydock.dev',
        '--as',
        user,
      ]);
      return stdout.trim();
    };
    for (const right of ['waive-quorum', 'delete-pods', 'shut-down-vms'])
      assert.deepEqual(
        [await canI('editor', right), await canI('chief', right)],
        ['no', 'yes'],
        right,
      );
  });

  test('urgency past approval is one too, of MachineMaintenances', async () => {
    const urgent = drainOf('target');
    const events = [
      { provider: 'aws', id: '1', kind: 'termination', state: 'Active', source: 'agent/aws' },
    ];
    const body = { ...urgent, spec: { ...(urgent['spec'] as object), events } };
    const refused = await as('editor', 'POST', machineMaintenances('drydock-system'), body);
    assert.equal(refused.status, 403);
    assert.match(
      failureIn(refused).message,
      /declares that its machine will be gone within minutes .* needs the right declare-urgent on machinemaintenances\.machinemaintenance/,
    );
    assert.equal(
      (
        await as('editor', 'POST', machineMaintenances('drydock-system'), {
          ...urgent,
          metadata: { name: 'plain' },
        })
      ).status,
      201,
    );
    const added = await as('editor', 'PATCH', `${machineMaintenances('drydock-system')}/plain`, {
      spec: { events },
    });
    assert.equal(added.status, 403);
    await remove(api, `${machineMaintenances('drydock-system')}/plain`);
  });

  test("of a set of machines the operator's own token changes replicas and the record, and nothing else", async () => {
    const crd = (plural: string, kind: string): Manifest => ({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: {
        name: `${plural}.cluster.x-k8s.io`,
        annotations: { 'api-approved.kubernetes.io': 'unapproved, for a test' },
      },
      spec: {
        group: 'cluster.x-k8s.io',
        scope: 'Namespaced',
        names: { plural, singular: kind.toLowerCase(), kind },
        versions: [
          {
            name: 'v1beta1',
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        ],
      },
    });
    await create(api, crd('machinesets', 'MachineSet'));
    const sets = '/apis/cluster.x-k8s.io/v1beta1/namespaces/tenant-a/machinesets';
    await until('the kind to be served', async () => (await api.call('GET', sets)).status === 200);
    await create(api, {
      apiVersion: 'cluster.x-k8s.io/v1beta1',
      kind: 'MachineSet',
      metadata: { name: 'workers', namespace: 'tenant-a', annotations: { theirs: 'x' } },
      spec: { replicas: 3, template: { spec: { bootstrap: { dataSecretName: 'ours' } } } },
    });
    const patch = async (body: object): Promise<Reply> => {
      const reply = await controlPlane
        .apiOf('drydock')
        .call('PATCH', `${sets}/workers`, body, 'application/merge-patch+json');
      return reply;
    };
    await until(
      'the policy to be in force',
      async () =>
        (await patch({ spec: { template: { spec: { bootstrap: { dataSecretName: 'evil' } } } } }))
          .status === 403,
    );
    assert.equal((await patch({ spec: { minReadySeconds: 1 } })).status, 403);
    assert.equal((await patch({ metadata: { annotations: { theirs: 'y' } } })).status, 403);
    assert.equal((await patch({ metadata: { labels: { a: 'b' } } })).status, 403);
    const surge = await patch({
      spec: { replicas: 4 },
      metadata: { annotations: { 'surge.drydock.dev/uid': 'drydock-system/mm' } },
    });
    assert.equal(surge.status, 200, JSON.stringify(surge.body));
    const back = await patch({
      spec: { replicas: 3 },
      metadata: { annotations: { 'surge.drydock.dev/uid': null } },
    });
    assert.equal(back.status, 200, JSON.stringify(back.body));
  });

  test('a window with a year of six digits is refused, and grace periods of 0 are', async () => {
    const window = await api.call('POST', '/apis/drydock.dev/v1alpha1/maintenancewindows', {
      apiVersion: 'drydock.dev/v1alpha1',
      kind: 'MaintenanceWindow',
      metadata: { name: 'odd' },
      spec: { freezes: [{ from: '2020-01-01', to: '+275760-09-13T00:00:00Z' }] },
    });
    assert.equal(window.status, 422);
    const grace = await api.call(
      'POST',
      maintenances,
      maintenance('grace', { drain: { gracePeriodSeconds: 0 } }),
    );
    assert.equal(grace.status, 422);
    assert.match(
      failureIn(grace).message,
      /gracePeriodSeconds must be -1 or at least 1: 0 removes pods while their containers still run/,
    );
  });

  test('a pod with the longest of grace periods stops no drain', async () => {
    await makeNode(api, 'graceful');
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'odd',
        namespace: 'tenant-a',
        finalizers: ['example.com/held'],
        annotations: { 'drydock.test/gone-after': '1h' },
      },
      spec: {
        nodeName: 'graceful',
        terminationGracePeriodSeconds: 9_000_000_000_000,
        tolerations: [{ operator: 'Exists' }],
        containers: [{ name: 'main', image: 'example.test/none:1' }],
      },
    };
    const path = '/api/v1/namespaces/tenant-a/pods';
    assert.equal((await as('tenant', 'POST', path, pod)).status, 201);
    await until(
      'it to run',
      async () =>
        (await api.get<{ readonly status: { readonly phase?: string } }>(`${path}/odd`)).status
          .phase === 'Running',
    );
    await api.call('DELETE', `${path}/odd`);
    await create(api, maintenance('graceful', { drain: { skipWaitForDeleteTimeoutSeconds: 60 } }));
    await untilMaintenance(
      api,
      'graceful',
      'Draining',
      ({ blockers }) => blockers?.[0]?.pod?.name === 'odd',
    );
    assert.ok(operator.running.alive());
    await api.patch(`${path}/odd`, { metadata: { finalizers: null } });
    await remove(api, maintenancePath('graceful'));
  });

  /** The operator serves a certificate of its own making here. */
  const scrape = (token?: string): Promise<readonly [number | undefined, string]> =>
    new Promise((resolve, reject) => {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const sent = ask(operator.metrics, { headers, rejectUnauthorized: false }, response => {
        let text = '';
        response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
        response.once('end', () => resolve([response.statusCode, text]));
      });
      sent.once('error', reject);
      sent.end();
    });

  test('metrics are for whoever the API server knows and allows to get them', async () => {
    const tokenFor = async (name: string): Promise<string> => {
      await create(api, {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { name, namespace: 'tenant-a' },
      });
      const { body } = await api.call(
        'POST',
        `/api/v1/namespaces/tenant-a/serviceaccounts/${name}/token`,
        { spec: {} },
      );
      return (body as { readonly status: { readonly token: string } }).status.token;
    };
    const [prometheus, stranger] = [await tokenFor('prometheus'), await tokenFor('stranger')];
    await create(api, {
      apiVersion: rbac,
      kind: 'ClusterRoleBinding',
      metadata: { name: 'prometheus' },
      roleRef: {
        apiGroup: 'rbac.authorization.k8s.io',
        kind: 'ClusterRole',
        name: 'drydock-metrics-reader',
      },
      subjects: [{ kind: 'ServiceAccount', name: 'prometheus', namespace: 'tenant-a' }],
    });
    assert.equal((await scrape())[0], 401);
    assert.equal((await scrape('nonsense'))[0], 401);
    const [status, why] = await scrape(stranger);
    assert.deepEqual(
      [status, why],
      [
        403,
        'system:serviceaccount:tenant-a:stranger may not get /metrics: bind it to the ClusterRole drydock-metrics-reader\n',
      ],
    );
    const [ok, text] = await scrape(prometheus);
    assert.equal(ok, 200);
    assert.match(text, /^drydock_leader 1$/m);
  });

  test('all of this without a single defect, and the operator lives', async () => {
    assert.ok(operator.running.alive());
    assert.doesNotMatch(operator.running.tail(10_000), /Drydock hit a bug/);
  });
});

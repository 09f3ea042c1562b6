import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { create, nodesReady } from '../control-plane/objects/cluster.ts';
import { deployment, namespace, node } from '../control-plane/objects/manifests.ts';
import { type Outcome, run } from '../control-plane/processes/command.ts';
import { freePorts } from '../control-plane/processes/ports.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { until, waitFor } from '../control-plane/wait.ts';
import { type OperatorProcess, operatorsOn } from '../operator/harness/harness.ts';
import { maintenance, untilMaintenance } from '../operator/harness/look.ts';
import { drydock, operatorUsers } from '../operator/harness/shipped.ts';
import { callWebhookAt, removeWebhook } from '../operator/harness/webhook-address.ts';

/** drydock check, version and support-bundle: what somebody has who runs an installation. */

const started = await startControlPlane({ audit: true, users: operatorUsers });
const leftOut = started.kind === 'left-out' ? `control plane left out: ${started.why}` : false;
const skip =
  leftOut ||
  (started.kind === 'started' &&
    started.external &&
    'it installs itself: it needs a control plane of its own');
const controlPlane = started as ControlPlane;
const home = 'drydock-system';

type Checked = {
  readonly name: string;
  readonly findings: readonly { readonly severity: string; readonly message: string }[];
};

describe('an installation', { skip, timeout: 180_000 }, () => {
  const { api } = controlPlane;
  const folder = mkdtempSync(join(tmpdir(), 'drydock-diagnose-'));
  before(async () => {
    await create(api, node('n1'), node('n2'));
    await nodesReady(api, ['n1', 'n2']);
  });
  after(async () => {
    rmSync(folder, { recursive: true });
    await controlPlane.stop();
  });

  const startOperator = operatorsOn(controlPlane);
  const leading = ['--leader-elect', '--leader-election-namespace', home];
  let operator: OperatorProcess;
  let port = 0;
  const say = (...args: readonly string[]): Promise<Outcome> =>
    drydock([...args, '--kubeconfig', controlPlane.kubeconfig]);
  /** Names of the checks that find something, each with its first message. */
  const found = async (): Promise<Readonly<Record<string, string>>> => {
    const { stdout, stderr } = await say('check', '-o', 'json');
    assert.match(stdout, /^\{/, stderr);
    const { checks } = JSON.parse(stdout) as { readonly checks: readonly Checked[] };
    return Object.fromEntries(
      checks.flatMap(({ name, findings: [first] }) =>
        first ? [[name, `${first.severity}: ${first.message}`]] : [],
      ),
    );
  };

  test('that is not there: everything that is missing is named, with what to do, and the exit code is 1', async () => {
    const { code, stdout, stderr } = await say('check');
    assert.equal(code, 1);
    assert.match(
      stdout,
      /^FAIL {2}kinds {15}CustomResourceDefinition maintenances\.drydock\.dev is not installed\n {26}help: drydock install --apply/m,
    );
    assert.match(stdout, /^FAIL {2}operator .*no operator is installed/m);
    assert.match(stdout, /^ok {4}clocks /m);
    assert.match(stderr, /^drydock: \d+ errors found; see above\n$/);
    const { stdout: said } = await say('version');
    assert.match(
      said,
      /^Client Version: \S+ \(Node v\d+\.\d+\.\d+\)\nOperator: not installed\nServer Version: v1\.\d+\.\d+\n$/,
    );
  });

  test('without an operator that runs: kinds, rights, policies and priority are right, and nobody leads', async () => {
    const { code, stderr } = await say('install', '--apply', '--with', 'api-priority');
    assert.equal(code, 0, stderr);
    const { operator, webhook, ...rest } = await found();
    assert.match(
      operator ?? '',
      /^Error: (no replica leads: there is no lease of a leader|Deployment .* has no replica that is ready)$/,
    );
    assert.match(
      webhook ?? '',
      /^Error: ValidatingWebhookConfiguration drydock has no certificate authority for /,
    );
    assert.deepEqual(rest, {});
    const { stdout } = await say('version', '-o', 'json');
    const { client, operators } = JSON.parse(stdout) as {
      readonly client: { readonly version: string };
      readonly operators: readonly object[];
    };
    assert.deepEqual(operators, [
      { deployment: `${home}/drydock`, image: `drydock:${client.version}` },
    ]);
  });

  test('whose operator leads has a leader; a right that is taken away is named, and install gives it back', async () => {
    [port = 0] = await freePorts(1);
    operator = await startOperator({
      flags: [...leading, `--webhook-port=${port}`, '--webhook-extra-name=127.0.0.1'],
    });
    await until('a leader', async () => !/no replica leads/.test((await say('check')).stdout));
    const path = '/apis/rbac.authorization.k8s.io/v1/clusterroles/drydock-operator';
    const role = await api.get<{
      readonly rules: readonly { readonly resources?: readonly string[] }[];
    }>(path);
    await api.patch(path, {
      rules: role.rules.filter(({ resources }) => resources?.includes('pods/eviction') !== true),
    });
    assert.equal(
      (await found())['rights'],
      'Error: ClusterRole drydock-operator lacks rights: create pods/eviction',
    );
    const again = await say('install', '--apply', '--force-conflicts', '--with', 'api-priority');
    assert.equal(again.code, 0, again.stderr);
    assert.equal((await found())['rights'], undefined);
  });

  test('the webhook is well when it refuses what it has to, and not because replicas are ready; nor is one that the operator does not serve', async () => {
    await callWebhookAt(api, port);
    await waitFor('the webhook to be well', async () => {
      const { stdout } = await say('check');
      const line = /^.* webhook .*$/m.exec(stdout)?.[0] ?? stdout;
      return /^ok {4}webhook {13}asked by a dry run, it refused/.test(line)
        ? { done: line }
        : { yet: line };
    });
    await operator.running.stop();
    assert.match(
      (await say('check')).stdout,
      /^FAIL {2}webhook {13}it does not answer, and every create of a maintenance is refused: .*failed calling webhook "vnodemaintenance\.kb\.io"/m,
    );
    const path = `/apis/apps/v1/namespaces/${home}/deployments/drydock`;
    const { spec } = await api.get<{
      readonly spec: {
        readonly template: {
          readonly spec: { readonly containers: readonly [{ readonly args: readonly string[] }] };
        };
      };
    }>(path);
    const args = spec.template.spec.containers[0].args.map(arg =>
      arg === '--webhook-port=9443' ? '--webhook-port=0' : arg,
    );
    const patch = [{ op: 'replace', path: '/spec/template/spec/containers/0/args', value: args }];
    assert.equal((await api.call('PATCH', path, patch, 'application/json-patch+json')).status, 200);
    assert.match(
      (await found())['webhook'] ?? '',
      /^Error: Deployment drydock-system\/drydock runs with --webhook-port=0, but ValidatingWebhookConfiguration drydock is there/,
    );
    await removeWebhook(api);
    assert.equal((await say('install', '--apply', '--force-conflicts')).code, 0);
    await startOperator({ flags: leading });
  });

  test('beside another operator: it is named', async () => {
    const spec = {
      containers: [{ name: 'manager', image: 'quay.io/medik8s/node-maintenance-operator:v0.19.0' }],
    };
    await create(
      api,
      namespace('nmo'),
      deployment('controller', { namespace: 'nmo', replicas: 1, spec }),
    );
    assert.equal(
      (await found())['one operator'],
      'Error: Deployment nmo/controller acts on the same objects as Drydock',
    );
    await api.delete('/apis/apps/v1/namespaces/nmo/deployments/controller');
  });

  test('in one archive: versions, checks, objects and what could not be had; nothing secret, and for its owner alone', async () => {
    const secret = 'hidden-value-4711';
    const env = [{ name: 'PASSWORD', value: secret }];
    const spec = {
      containers: [
        { name: 'main', image: 'example.test/none:1', env, args: [`--token=${secret}`] },
      ],
    };
    await create(
      api,
      namespace('shop'),
      deployment('web', { namespace: 'shop', replicas: 1, spec }),
    );
    await api.post('/api/v1/namespaces/shop/secrets', {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's' },
      stringData: { a: secret },
    });
    await removeWebhook(api);
    await create(api, maintenance('n2', { drain: { force: true, deleteEmptyDirData: true } }));
    await untilMaintenance(api, 'n2', 'Drained');
    await create(api, {
      apiVersion: 'drydock.dev/v1alpha1',
      kind: 'MaintenanceApproval',
      metadata: { name: 'a1' },
      spec: { planName: 'kernel', runID: '1', revision: 'r1' },
    });
    const file = join(folder, 'bundle.tar.gz');
    const { code, stdout, stderr } = await say('support-bundle', file);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /bundle\.tar\.gz: read it before you share it/);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const unpacked = await run('tar', ['-xzf', file, '-C', folder]);
    assert.equal(unpacked.code, 0, unpacked.stderr);
    const inside = join(folder, 'bundle');
    const names = readdirSync(inside, { recursive: true, encoding: 'utf8' });
    for (const name of [
      'version.json',
      'check.json',
      'workloads.json',
      'left-out.txt',
      'snapshot/nodes.json',
      'snapshot/maintenances.json',
      'objects/leases.coordination.k8s.io.json',
      'objects/maintenanceapprovals.drydock.dev.json',
    ])
      assert.ok(names.includes(name), `${name} in ${names.join()}`);
    const texts = names
      .filter(name => statSync(join(inside, name)).isFile())
      .map(name => readFileSync(join(inside, name), 'utf8'));
    assert.ok(
      texts.every(text => !text.includes(secret)),
      'no value of a variable, argument or Secret',
    );
    assert.ok(
      texts.some(text => text.includes('"PASSWORD"')),
      'the workload is there',
    );
    assert.match(
      readFileSync(join(inside, 'snapshot', 'maintenances.json'), 'utf8'),
      /"phase": ?"Drained"/,
    );
    assert.match(
      readFileSync(join(inside, 'left-out.txt'), 'utf8'),
      /^metrics: the operator requires a token .*: run metrics\/how-to-get-them\.sh of the archive$/m,
    );
    const byHand = readFileSync(join(inside, 'metrics', 'how-to-get-them.sh'), 'utf8');
    assert.match(
      byHand,
      /^kubectl create clusterrolebinding \S+ --clusterrole=drydock-metrics-reader --serviceaccount=drydock-system:default$/m,
    );
    assert.equal(
      (await run('sh', ['-n', join(inside, 'metrics', 'how-to-get-them.sh')])).code,
      0,
      'a shell can read it',
    );
  });

  test('a wrong name of the archive is refused in one line, with 2', async () => {
    const { code, stderr } = await say('support-bundle', 'x.zip');
    assert.deepEqual(
      [code, stderr],
      [2, 'drydock: x.zip does not end in .tar.gz: choose a name that does\n'],
    );
  });
});

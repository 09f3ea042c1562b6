import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { create } from '../control-plane/objects/cluster.ts';
import type { Outcome } from '../control-plane/processes/command.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { until } from '../control-plane/wait.ts';
import { maintenance } from '../operator/harness/look.ts';
import { drydock } from '../operator/harness/shipped.ts';

/** A part that is left out later goes, and what is not left out is brought along. */

const started = await startControlPlane({});
const leftOut = started.kind === 'left-out' ? `control plane left out: ${started.why}` : false;
const skip =
  leftOut ||
  (started.kind === 'started' &&
    started.external &&
    'it installs itself: it needs a control plane of its own');
const controlPlane = started as ControlPlane;
const webhooks = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
const configuration = 'validatingwebhookconfiguration.admissionregistration.k8s.io/drydock';

describe('parts that are left out', { skip, timeout: 240_000 }, () => {
  const { api } = controlPlane;
  after(() => controlPlane.stop());

  const install = (...args: readonly string[]): Promise<Outcome> =>
    drydock(['install', '--apply', ...args, '--kubeconfig', controlPlane.kubeconfig]);
  const status = async (path: string): Promise<number> => (await api.call('GET', path)).status;
  /** Lines about what was removed. */
  const prunedBy = ({ stdout }: Outcome): readonly string[] =>
    stdout.split('\n').filter(line => / pruned/.test(line));

  test('the webhook goes before the operator ceases to serve it, a dry run says so, and creates go on', async () => {
    assert.equal((await install()).code, 0);
    const dry = await install('--without', 'webhook', '--dry-run=server');
    assert.equal(dry.code, 0, dry.stderr);
    assert.deepEqual(prunedBy(dry), [
      `${configuration} pruned (server dry run)`,
      'service/drydock-webhook pruned (server dry run)',
    ]);
    assert.match(dry.stdout, /^deployment\.apps\/drydock serverside-applied \(server dry run\)$/m);
    assert.equal(await status(`${webhooks}/drydock`), 200, 'a dry run changes nothing');

    const without = await install('--without', 'webhook');
    assert.equal(without.code, 0, without.stderr);
    assert.deepEqual(prunedBy(without), [
      `${configuration} pruned`,
      'service/drydock-webhook pruned',
    ]);
    const lines = without.stdout.split('\n');
    assert.ok(
      lines.indexOf(`${configuration} pruned`) <
        lines.indexOf('deployment.apps/drydock serverside-applied'),
      without.stdout,
    );
    assert.equal(await status(`${webhooks}/drydock`), 404);
    await create(api, maintenance('n1'));
    assert.deepEqual(prunedBy(await install('--without', 'webhook')), []);
  });

  test('parts that were added are brought along until they are left out; each of them goes with all that it brought', async () => {
    const parts = ['machine-api', 'virtual-machines', 'plans', 'agent', 'api-priority'];
    const first = await install('--with', ...parts);
    assert.equal(first.code, 0, first.stderr);
    const again = await install('--image', 'example.test/drydock:7');
    for (const part of parts)
      assert.match(
        again.stdout,
        new RegExp(`^${part}: kept, because it is installed; --without ${part} prunes it$`, 'm'),
      );
    assert.match(
      again.stdout,
      /^daemonset\.apps\/drydock-agent serverside-applied$/m,
      'the agent is of the new version as well',
    );
    assert.deepEqual(prunedBy(again), []);

    const brought = first.stdout
      .split('\n')
      .flatMap(line => /^(\S+) serverside-applied$/.exec(line)?.[1] ?? []);
    const gone = await install('--without', ...parts);
    assert.equal(gone.code, 0, gone.stdout + gone.stderr);
    const usual = (await drydock(['install'])).stdout;
    const expected = brought.filter(name => !usual.includes(`  name: ${name.split('/')[1]}\n`));
    assert.ok(expected.length > 20, expected.join());
    for (const name of expected) assert.ok(prunedBy(gone).includes(`${name} pruned`), name);
    assert.doesNotMatch(
      prunedBy(gone).join('\n'),
      /customresourcedefinition|medik8s-leases|node-maintenance|drydock-operator|drydock-system/,
    );
    assert.equal(
      await status('/apis/rbac.authorization.k8s.io/v1/clusterroles/drydock-plans'),
      404,
    );
  });

  test('what somebody else has made is not touched: in a namespace that goes, under the same labels, or under the same name', async () => {
    await until(
      'the namespace to be gone',
      async () => (await status('/api/v1/namespaces/drydock-agent')) === 404,
    );
    const first = await install('--with', 'agent', 'api-priority');
    assert.equal(first.code, 0, first.stdout + first.stderr);
    const labels = { 'app.kubernetes.io/part-of': 'drydock', 'app.kubernetes.io/name': 'drydock' };
    await create(api, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'theirs', namespace: 'drydock-agent' },
    });
    await create(api, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'ours-too', namespace: 'drydock-system', labels },
    });
    const extra = { ...labels, 'drydock.dev/installation': 'drydock-system' };
    await create(api, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'own-overlay', namespace: 'drydock-system', labels: extra },
    });
    const gone = await install('--without', 'agent', 'api-priority');
    assert.equal(gone.code, 0, gone.stdout + gone.stderr);
    assert.match(
      gone.stdout,
      /^namespace\/drydock-agent left alone: it also has Secret theirs; kubectl delete namespace drydock-agent removes it with all that is in it$/m,
    );
    assert.equal(await status('/api/v1/namespaces/drydock-agent/secrets/theirs'), 200);
    assert.equal(
      await status('/apis/apps/v1/namespaces/drydock-agent/daemonsets/drydock-agent'),
      404,
    );
    for (const name of ['ours-too', 'own-overlay'])
      assert.equal(await status(`/api/v1/namespaces/drydock-system/configmaps/${name}`), 200, name);
  });

  test('a second installation is refused before it changes anything, and so is told by check', async () => {
    const roles = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/drydock-operator';
    const before = await api.get(roles);
    const second = await install('--namespace', 'maint-b');
    assert.equal(second.code, 1);
    assert.equal(second.stdout, '');
    assert.equal(
      second.stderr,
      'drydock: Drydock is installed in namespace drydock-system, and there can be one installation in a cluster: --namespace drydock-system changes that one, drydock uninstall --namespace drydock-system removes it\n',
    );
    assert.deepEqual(await api.get(roles), before);
    assert.equal(await status('/api/v1/namespaces/maint-b'), 404);

    // By other tools it can be done.
    const printed = (await drydock(['install', '--namespace', 'maint-b'])).stdout;
    const file = join(controlPlane.folder, 'second.yaml');
    writeFileSync(file, printed);
    const applied = await controlPlane.kubectl([
      'apply',
      '--server-side',
      '--force-conflicts',
      '-f',
      file,
    ]);
    assert.equal(applied.code, 0, applied.stderr);
    const checked = await drydock(['check', '--kubeconfig', controlPlane.kubeconfig]);
    assert.match(
      checked.stdout,
      /^FAIL {2}one operator {8}Drydock is installed 2 times: (drydock-system\/drydock, maint-b\/drydock)\n {26}help: drydock uninstall --namespace /m,
    );
  });

  test('nothing is left out that could not be: a part both with and without is refused, and so is a dry run of printing', async () => {
    for (const [args, text] of [
      [['--with', 'plans', '--without', 'plans'], /plans cannot be installed --with and --without/],
      [['--dry-run=server'], /--dry-run is for --apply/],
    ] as const) {
      const { code, stderr } = await drydock(['install', ...args]);
      assert.equal(code, 2);
      assert.match(stderr, text);
    }
  });
});

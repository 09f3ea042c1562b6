import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { create } from '../control-plane/objects/cluster.ts';
import { node } from '../control-plane/objects/manifests.ts';
import { type Outcome, run } from '../control-plane/processes/command.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { drydock, main } from '../operator/harness/shipped.ts';

/** What a command says where something is missing: one sentence, and what to do about it. */

const people = { nobody: [], viewer: [], editor: [], drainer: [] } as const;
const started = await startControlPlane({ users: people });
const leftOut = started.kind === 'left-out' ? `control plane left out: ${started.why}` : false;
const skip =
  leftOut ||
  (started.kind === 'started' && started.external && 'it needs a cluster without Drydock');
const controlPlane = started as ControlPlane;

const all = [
  'drain n1',
  'cordon n1',
  'uncordon n1',
  'maintain n1',
  'release n1',
  'status',
  'why n1',
  'windows',
  'rehearse n1',
];
const kubectls = ['drain', 'cordon', 'uncordon'];
function nameOf(command: string): string {
  return command.split(' ')[0] ?? '';
}

describe('a command where something is missing', { skip, timeout: 180_000 }, () => {
  const as = (user: string, command: string): Promise<Outcome> =>
    drydock([...command.split(' '), '--kubeconfig', controlPlane.kubeconfigOf(user)]);
  before(() => create(controlPlane.api, node('n1')));
  after(() => controlPlane.stop());

  test('no cluster is configured', async () => {
    const environment = { KUBECONFIG: '', HOME: '/there/is/none' };
    for (const command of [
      ...all,
      'install --apply',
      'snapshot /there/is/none',
      'dashboard',
      'operator',
      'agent --node-name n1',
    ]) {
      const { code, stdout, stderr } = await run(process.execPath, [main, ...command.split(' ')], {
        environment,
      });
      assert.deepEqual([code, stdout], [kubectls.includes(nameOf(command)) ? 1 : 2, ''], command);
      assert.match(
        stderr,
        /^drydock: no cluster is configured: [^\n]*name one with --kubeconfig[^\n]*\n$/,
        command,
      );
    }
  });

  test('nobody answers at the address', async () => {
    for (const command of [...all, 'install --apply', 'snapshot /there/is/none', 'dashboard']) {
      const { code, stdout, stderr } = await as('admin', `${command} --server https://127.0.0.1:1`);
      assert.deepEqual([code, stdout], [1, ''], command);
      assert.match(
        stderr,
        /^drydock: [A-Z]+ \/[^\n]* at https:\/\/127\.0\.0\.1:1: [^\n]*\. Check the address[^\n]*\n$/,
        command,
      );
    }
  });

  test('the kinds are not installed', async () => {
    const remedy =
      /^the cluster does not serve Maintenances yet: drydock install --apply, or drydock crds \| kubectl apply --server-side -f -\n$/;
    for (const command of ['maintain n1', 'release n1']) {
      const { code, stdout, stderr } = await as('admin', command);
      assert.deepEqual([code, stdout], [1, ''], command);
      assert.match(stderr, remedy);
    }
    for (const command of ['status', 'windows']) {
      const { code, stdout, stderr } = await as('admin', command);
      assert.deepEqual(
        [code, stdout.split('\n').length],
        [0, 2],
        'what it was asked for is answered',
      );
      assert.match(stderr, remedy);
    }
  });

  test('the namespace is not there', async () => {
    const why = await as('admin', 'why no-such-space/web-1');
    assert.deepEqual(
      [why.code, why.stdout, why.stderr],
      [
        1,
        '',
        'Error from server (NotFound): namespaces "no-such-space" not found; kubectl get namespaces lists the namespaces\n',
      ],
    );
    const install = await as(
      'admin',
      'install --apply --without crds rbac webhook --namespace no-such-space',
    );
    assert.equal(install.code, 1);
    assert.match(
      install.stdout,
      /^deployment\.apps\/drydock FAILED: namespaces "no-such-space" not found; run kubectl create namespace no-such-space, or install the part that contains it$/m,
    );
  });

  test('the right is missing: the role that is enough is named, and it is enough', async () => {
    assert.equal((await as('admin', 'install --apply --without operator webhook')).code, 0);
    const help =
      /^help: the role (\S+) is enough: (kubectl create clusterrolebinding \S+ --clusterrole=\S+ --user=\S+)$/m;
    const users = {
      'drydock-maintenance-viewer': 'viewer',
      'drydock-maintenance-editor': 'editor',
      'drydock-drainer': 'drainer',
    } as const;
    for (const command of all) {
      const refused = await as('nobody', command);
      assert.deepEqual(
        [refused.code, refused.stdout, refused.stderr.split('\n').length],
        [1, '', 3],
        command,
      );
      assert.match(
        refused.stderr,
        /^[^\n]+ is forbidden: User "nobody" cannot [^\n]+\nhelp: /,
        command,
      );
      const [, role = '', binding = ''] = help.exec(refused.stderr) ?? [];
      const user = users[role as keyof typeof users];
      await controlPlane.kubectl(binding.replaceAll('nobody', user).split(' ').slice(1));
      const options = nameOf(command) === 'release' ? ' --no-wait' : '';
      const allowed = await as(user, command + options);
      assert.equal(allowed.code, 0, `${command} as ${user}: ${allowed.stderr}`);
    }
    const install = await as('nobody', 'install --apply');
    assert.match(
      install.stderr,
      /^missing: [^\n]+\n(missing: [^\n]+\n)+drydock: your user lacks the rights above, and drydock has changed nothing: run the command with the rights of cluster-admin\n$/,
    );
  });
});

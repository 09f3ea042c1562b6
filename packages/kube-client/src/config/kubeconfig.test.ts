import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { KubeconfigError, loadKubeconfig } from './kubeconfig.ts';
import { chooseContext } from './user-credentials.ts';

async function folder(files: Readonly<Record<string, string>>) {
  const path = await mkdtemp(join(tmpdir(), 'drydock-kubeconfig-'));
  for (const [name, text] of Object.entries(files)) await writeFile(join(path, name), text);
  return {
    path,
    at: (name: string) => join(path, name),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true }),
  };
}

const one = `
current-context: a
contexts: [{name: a, context: {cluster: c, user: u, namespace: team}}, {name: lost, context: {cluster: nowhere, user: u}}]
clusters: [{name: c, cluster: {server: "https://one", certificate-authority: certs/ca.crt}}]
users: [{name: u, user: {tokenFile: token, client-certificate: /abs/cert, exec: null}}]
`;
const two = `
current-context: b
contexts: [{name: a, context: {cluster: other}}, {name: b, context: {cluster: c, user: v}}]
clusters: [{name: c, cluster: {server: "https://two"}}]
users: [{name: v, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: bin/login}}}]
`;

test('the first file wins, name by name; paths are relative to their file; files that are missing are left out', async () => {
  await using it = await folder({ one, two });
  const config = await loadKubeconfig([it.at('none'), it.at('one'), it.at('two')], 'skip');
  const a = chooseContext(config);
  assert.deepEqual([a.name, a.namespace, a.cluster.server], ['a', 'team', 'https://one']);
  assert.equal(a.cluster['certificate-authority'], it.at('certs/ca.crt'));
  assert.deepEqual(a.user, { tokenFile: it.at('token'), 'client-certificate': '/abs/cert' });
  const b = chooseContext(config, 'b');
  assert.deepEqual(
    [b.namespace, b.cluster.server, b.user.exec?.command],
    ['default', 'https://one', it.at('bin/login')],
  );
});

test('what is missing is named, with what there is instead', async () => {
  await using it = await folder({ one, none: 'contexts: []', odd: 'a: [', list: '[]' });
  const config = await loadKubeconfig([it.at('one')], 'fail');
  assert.throws(
    () => chooseContext(config, 'x'),
    /there is no context "x" in .*one; there are: a, lost/,
  );
  assert.throws(
    () => chooseContext(config, 'lost'),
    /context "lost" names the cluster "nowhere", which is not in/,
  );
  const empty = await loadKubeconfig([it.at('none')], 'fail');
  assert.throws(
    () => chooseContext(empty),
    /has no current context; choose one with --context: none/,
  );
  await assert.rejects(
    loadKubeconfig([it.at('nope')], 'fail'),
    /cannot read the kubeconfig .*nope/,
  );
  await assert.rejects(loadKubeconfig([it.at('odd')], 'fail'), KubeconfigError);
  await assert.rejects(loadKubeconfig([it.at('list')], 'fail'), /it is not a mapping/);
});

test('flags take the place of what the kubeconfig says, in whatever form it says it', async () => {
  await using it = await folder({ one, two });
  const config = await loadKubeconfig([it.at('one'), it.at('two')], 'skip');
  const other = chooseContext(config, undefined, {
    userName: 'v',
    cluster: { server: 'https://three' },
  });
  assert.deepEqual(
    [other.cluster.server, other.user.exec?.command],
    ['https://three', it.at('bin/login')],
  );
  const trusting = chooseContext(config, undefined, {
    cluster: { 'insecure-skip-tls-verify': true },
  });
  assert.equal(trusting.cluster['certificate-authority'], undefined);
  const bearer = chooseContext(config, undefined, { user: { token: 't', as: 'jane' } });
  assert.deepEqual(
    [bearer.user.token, bearer.user.tokenFile, bearer.user.as],
    ['t', undefined, 'jane'],
  );
  assert.throws(
    () => chooseContext(config, undefined, { clusterName: 'none' }),
    /names the cluster "none", which is not in/,
  );
});

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { adaptToServerVersion } from './install-locate.ts';
import { manifests } from './inventory.ts';
import { defaultNamespace } from './rollout.ts';

const all = manifests({
  parts: new Set(['crds', 'rbac']),
  groups: [],
  namespace: defaultNamespace,
});

test('for 1.30 the definitions lack their selectable fields, nothing else does, and it is said once', () => {
  assert.match(JSON.stringify(all), /selectableFields/);
  const old = adaptToServerVersion(all, { minor: 30 });
  assert.doesNotMatch(JSON.stringify(old.all), /selectableFields/);
  assert.match(
    old.leftOut.join('\n'),
    /^left out, because Kubernetes 1\.30 lacks field selectors of custom resources \(since 1\.31\): kubectl get .* is refused$/,
  );
  const differing = old.all.filter(
    (one, index) => JSON.stringify(one) !== JSON.stringify(all[index]),
  );
  assert.ok(
    differing.length > 0 && differing.every(({ kind }) => kind === 'CustomResourceDefinition'),
  );
});

test('for a release that lacks nothing they are what they are', () => {
  assert.deepEqual(adaptToServerVersion(all, { minor: 31 }), { all, leftOut: [] });
});

const main = join(import.meta.dirname, '..', 'main.mjs');
function install(...args: readonly string[]) {
  return spawnSync(process.execPath, [main, 'install', ...args], { encoding: 'utf8' });
}

test('--kube-version prints for a release; it takes nothing else, and not with --apply', () => {
  assert.match(install().stdout, /selectableFields/);
  for (const version of ['1.30', 'v1.30.14']) {
    const { status, stdout } = install('--kube-version', version);
    assert.equal(status, 0);
    assert.doesNotMatch(stdout, /selectableFields/);
  }
  for (const args of [
    ['--kube-version', '30'],
    ['--kube-version', '1.30', '--apply'],
  ]) {
    const { status, stderr } = install(...args);
    assert.equal(status, 2, stderr);
    assert.match(stderr, /^drydock: .*--kube-version/);
  }
});

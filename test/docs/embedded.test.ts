import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { kubernetesVersion } from '@drydock/kube-sim';
import { newest } from '../control-plane/releases.ts';

const root = join(import.meta.dirname, '..', '..');

test('the example of docs/embedded.md runs, and its node is Ready when ten seconds have passed', () => {
  const [, example = ''] =
    /```ts\n(.*?)```/s.exec(readFileSync(join(root, 'docs', 'embedded.md'), 'utf8')) ?? [];
  const look = `
    const { body } = await api.call({ method: 'GET', path: '/api/v1/nodes/n1' });
    console.log(clock.now().toString(), JSON.stringify(body));
    const spec = { containers: [{ name: 'main', image: 'example.test/none:1' }] };
    const pods = '/api/v1/namespaces/default/pods';
    await api.call({ method: 'POST', path: pods, body: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'one' }, spec } });
    await clock.advance(10_000);
    const pod = await api.call({ method: 'GET', path: pods + '/one' });
    console.log(pod.body.status.phase, pod.body.spec.nodeName);
    runtime.stop();`;
  const run = spawnSync(
    process.execPath,
    ['--input-type=module-typescript', '--eval', example + look],
    { cwd: root, encoding: 'utf8' },
  );
  assert.equal(run.status, 0, run.stderr);
  assert.match(run.stdout, /^2026-01-01T00:00:10Z .*"type":"Ready","status":"True"/);
  assert.match(run.stdout, /^Running n1$/m, 'a node of which nobody says what it has takes pods');
});

test('the embedded cluster says that it is the release that the tests compare it with', () => {
  assert.equal(kubernetesVersion, newest.version);
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { run } from '../../control-plane/processes/command.ts';
import type { NodeBed } from '../bed.ts';
import { onBed, replicas } from '../product.ts';

/**
 * On a bed with the product installed by its chart, and settled: what the archive for support says
 * of metrics, as somebody does it.
 */
export function metricsCase(bed: NodeBed): void {
  const { api, controlPlane } = bed;
  test('the script in an archive for support gets the metrics that are served over HTTPS', async () => {
    const folder = join(controlPlane.folder, 'support');
    mkdirSync(folder);
    const bundle = join(folder, 'support.tar.gz');
    const made = await onBed(bed, 'support-bundle', bundle);
    assert.equal(made.code, 0, made.stderr);
    assert.equal((await run('tar', ['-xzf', bundle, '-C', folder])).code, 0);
    const script = readdirSync(folder, { recursive: true, encoding: 'utf8' }).find(name =>
      name.endsWith('how-to-get-them.sh'),
    );
    const environment = {
      KUBECONFIG: controlPlane.kubeconfig,
      PATH: `${dirname(controlPlane.kubectlPath)}:${process.env['PATH'] ?? ''}`,
    };
    const byHand = () => run('sh', [join(folder, script ?? 'none')], { cwd: folder, environment });
    const isThere = (pod: string): boolean => existsSync(join(folder, `${pod}.metrics.txt`));
    const names = (await replicas(api)).map(({ metadata }) => metadata.name);
    let heard = 0;
    const other = createServer(socket => {
      heard += 1;
      socket.destroy();
    });
    other.listen(18_443, '127.0.0.1');
    await once(other, 'listening');
    await byHand();
    assert.deepEqual(
      [heard, names.filter(isThere)],
      [0, []],
      'whoever else listens there hears nothing',
    );
    other.close();
    await once(other, 'close');
    const { code, stdout, stderr } = await byHand();
    assert.equal(code, 0, stdout + stderr);
    for (const name of names)
      assert.match(
        readFileSync(join(folder, `${name}.metrics.txt`), 'utf8'),
        /^drydock_held_nodes \d/m,
        stdout + stderr,
      );
    const left = await api.call(
      'GET',
      '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/drydock-metrics-once',
    );
    assert.equal(left.status, 404, 'it takes away the right that it has given');
  });
}

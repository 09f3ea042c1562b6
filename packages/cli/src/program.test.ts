import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { version } from './shared/version.ts';

const main = join(import.meta.dirname, 'main.mjs');

type Ended = { readonly code: number | null; readonly out: string; readonly err: string };

/** Nothing of the caller's own cluster is to be found in the environment. */
async function drydock(...args: readonly string[]): Promise<Ended> {
  const { KUBECONFIG: _config, KUBERNETES_SERVICE_HOST: _host, ...env } = process.env;
  const child = spawn(process.execPath, [main, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...env, HOME: '/nonexistent' },
  });
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  child.once('error', reject).once('close', resolve);
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), promise]);
  assert.doesNotMatch(err, /^\s+at /m, 'no stack trace, whatever happens');
  return { code, out, err };
}

function linesOf(output: string): readonly string[] {
  return output.split('\n').filter(line => line !== '');
}

describe('the program', { concurrency: 2, timeout: 60_000 }, () => {
  test('without arguments it prints its help, with the first steps, and is content', async () => {
    const { code, out, err } = await drydock();
    assert.deepEqual([code, err], [0, '']);
    assert.match(out, /^Usage: /m);
    assert.match(out, /drydock maintain NODE/);
  });

  test('help and version are no errors', async () => {
    const [help, own] = await Promise.all([drydock('operator', '--help'), drydock('--version')]);
    assert.equal(help.code, 0);
    assert.match(help.out, /--metrics-bind-address/);
    assert.doesNotMatch(help.out, /--zap-devel/, 'what changes nothing is not offered');
    assert.deepEqual(own, { code: 0, out: `${version()}\n`, err: '' });
  });

  test('an unknown command is a wrong call', async () => {
    const { code, out, err } = await drydock('dry');
    assert.deepEqual([code, out], [2, '']);
    assert.match(err, /unknown command 'dry'/);
    assert.match(err, /--help/);
  });

  test('a dashboard that a network could reach is refused', async () => {
    const { code, out, err } = await drydock('operator', '--dashboard-bind-address=:8721');
    assert.deepEqual([code, out], [2, '']);
    assert.match(
      err,
      /^drydock: --dashboard-bind-address is ":8721"; the dashboard is served on loopback addresses only/,
    );
  });

  test('a port that is none is a wrong call', async () => {
    for (const command of ['demo', 'dashboard']) {
      const { code, out, err } = await drydock(command, '--port=http');
      assert.deepEqual(
        [code, out, linesOf(err)],
        [
          2,
          '',
          [
            'drydock: invalid value "http" for --port: expected a number up to 65535, or 0 for any free port',
          ],
        ],
      );
    }
  });

  test('an unknown flag is a wrong call', async () => {
    const { code, out, err } = await drydock('operator', '--colour=blue');
    assert.deepEqual([code, out], [2, '']);
    assert.match(err, /unknown option '--colour=blue'/);
  });

  test('a bad value is a wrong call, told in one line', async () => {
    const { code, out, err } = await drydock('operator', '-leader-elect=maybe');
    assert.deepEqual([code, out], [2, '']);
    assert.deepEqual(linesOf(err), [
      'drydock: invalid value "maybe" for --leader-elect: expected true or false',
    ]);
  });

  test('without a cluster it says where it has looked, in one line', async () => {
    const [status, missing] = await Promise.all([
      drydock('status'),
      drydock('status', '--kubeconfig', '/nonexistent/config'),
    ]);
    assert.deepEqual([status.code, status.out, linesOf(status.err).length], [2, '', 1]);
    assert.match(status.err, /^drydock: .*KUBECONFIG/);
    assert.deepEqual([missing.code, linesOf(missing.err).length], [2, 1]);
    assert.match(missing.err, /\/nonexistent\/config/);
  });

  test('the CRDs are one stream of YAML documents, one a served kind', async () => {
    const { code, out, err } = await drydock('crds');
    assert.deepEqual([code, err], [0, '']);
    const documents = parseAllDocuments(out);
    assert.deepEqual(
      documents.flatMap(document => ('errors' in document ? document.errors : [document])),
      [],
    );
    type Crd = {
      readonly kind: string;
      readonly metadata: { readonly name: string };
      readonly spec: { readonly scope: string };
    };
    const crds = documents.map(document =>
      'toJS' in document ? (document.toJS() as Crd) : undefined,
    );
    assert.deepEqual(
      crds.map(crd => [crd?.kind, crd?.metadata.name, crd?.spec.scope]),
      [
        ['CustomResourceDefinition', 'machineeventsources.drydock.dev', 'Cluster'],
        [
          'CustomResourceDefinition',
          'machinemaintenances.machinemaintenance.managed.openshift.io',
          'Namespaced',
        ],
        ['CustomResourceDefinition', 'maintenanceapprovals.drydock.dev', 'Cluster'],
        ['CustomResourceDefinition', 'maintenanceplanrecords.drydock.dev', 'Cluster'],
        ['CustomResourceDefinition', 'maintenanceplans.drydock.dev', 'Cluster'],
        ['CustomResourceDefinition', 'maintenances.drydock.dev', 'Cluster'],
        ['CustomResourceDefinition', 'maintenancewindows.drydock.dev', 'Cluster'],
        ['CustomResourceDefinition', 'nodemaintenances.nodemaintenance.medik8s.io', 'Cluster'],
        ['CustomResourceDefinition', 'nodenotices.drydock.dev', 'Cluster'],
      ],
    );
  });
});

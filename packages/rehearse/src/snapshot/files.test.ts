import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import type { Api, ApiCall } from '@drydock/kube-client';
import { readCopy, SnapshotError, takeCopy, writeCopy } from './files.ts';
import { redacted } from './kept-fields.ts';

const now = Temporal.Instant.from('2026-11-21T08:00:00Z');
const node: JsonObject = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n1', creationTimestamp: '2026-11-20T08:00:00Z' },
};
const pod: JsonObject = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'shop' },
};

function inFolder(work: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'drydock-copy-'));
  try {
    work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('a copy of a cluster', () => {
  test('values of variables, arguments, headers, applied objects, annotations of others, managed fields and first words to VMs are not in it', () => {
    const container = {
      name: 'main',
      args: ['--password=secret-4'],
      command: ['run', 'secret-5'],
      livenessProbe: {
        httpGet: { httpHeaders: [{ name: 'Authorization', value: 'secret-6' }] },
        periodSeconds: 3,
      },
      env: [
        { name: 'PASSWORD', value: 'secret-1' },
        { name: 'HOME', valueFrom: { fieldRef: {} } },
      ],
    };
    const object = redacted({
      kind: 'Deployment',
      metadata: {
        name: 'web',
        managedFields: [{ manager: 'x' }],
        annotations: {
          'kubectl.kubernetes.io/last-applied-configuration': 'secret-2',
          'vault.example.com/token': 'secret-7',
          'batch.kubernetes.io/kept': 'yes',
        },
      },
      spec: {
        template: {
          metadata: { annotations: { 'example.com/key': 'secret-8' } },
          spec: {
            containers: [container],
            volumes: [{ cloudInitNoCloud: { userData: 'secret-3' } }],
          },
        },
      },
    });
    assert.doesNotMatch(JSON.stringify(object), /secret-|managedFields/);
    assert.match(JSON.stringify(object), /"PASSWORD"/);
    assert.match(JSON.stringify(object), /kept":"yes".*"periodSeconds":3/);
    const node = redacted({
      kind: 'Node',
      metadata: { name: 'n', annotations: { 'cloud.example.com/notice': 'reboot' } },
    });
    assert.match(
      JSON.stringify(node),
      /"reboot"/,
      'a signal of its machine may stand in any of them',
    );
  });

  test('what is written is read again; lists and single objects of kubectl are taken as well', () => {
    inFolder(folder => {
      const files = writeCopy(join(folder, 'copy'), {
        snapshotTime: now,
        objects: [node, pod],
        leftOut: ['jobs: forbidden'],
      });
      assert.deepEqual(files, ['nodes.json', 'pods.json', 'snapshot.json']);
      assert.deepEqual(
        [join(folder, 'copy'), join(folder, 'copy', 'pods.json')].map(file =>
          (statSync(file).mode & 0o777).toString(8),
        ),
        ['700', '600'],
        'nobody else may look',
      );
      assert.deepEqual(readCopy(join(folder, 'copy')), {
        snapshotTime: now,
        objects: [node, pod],
        leftOut: ['jobs: forbidden'],
      });
      const foreign = join(folder, 'copy', 'foreign');
      writeCopy(foreign, { snapshotTime: now, objects: [], leftOut: [] });
      rmSync(join(foreign, 'snapshot.json'));
      writeFileSync(
        join(foreign, 'all.json'),
        JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [node, pod] }),
      );
      writeFileSync(
        join(foreign, 'typed.json'),
        JSON.stringify({ apiVersion: 'v1', kind: 'PodList', items: [{ metadata: { name: 'q' } }] }),
      );
      const read = readCopy(foreign);
      assert.deepEqual(
        read.objects.map(({ kind }) => kind),
        ['Node', 'Pod', 'Pod'],
      );
      assert.equal(
        read.snapshotTime.toString(),
        '2026-11-20T08:00:00Z',
        'the last moment that is spoken of',
      );
    });
  });

  test('what is no copy is told in one sentence', () => {
    inFolder(folder => {
      const failing = (pattern: RegExp): void =>
        assert.throws(() => readCopy(folder), { name: 'SnapshotError', message: pattern });
      failing(/holds no nodes: drydock snapshot /);
      writeFileSync(join(folder, 'a.json'), '{"kind":');
      failing(/a\.json cannot be read: /);
      writeFileSync(join(folder, 'a.json'), '{"items":[{"a":1}]}');
      failing(/no object of Kubernetes/);
      assert.throws(() => readCopy(join(folder, 'missing')), SnapshotError);
      assert.equal(readdirSync(folder).length, 1);
      assert.equal(readFileSync(join(folder, 'a.json'), 'utf8').length > 0, true);
    });
  });

  test('it is read by pages; what may not be read is named, what is not served is not', async () => {
    const calls: ApiCall[] = [];
    const page = (items: readonly JsonObject[], next?: string): object => ({
      items,
      metadata: next === undefined ? {} : { continue: next },
    });
    const answers: Readonly<Record<string, readonly [number, object]>> = {
      '/api/v1/nodes': [200, page([{ metadata: { name: 'n1' } }])],
      '/apis/batch/v1/jobs': [403, { message: 'jobs is forbidden' }],
    };
    const api: Api = {
      call: async call => {
        calls.push(call);
        const isFirst = call.query?.['continue'] === undefined;
        if (call.path === '/api/v1/pods')
          return {
            status: 200,
            headers: {},
            body: page([{ metadata: { name: isFirst ? 'a' : 'b' } }], isFirst ? 'on' : undefined),
          };
        const [status, body] = answers[call.path] ?? [404, {}];
        return { status, headers: {}, body };
      },
    };
    const copy = await takeCopy({ api, now: () => now });
    assert.ok(calls.every(({ method }) => method === 'GET'));
    assert.ok(!calls.some(({ path }) => /secret|configmap/.test(path)));
    assert.deepEqual(copy.leftOut, ['jobs: jobs is forbidden']);
    assert.deepEqual(
      copy.objects.map(({ kind, metadata }) => [kind, (metadata as JsonObject)['name']]),
      [
        ['Node', 'n1'],
        ['Pod', 'a'],
        ['Pod', 'b'],
      ],
    );
    const blind: Api = {
      call: async () => ({ status: 403, headers: {}, body: { message: 'nodes is forbidden' } }),
    };
    await assert.rejects(
      takeCopy({ api: blind, now: () => now }),
      /cannot read nodes: nodes is forbidden/,
    );
  });
});

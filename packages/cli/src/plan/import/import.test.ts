import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { at, part } from '@drydock/kube-sim';
import { parseAllDocuments } from 'yaml';
import { secondsIn } from './kured.ts';

const root = join(import.meta.dirname, '..', '..', '..', '..', '..');

type Outcome = {
  readonly code: number;
  readonly objects: readonly JsonObject[];
  readonly notes: readonly string[];
};

function imported(text: string): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'drydock-import-'));
  const file = join(folder, 'old.yaml');
  writeFileSync(file, text);
  return new Promise(resolve => {
    execFile(
      process.execPath,
      [join(root, 'packages', 'cli', 'src', 'main.mjs'), 'plan', 'import', file],
      (error, stdout, stderr) => {
        rmSync(folder, { recursive: true });
        const objects = parseAllDocuments(stdout).map(document => document.toJS() as JsonObject);
        resolve({
          code: error === null ? 0 : Number(error.code),
          objects,
          notes: stderr.trimEnd().split('\n'),
        });
      },
    );
  });
}

/** The examples of the documents: what comes before and after. */
const examples = [
  ...readFileSync(join(root, 'docs', 'moving-to-plans.md'), 'utf8').matchAll(/```yaml\n(.*?)```/gs),
].map(([, text = '']) => text);
function before(what: string): string {
  return (
    examples.find(text => text.includes(what) && !text.includes('kind: MaintenancePlan')) ?? ''
  );
}

describe('drydock plan import', { concurrency: 2, timeout: 60_000 }, () => {
  test('a Plan of system-upgrade-controller: its pod, its nodes, its drain, and what nobody can know', async () => {
    const { code, objects, notes } = await imported(before('kind: Plan\n'));
    const [plan, ...others] = objects;
    assert.deepEqual([code, others], [0, []]);
    const spec = part(plan, 'spec');
    assert.deepEqual(
      [spec['state'], at(spec, 'concurrency', 'maxInFlight'), spec['soakAfterReleaseSeconds']],
      ['Paused', 2, 120],
    );
    assert.deepEqual(at(spec, 'template', 'maintenance', 'drain'), {
      deleteEmptyDirData: true,
      force: true,
    });
    assert.deepEqual(at(spec, 'nodeSelector', 'matchExpressions'), [
      { key: 'plan.upgrade.cattle.io/kernel', operator: 'Exists' },
    ]);
    const pod = part(spec, 'work', 'job', 'podSpec');
    const [container] = pod['containers'] as readonly JsonObject[];
    assert.equal(container?.['image'], 'registry.example.com/kernel-update:6.12.9');
    assert.deepEqual(pod['volumes'], [
      { name: 'host', hostPath: { path: '/' } },
      { name: 'kernel', secret: { secretName: 'kernel' } },
    ]);
    const said = notes.join('\n');
    for (const field of [
      'spec.version',
      'spec.upgrade',
      'spec.nodeSelector',
      'spec.serviceAccountName, spec.secrets',
    ])
      assert.ok(said.includes(`Plan kernel: ${field}: `), `${field} in ${said}`);
  });

  test('one that does not drain leaves the pods where they are, and says so', async () => {
    const { objects, notes } = await imported(`
apiVersion: upgrade.cattle.io/v1
kind: Plan
metadata: {name: bare}
spec: {nodeSelector: {}, upgrade: {image: "example.test/a:1@sha256:0"}, channel: "https://example.test", postCompleteLabels: {a: b}}`);
    assert.deepEqual(
      at(objects[0], 'spec', 'template', 'maintenance', 'drain', 'podSelector', 'matchLabels'),
      {
        'drydock.dev/drained': 'none',
      },
    );
    for (const field of ['spec.channel', 'spec.drain, spec.cordon', 'spec.postCompleteLabels'])
      assert.ok(notes.join('\n').includes(field), field);
  });

  test('the DaemonSet of kured: the built-in reboot, its times as a window, and each flag that has no counterpart', async () => {
    const command = before('/usr/bin/kured').match(/(?<=- ).+/g) ?? [];
    const args = [
      '--notify-url',
      'slack://secret',
      '--what-is-new=1',
      '--blocking-pod-selector=job=long',
    ];
    const container = { name: 'kured', image: 'ghcr.io/kubereboot/kured:1.23.0', command, args };
    const daemonSet = {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: 'kured' },
      spec: { template: { spec: { containers: [container] } } },
    };
    const { code, objects, notes } = await imported(JSON.stringify(daemonSet));
    assert.equal(code, 0, notes.join('\n'));
    const [plan, window] = objects;
    assert.deepEqual(part(plan, 'spec')['work'], { reboot: { timeoutSeconds: 1200 } });
    assert.deepEqual(at(plan, 'spec', 'onFailure'), {
      drainStuck: { afterSeconds: 1800, times: 100 },
    });
    assert.equal(at(plan, 'spec', 'soakAfterReleaseSeconds'), 300);
    assert.deepEqual(part(window, 'spec'), {
      kinds: ['MaintenancePlan'],
      timeZone: 'Europe/Berlin',
      openings: [{ weekdays: ['Tue', 'Wed', 'Thu'], start: '01:00', duration: '4h' }],
    });
    const said = notes.join('\n');
    for (const flag of ['--reboot-sentinel', '--notify-url', '--what-is-new'])
      assert.ok(said.includes(`DaemonSet kured: ${flag}: `), said);
    assert.doesNotMatch(said, /secret|--concurrency/, 'values are not repeated');
  });

  test('a MachineConfigPool: as many nodes at once, and none while the pool is being updated', async () => {
    const { code, objects, notes } = await imported(before('kind: MachineConfigPool'));
    const [plan] = objects;
    assert.equal(code, 0);
    assert.deepEqual(at(plan, 'spec', 'concurrency'), { maxInFlight: 2, maxUnavailable: 2 });
    assert.equal(
      at((at(plan, 'spec', 'gates') as readonly JsonObject[])[0], 'object', 'name'),
      'worker',
    );
    assert.ok(notes.some(note => note.startsWith('MachineConfig 99-worker-reboot: skipped')));
  });

  test('what cannot be imported is a wrong call, told in one line', async () => {
    const wrong = async (text: string): Promise<string> => {
      const { code, objects, notes } = await imported(text);
      assert.deepEqual([code, objects, notes.length], [2, [], 1], notes.join('\n'));
      return notes[0] ?? '';
    };
    assert.match(await wrong('a: [b'), /is not valid YAML/);
    assert.match(await wrong(''), /contains no Plan of system-upgrade-controller/);
    const plan = (spec: string): string =>
      `{apiVersion: upgrade.cattle.io/v1, kind: Plan, metadata: {name: x}, spec: ${spec}}`;
    assert.match(
      await wrong(plan('{upgrade: {image: "a:1"}}')),
      /Plan x cannot be imported: it has no spec.nodeSelector/,
    );
    assert.match(
      await wrong(plan('{nodeSelector: {}, upgrade: {}}')),
      /Plan x cannot be imported: spec\.work\.job\.podSpec\.containers\.0\.image/,
    );
  });

  test('kured by its variables too, flags above them, the last value of a flag, and each blocking selector by itself', async () => {
    const daemonSet = (container: object, pod: object = {}): string =>
      JSON.stringify({
        apiVersion: 'apps/v1',
        kind: 'DaemonSet',
        metadata: { name: 'kured' },
        spec: {
          template: {
            spec: {
              ...pod,
              containers: [
                { name: 'kured', image: 'ghcr.io/kubereboot/kured:1.23.0', ...container },
              ],
            },
          },
        },
      });
    const { code, objects, notes } = await imported(
      daemonSet(
        {
          command: [
            '/usr/bin/kured',
            '--concurrency=2',
            '--concurrency',
            '3',
            '--reboot-signal=39',
            '--drain-grace-period=0',
          ],
          args: [
            '--blocking-pod-selector=runtime=long,cost=expensive',
            '--blocking-pod-selector=name=temperamental',
            '--blocking-pod-selector=a b',
            '--drain-timeout=soon',
          ],
          env: [
            { name: 'KURED_NODE_ID', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
            { name: 'KURED_CONCURRENCY', value: '9' },
            { name: 'KURED_LOCK_RELEASE_DELAY', value: '90s' },
            { name: 'KURED_REBOOT_DAYS', value: 'mon,TUESDAY' },
            { name: 'KURED_END_TIME', value: '' },
            {
              name: 'KURED_NOTIFY_URL',
              valueFrom: { secretKeyRef: { name: 'kured', key: 'url' } },
            },
          ],
        },
        {
          tolerations: [{ key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' }],
          affinity: { nodeAffinity: {} },
        },
      ),
    );
    assert.equal(code, 0, notes.join('\n'));
    const [plan, window] = objects;
    const spec = part(plan, 'spec');
    assert.deepEqual(
      [
        at(spec, 'concurrency', 'maxInFlight'),
        spec['soakAfterReleaseSeconds'],
        spec['controlPlane'],
      ],
      [3, 90, undefined],
    );
    assert.deepEqual(at(spec, 'template', 'maintenance', 'drain', 'awaitPods'), [
      {
        podSelector: {
          matchExpressions: [
            { key: 'runtime', operator: 'In', values: ['long'] },
            { key: 'cost', operator: 'In', values: ['expensive'] },
          ],
        },
      },
      {
        podSelector: {
          matchExpressions: [{ key: 'name', operator: 'In', values: ['temperamental'] }],
        },
      },
    ]);
    assert.equal(at(spec, 'template', 'maintenance', 'drain', 'gracePeriodSeconds'), 0);
    assert.deepEqual(at(window, 'spec', 'openings'), [
      { weekdays: ['Mon', 'Tue'], start: '00:00', duration: '24h' },
    ]);
    const said = notes.join('\n');
    for (const word of [
      '--blocking-pod-selector: "a b"',
      '--drain-timeout: ',
      'KURED_NOTIFY_URL: ',
      'spec.template.spec.affinity: ',
    ])
      assert.ok(said.includes(`DaemonSet kured: ${word}`), `${word} in ${said}`);
    assert.doesNotMatch(said, /NODE_ID|reboot-signal|KURED_CONCURRENCY/);
    const elsewhere = await imported(daemonSet({ args: ['--reboot-signal=15'] }));
    assert.equal(
      part(elsewhere.objects[0], 'spec')['controlPlane'],
      'Never',
      'its pods do not tolerate the control plane',
    );
    assert.match(elsewhere.notes.join('\n'), /--reboot-signal: the plan sends SIGRTMIN\+5/);
  });

  test('whatever a Plan of system-upgrade-controller says is carried over or named', async () => {
    const { objects, notes } = await imported(`
apiVersion: upgrade.cattle.io/v1
kind: Plan
metadata: {name: odd}
spec:
  nodeSelector: {}
  exclusive: true
  whatIsNew: 1
  secrets: [{name: s, path: /s, defaultMode: 256}]
  drain: {force: true, chunkSize: 4}
  prepare: {image: "a:1"}
  upgrade: {image: "a:1", imagePullPolicy: Always}
  window: {days: [mon], startTime: "21:00"}`);
    const [plan, window] = objects;
    const prepare = at(plan, 'spec', 'prepare', 'job', 'podSpec') as JsonObject;
    assert.equal(
      (prepare['containers'] as readonly JsonObject[])[0]?.['securityContext'],
      undefined,
      'not privileged there either',
    );
    assert.deepEqual((prepare['volumes'] as readonly JsonObject[])[1], {
      name: 's',
      secret: { secretName: 's', defaultMode: 256 },
    });
    assert.deepEqual(at(window, 'spec', 'openings'), [{ from: '2000-01-01', to: '2000-01-02' }]);
    const said = notes.join('\n');
    for (const field of [
      'spec.whatIsNew',
      'spec.drain.chunkSize',
      'spec.upgrade.imagePullPolicy',
      'spec.window',
    ])
      assert.ok(said.includes(`Plan odd: ${field}: `), `${field} in ${said}`);
    assert.doesNotMatch(said, /spec\.exclusive/);
  });

  test('durations are read as Go writes them', () => {
    assert.deepEqual(
      ['1h30m', '90s', '2m', 'soon', '', 90_000_000_000].map(value => secondsIn(value)),
      [5400, 90, 120, undefined, undefined, 90],
    );
  });
});

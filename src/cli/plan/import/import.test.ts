import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import type { JsonObject } from '../../../core/json.ts';
import { at, part } from '../../../embedded/object.ts';
import { nameOf, secondsIn, windowOf } from './imported.ts';

const root = join(import.meta.dirname, '..', '..', '..', '..');

type Outcome = { readonly code: number; readonly objects: readonly JsonObject[]; readonly notes: readonly string[] };

const imported = (text: string): Promise<Outcome> => {
  const folder = mkdtempSync(join(tmpdir(), 'drydock-import-'));
  const file = join(folder, 'old.yaml');
  writeFileSync(file, text);
  return new Promise(resolve => {
    execFile(process.execPath, [join(root, 'src', 'main.mjs'), 'plan', 'import', file], (error, stdout, stderr) => {
      rmSync(folder, { recursive: true });
      const objects = parseAllDocuments(stdout).map(document => document.toJS() as JsonObject);
      resolve({ code: error === null ? 0 : Number(error.code), objects, notes: stderr.trimEnd().split('\n') });
    });
  });
};

/** The examples of the documents: what comes before and after. */
const examples = [...readFileSync(join(root, 'docs', 'moving-to-plans.md'), 'utf8').matchAll(/```yaml\n(.*?)```/gs)].map(
  ([, text = '']) => text,
);
const before = (what: string): string => examples.find(text => text.includes(what) && !text.includes('kind: MaintenancePlan')) ?? '';

describe('drydock plan import', { concurrency: 2, timeout: 60_000 }, () => {
  test('a Plan of system-upgrade-controller: its pod, its nodes, its drain, and what nobody can know', async () => {
    const { code, objects, notes } = await imported(before('kind: Plan\n'));
    const [plan, ...others] = objects;
    assert.deepEqual([code, others], [0, []]);
    const spec = part(plan, 'spec');
    assert.deepEqual([spec['paused'], at(spec, 'concurrency', 'maxInFlight'), spec['soakAfterReleaseSeconds']], [true, 2, 120]);
    assert.deepEqual(at(spec, 'template', 'maintenance', 'drain'), { deleteEmptyDirData: true, force: true });
    assert.deepEqual(at(spec, 'nodeSelector', 'matchExpressions'), [{ key: 'plan.upgrade.cattle.io/kernel', operator: 'Exists' }]);
    const pod = part(spec, 'work', 'job', 'podSpec');
    const [container] = pod['containers'] as readonly JsonObject[];
    assert.equal(container?.['image'], 'registry.example.com/kernel-update:6.12.9');
    assert.deepEqual(pod['volumes'], [
      { name: 'host', hostPath: { path: '/' } },
      { name: 'kernel', secret: { secretName: 'kernel' } },
    ]);
    const said = notes.join('\n');
    for (const field of ['spec.version', 'spec.upgrade', 'spec.nodeSelector', 'spec.serviceAccountName, spec.secrets'])
      assert.ok(said.includes(`Plan kernel: ${field}: `), `${field} in ${said}`);
  });

  test('one that does not drain leaves the pods where they are, and says so', async () => {
    const { objects, notes } = await imported(`
apiVersion: upgrade.cattle.io/v1
kind: Plan
metadata: {name: bare}
spec: {nodeSelector: {}, upgrade: {image: "example.test/a:1@sha256:0"}, channel: "https://example.test", postCompleteLabels: {a: b}}`);
    assert.deepEqual(at(objects[0], 'spec', 'template', 'maintenance', 'drain', 'podSelector', 'matchLabels'), {
      'drydock.dev/drained': 'none',
    });
    for (const field of ['spec.channel', 'spec.drain, spec.cordon', 'spec.postCompleteLabels'])
      assert.ok(notes.join('\n').includes(field), field);
  });

  test('the DaemonSet of kured: the built-in reboot, its times as a window, and each flag that has no counterpart', async () => {
    const command = before('/usr/bin/kured').match(/(?<=- ).+/g) ?? [];
    const args = ['--notify-url', 'slack://secret', '--what-is-new=1', '--blocking-pod-selector=job=long'];
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
    assert.deepEqual(at(plan, 'spec', 'onFailure'), { drainStuck: { afterSeconds: 1800, times: 100 } });
    assert.equal(at(plan, 'spec', 'soakAfterReleaseSeconds'), 300);
    assert.deepEqual(part(window, 'spec'), {
      kinds: ['MaintenancePlan'],
      timeZone: 'Europe/Berlin',
      openings: [{ weekdays: ['Tue', 'Wed', 'Thu'], start: '01:00', duration: '4h' }],
    });
    const said = notes.join('\n');
    for (const flag of ['--reboot-sentinel', '--notify-url', '--what-is-new']) assert.ok(said.includes(`DaemonSet kured: ${flag}: `), said);
    assert.doesNotMatch(said, /secret|--concurrency/, 'values are not repeated');
  });

  test('a MachineConfigPool: as many nodes at once, and none while the pool is being updated', async () => {
    const { code, objects, notes } = await imported(before('kind: MachineConfigPool'));
    const [plan] = objects;
    assert.equal(code, 0);
    assert.deepEqual(at(plan, 'spec', 'concurrency'), { maxInFlight: 2, maxUnavailable: 2 });
    assert.equal(at((at(plan, 'spec', 'gates') as readonly JsonObject[])[0], 'object', 'name'), 'worker');
    assert.ok(notes.some(note => note.startsWith('MachineConfig 99-worker-reboot: skipped')));
  });

  test('a TalosUpgrade: as in the documents, and each field that has no counterpart', async () => {
    const { code, objects, notes } = await imported(before('kind: TalosUpgrade'));
    const wanted = examples.find(text => text.includes('kind: MaintenancePlan') && text.includes('name: cluster')) ?? '';
    const [plan, window] = parseAllDocuments(wanted).map(document => document.toJS() as JsonObject);
    const { gates: _, ...withoutGates } = part(plan, 'spec');
    assert.equal(code, 0, notes.join('\n'));
    assert.deepEqual(objects, [{ ...plan, spec: withoutGates }, window]);
    const said = notes.join('\n');
    for (const field of ['spec.talos: ', 'spec.talos.prePull: ', 'spec.healthChecks, CephCluster rook-ceph/rook-ceph: ', 'spec.hooks: '])
      assert.ok(said.includes(`TalosUpgrade cluster: ${field}`), `${field} in ${said}`);
  });

  test('a TalosUpgrade of every node, that drains nothing, with windows of two time zones', async () => {
    const windows =
      '[{start: "0 2 * * 0", duration: 4h}, {start: "0 3 * * 1", duration: 1h, timezone: Asia/Tokyo}, {start: "@daily", duration: 2h}]';
    const policy = '{nodrain: true, force: true, rebootMode: powercycle}';
    const { objects, notes } = await imported(`
apiVersion: tuppr.home-operations.com/v1alpha1
kind: TalosUpgrade
metadata: {name: all}
spec: {talos: {version: v1.14.0-beta.1, prePull: false}, policy: ${policy}, silences: [{}], maintenance: {windows: ${windows}}}`);
    const [plan, ...others] = objects;
    assert.deepEqual(part(plan, 'spec', 'nodeSelector'), {});
    assert.deepEqual(at(plan, 'spec', 'concurrency'), { maxInFlight: 1, maxUnavailable: 1 });
    assert.ok(at(plan, 'spec', 'template', 'maintenance', 'drain', 'podSelector'));
    assert.deepEqual(
      others.map(window => [nameOf(window), at(window, 'spec', 'timeZone'), (at(window, 'spec', 'openings') as readonly unknown[]).length]),
      [
        ['all', 'UTC', 2],
        ['all-2', 'Asia/Tokyo', 1],
      ],
    );
    const said = notes.join('\n');
    for (const field of ['spec.policy.force', 'spec.policy.rebootMode', 'spec.silences']) assert.ok(said.includes(`${field}: `), said);
    assert.doesNotMatch(said, /prePull|spec\.hooks/);
  });

  test('what cannot be imported is a wrong call, told in one line', async () => {
    const wrong = async (text: string): Promise<string> => {
      const { code, objects, notes } = await imported(text);
      assert.deepEqual([code, objects, notes.length], [2, [], 1], notes.join('\n'));
      return notes[0] ?? '';
    };
    assert.match(await wrong('a: [b'), /is not valid YAML/);
    assert.match(await wrong(''), /contains no Plan of system-upgrade-controller/);
    const plan = (spec: string): string => `{apiVersion: upgrade.cattle.io/v1, kind: Plan, metadata: {name: x}, spec: ${spec}}`;
    assert.match(
      await wrong(
        `{apiVersion: tuppr.home-operations.com/v1alpha1, kind: TalosUpgrade, metadata: {name: x}, spec: {talos: {version: "v1' || true || '"}}}`,
      ),
      /TalosUpgrade x cannot be imported: its spec\.talos\.version is no version like v1\.13\.8/,
    );
    assert.match(await wrong(plan('{upgrade: {image: "a:1"}}')), /Plan x cannot be imported: it has no spec.nodeSelector/);
    assert.match(
      await wrong(plan('{nodeSelector: {}, upgrade: {}}')),
      /Plan x cannot be imported: spec\.work\.job\.podSpec\.containers\.0\.image/,
    );
  });

  test('times are read as Go writes them, and windows over midnight and of whole days', () => {
    assert.deepEqual(
      ['1h30m', '90s', '2m', 'soon', '', 90_000_000_000].map(value => secondsIn(value)),
      [5400, 90, 120, undefined, undefined, 90],
    );
    const openings = (days: readonly string[], start: string, end: string): unknown =>
      at(windowOf('w', { days, start, end, timeZone: '' }), 'spec', 'openings', '0') ??
      (part(windowOf('w', { days, start, end, timeZone: '' }), 'spec')['openings'] as readonly JsonObject[])[0];
    assert.deepEqual(openings(['saturday', 'su'], '22:00', '2:30'), { weekdays: ['Sat', 'Sun'], start: '22:00', duration: '270m' });
    assert.deepEqual(openings(['1'], '', '23:59:59'), { weekdays: ['Mon'], start: '00:00', duration: '24h' });
    assert.equal(windowOf('w', { days: ['someday'], start: '', end: '', timeZone: '' }), undefined);
    assert.equal(windowOf('w', { days: [], start: '25:00', end: '', timeZone: '' }), undefined);
  });
});

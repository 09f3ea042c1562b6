import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { ensureBuilt } from '../control-plane/build/go-build.ts';
import { run } from '../control-plane/processes/command.ts';

const monitoring = join(import.meta.dirname, '..', '..', 'deploy', 'monitoring');

const prometheus = await ensureBuilt({
  name: 'monitoring',
  module: import.meta.dirname,
  salt: '',
  announcement:
    'building what loads rules and dashboard with the code of Prometheus, about a minute the first time,',
  build: (folder, go) => go(['test', '-c', '-o', join(folder, 'check'), '-ldflags', '-s -w', '.']),
});
const skip = prometheus.kind === 'left-out' ? `monitoring left out: ${prometheus.why}` : false;

test('Prometheus loads the rules and the questions of the dashboard, and the alerts say what is the matter', {
  skip,
}, async () => {
  assert.ok(prometheus.kind === 'ready');
  const { code, stdout, stderr } = await run(join(prometheus.folder, 'check'), ['-test.v'], {
    environment: {
      DRYDOCK_MONITORING: monitoring,
      DRYDOCK_SCENARIOS: join(import.meta.dirname, 'scenarios.yaml'),
    },
  });
  assert.equal(code, 0, stdout + stderr);
  for (const name of [
    'TestRulesAreValid',
    'TestDashboardAsksWhatPrometheusUnderstands',
    'TestAlertsSayWhatIsTheMatter',
  ])
    assert.match(stdout, new RegExp(`^--- PASS: ${name} `, 'm'));
});

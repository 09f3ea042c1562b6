import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, test } from 'node:test';
import { makeFolder } from './folder.ts';

/**
 * What is in the folder of a control plane goes with it, but for the logs, which the run of a tier
 * keeps where tests fail.
 */

const logs = mkdtempSync(join(tmpdir(), 'drydock-folder-'));
after(() => rmSync(logs, { recursive: true, force: true }));

function withLogs(named: string, play: () => void): void {
  const before = process.env['DRYDOCK_TEST_LOGS'];
  process.env['DRYDOCK_TEST_LOGS'] = named;
  try {
    play();
  } finally {
    if (before === undefined) delete process.env['DRYDOCK_TEST_LOGS'];
    else process.env['DRYDOCK_TEST_LOGS'] = before;
  }
}

const skip = process.env['DRYDOCK_TEST_KEEP'] === '1' && 'folders are kept';

test('logs are handed to the run of the tier, of each the end, and nothing else is', {
  skip,
}, () => {
  withLogs(logs, () => {
    const folder = makeFolder();
    mkdirSync(join(folder.path, 'openstack'));
    writeFileSync(join(folder.path, 'etcd.log'), 'etcd says why');
    writeFileSync(join(folder.path, 'openstack', 'nova.log'), 'so does Nova');
    writeFileSync(join(folder.path, 'sa.key'), 'a key');
    truncateSync(join(folder.path, 'etcd.log'), 30 * 1024 * 1024);
    writeFileSync(join(folder.path, 'etcd.log'), 'the end', { flag: 'a' });
    folder.remove();
    assert.equal(existsSync(folder.path), false);
    // As after a test that stops its control plane itself.
    assert.doesNotThrow(() => folder.remove());
    const kept = join(logs, basename(folder.path));
    const names = readdirSync(kept, { recursive: true, encoding: 'utf8' });
    assert.deepEqual(
      new Set(names),
      new Set(['etcd.log', 'openstack', join('openstack', 'nova.log')]),
    );
    assert.equal(readFileSync(join(kept, 'openstack', 'nova.log'), 'utf8'), 'so does Nova');
    assert.equal(statSync(join(kept, 'etcd.log')).size, 20 * 1024 * 1024);
    assert.ok(readFileSync(join(kept, 'etcd.log')).subarray(-7).equals(Buffer.from('the end')));
  });
});

test('where no tier runs, all of it goes', { skip }, () => {
  withLogs('', () => {
    const folder = makeFolder();
    writeFileSync(join(folder.path, 'etcd.log'), 'etcd says why');
    folder.remove();
    assert.equal(existsSync(folder.path), false);
  });
});

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';

const scripts = join(import.meta.dirname, '..', '..', '..', '..', 'scripts');
const main = join(import.meta.dirname, '..', 'main.mjs');

type End = { readonly code: number | null; readonly err: string };

/**
 * The reader of its output, and of its errors where that is said, has gone before the first line.
 */
async function unread(
  args: readonly string[],
  also: 'errors too' | 'errors read',
  env = process.env,
): Promise<End> {
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env,
    timeout: 30_000,
  });
  child.stdout.destroy();
  let err = '';
  if (also === 'errors too') child.stderr.destroy();
  else child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const [code] = (await once(child, 'exit')) as [number | null];
  return { code, err };
}

describe('output that nobody reads any more', { concurrency: 4, timeout: 60_000 }, () => {
  const commands = [
    ['crds'],
    ['install'],
    ['--help'],
    [],
    ['drain', '--help'],
    ['completion', 'bash'],
    ['__complete', ''],
    ['--version'],
  ];
  for (const args of commands) {
    test(`"drydock ${args.join(' ')}" ends without a word, as SIGPIPE would end it`, async () => {
      assert.deepEqual(await unread([main, ...args], 'errors read'), { code: 141, err: '' });
    });
  }

  test('so do the commands that npm puts on PATH', async () => {
    assert.deepEqual(await unread([join(scripts, 'drainer.mjs'), '--help'], 'errors read'), {
      code: 141,
      err: '',
    });
    assert.deepEqual(await unread([join(scripts, 'drydock.mjs'), 'crds'], 'errors read'), {
      code: 141,
      err: '',
    });
  });

  test('and a command that has nothing to say but an error', async () => {
    const { code } = await unread([main, 'drain'], 'errors too');
    assert.equal(code, 141);
  });

  test('nothing of a demo is left', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'drydock-unread-'));
    try {
      const { code, err } = await unread([main, 'demo', '--empty'], 'errors read', {
        ...process.env,
        TMPDIR: folder,
      });
      assert.deepEqual([code, err], [141, '']);
      assert.deepEqual(
        readdirSync(folder).filter(name => name.startsWith('drydock-demo-')),
        [],
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('output that gets lost is an error, in one line', {
    skip: !existsSync('/dev/full') && 'this system has no /dev/full',
  }, async () => {
    const full = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, [main, 'crds'], {
      stdio: ['ignore', full, 'pipe'],
      timeout: 30_000,
    });
    closeSync(full);
    let err = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (err += text));
    const [code] = (await once(child, 'close')) as [number | null];
    assert.equal(code, 1);
    assert.match(err, /^drydock: the output cannot be written: ENOSPC[^\n]*\n$/);
  });
});

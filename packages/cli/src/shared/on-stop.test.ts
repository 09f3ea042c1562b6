import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

const program = `
  import { onStop } from ${JSON.stringify(join(import.meta.dirname, 'on-stop.ts'))};
  onStop(signal => console.log('stop', signal));
  setInterval(() => {}, 1000);
  console.log('ready');`;

test('a Ctrl-C that several pass on is one, and the next one ends the process', {
  timeout: 30_000,
}, async () => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
  await once(child.stdout, 'data');
  child.kill('SIGINT');
  while (!said.includes('stop')) await once(child.stdout, 'data');
  child.kill('SIGINT');
  await sleep(700);
  assert.deepEqual([said, child.exitCode], ['ready\nstop SIGINT\n', null]);
  const ended = once(child, 'exit');
  child.kill('SIGINT');
  assert.deepEqual(await ended, [130, null]);
});

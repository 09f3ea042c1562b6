import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { silentLog, VirtualClock } from '@drydock/utils';
import { EventTokens } from './event-intake.ts';

function workplace() {
  const folder = mkdtempSync(join(tmpdir(), 'drydock-tokens-'));
  const clock = new VirtualClock();
  return {
    clock,
    at: (name: string) => join(folder, name),
    write: (name: string, text: string) => writeFileSync(join(folder, name), text),
    tokens: (name: string) => new EventTokens(join(folder, name), clock, silentLog),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  };
}

test('a file has one token, and one that is changed counts no more within seconds', async () => {
  using it = workplace();
  it.write('token', 'first\n');
  const tokens = it.tokens('token');
  assert.deepEqual(
    ['first', 'second', ''].map(token => tokens.ownerOf(token)),
    ['default', undefined, undefined],
  );
  it.write('token', 'second');
  await it.clock.advance(10_000);
  assert.deepEqual(
    ['first', 'second'].map(token => tokens.ownerOf(token)),
    [undefined, 'default'],
  );
});

test('a folder has one in each file, by name: taking one away shuts out its owner alone', async () => {
  using it = workplace();
  mkdirSync(it.at('tokens'));
  for (const name of ['patching', 'cloud']) it.write(`tokens/${name}`, `token-of-${name}`);
  it.write('tokens/..data', 'what kubelets leave there is no token');
  const tokens = it.tokens('tokens');
  assert.deepEqual(
    ['token-of-patching', 'token-of-cloud'].map(token => tokens.ownerOf(token)),
    ['patching', 'cloud'],
  );
  assert.equal(tokens.ownerOf('what kubelets leave there is no token'), undefined);
  rmSync(it.at('tokens/cloud'));
  await it.clock.advance(10_000);
  assert.deepEqual(
    ['token-of-patching', 'token-of-cloud'].map(token => tokens.ownerOf(token)),
    ['patching', undefined],
  );
});

test('without a token nothing is opened, and when it is gone later nobody is let in', async () => {
  using it = workplace();
  assert.throws(() => it.tokens('none'), { name: 'UsageError', message: /cannot be read/ });
  it.write('empty', ' \n');
  assert.throws(() => it.tokens('empty'), {
    name: 'UsageError',
    message: /is empty: it would admit everybody/,
  });
  it.write('token', 'first');
  const tokens = it.tokens('token');
  rmSync(it.at('token'));
  await it.clock.advance(10_000);
  assert.equal(tokens.ownerOf('first'), undefined);
});

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { run } from '../control-plane/processes/command.ts';
import { skipOf } from '../integrations/builds.ts';
import { ensurePackages } from './bed/packages.ts';
import { digestOf, recordedFile, recordedWords, type Words, writtenWords } from './bed/words.ts';

/**
 * The words of OpenStack that config.ts writes, asked of OpenStack: an option that it does not know
 * it passes over in silence.
 */

const leftOut = await ensurePackages();

test('OpenStack knows every section, option and factory that it is configured with', {
  skip: skipOf(leftOut ?? { kind: 'started' }),
}, async () => {
  const written = writtenWords();
  const { code, stdout, stderr } = await run(
    '/usr/bin/python3',
    [join(import.meta.dirname, 'bed', 'names.py')],
    {
      input: JSON.stringify(written),
    },
  );
  assert.equal(code, 0, stderr);
  const known = JSON.parse(stdout) as Words;
  assert.deepEqual(known, written);
  if (process.env['DRYDOCK_TEST_UPDATE'] === '1')
    writeFileSync(
      recordedFile,
      `${JSON.stringify({ sha256: digestOf(written), words: written }, undefined, 2)}\n`,
    );
  assert.deepEqual(recordedWords().words, known);
});

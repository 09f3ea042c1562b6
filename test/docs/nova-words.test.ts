import assert from 'node:assert/strict';
import { test } from 'node:test';
import { digestOf, recordedWords, writtenWords } from '../nova/bed/words.ts';

/**
 * Words of somebody else in a configuration that we write are strings to us, and a renaming of our
 * own words has hit one before.
 */

test('the configuration of the OpenStack of the tests has the words that a real one knows, and no others', () => {
  assert.deepEqual(writtenWords(), recordedWords().words);
});

test('nobody but the tests against a real OpenStack has written the record', () => {
  const { words, sha256 } = recordedWords();
  assert.equal(digestOf(words), sha256, 'DRYDOCK_TEST_UPDATE=1 npm run test:nova');
});

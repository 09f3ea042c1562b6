import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isMissing, pathSegment } from './status.ts';

/** Returns whether an object can have this name: IsValidPathSegmentName of k8s.io/apimachinery. */
function isPossible(name: string): boolean {
  return !['', '.', '..'].includes(name) && !/[/%]/.test(name) && name.isWellFormed();
}

const piece = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 3 }),
  fc.constantFrom('.', '..', '/', '%', '%2e', '%2F', '\ud800', '\udfff', '?', '#', '\\', ';'),
);
const anyName = fc.array(piece, { maxLength: 4 }).map(pieces => pieces.join(''));

test('any text is one segment, which no proxy or server takes for another path', () => {
  fc.assert(
    fc.property(anyName, name => {
      const path = `/api/v1/nodes/${pathSegment(name)}/status`;
      assert.equal(new URL(path, 'https://server').pathname, path);
      const parts = decodeURIComponent(path).split('/');
      assert.deepEqual([parts.length, parts.at(-1)], [6, 'status']);
      const [read = ''] = parts.slice(4);
      assert.ok(isPossible(read));
      assert.equal(read === name, isPossible(name));
      assert.doesNotMatch(decodeURIComponent(read), /[/%]/, 'decoded once more');
    }),
  );
});

test('names that no object can have', () => {
  for (const name of ['', '.', '..', 'a/b', '../../secrets/s', 'a%2fb', '%2e%2e', 'a\ud800'])
    assert.match(pathSegment(name), /%EF%BF%BD/, name);
  for (const name of ['...', '.a', 'system:node', 'a b', 'ä', '\ufffd'])
    assert.equal(decodeURIComponent(pathSegment(name)), name);
  const longest = 'a'.repeat(253);
  assert.equal(pathSegment(longest), longest);
  const smiles = '\u{1f600}'.repeat(200_000);
  for (const name of [`${longest}a`, smiles, `a${smiles}`]) {
    assert.match(pathSegment(name), /%EF%BF%BD$/);
    assert.ok(pathSegment(name).length < 2000);
  }
});

test('the server confirms that an object of such a name does not exist', () => {
  fc.assert(
    fc.property(anyName, name => {
      const details = { name: decodeURIComponent(pathSegment(name)) };
      assert.ok(isMissing(name, { status: 404, body: { details } }));
      assert.ok(!isMissing(`${name}x`, { status: 404, body: { details } }));
    }),
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lacking, readRelease } from './quantity.ts';

for (const [what, body, expected] of [
  [
    'a release',
    { major: '1', minor: '37', gitVersion: 'v1.37.2' },
    { version: 'v1.37.2', minor: 37 },
  ],
  [
    'one of a provider',
    { major: '1', minor: '30+', gitVersion: 'v1.30.14-eks-1' },
    { version: 'v1.30.14-eks-1', minor: 30 },
  ],
  ['one without the full version', { major: '1', minor: '33' }, { version: 'v1.33', minor: 33 }],
  ['no number', { major: '1', minor: 'x' }, undefined],
  ['a number that is no text', { major: '1', minor: 37 }, undefined],
  ['another major', { major: '2', minor: '1' }, undefined],
  ['no object', 'v1.37.2', undefined],
  ['a number that nobody could mean', { major: '1', minor: '99999' }, undefined],
] as const)
  test(`what /version says: ${what}`, () => assert.deepEqual(readRelease(body), expected));

test('a version is cut where it is too long to be one', () => {
  assert.equal(
    readRelease({ major: '1', minor: '37', gitVersion: 'v'.repeat(10_000) })?.version.length,
    64,
  );
});

test('1.30 lacks field selectors of custom resources, 1.31 does not', () => {
  assert.deepEqual(
    lacking({ minor: 30 }).map(({ name }) => name),
    ['field selectors of custom resources'],
  );
  assert.deepEqual(lacking({ minor: 31 }), []);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reviewCall, reviewed } from './status.ts';

test('each kind is created at its own collection, with the version of its group', () => {
  const { method, path, body } = reviewCall('TokenReview', { token: 'x' });
  assert.deepEqual([method, path], ['POST', '/apis/authentication.k8s.io/v1/tokenreviews']);
  assert.deepEqual(body, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    spec: { token: 'x' },
  });
  assert.equal(
    reviewCall('SubjectAccessReview', {}).path,
    '/apis/authorization.k8s.io/v1/subjectaccessreviews',
  );
});

const said = { message: 'not today' };
for (const [what, status, body, expected] of [
  ['a review that was made', 201, { status: { allowed: true } }, { allowed: true }],
  ['one without a status', 201, { kind: 'SubjectAccessReview', ...said }, 'not today'],
  ['a status that is none', 201, { status: 'allowed', ...said }, 'not today'],
  ['a refusal, whatever it has in it', 403, { status: { allowed: true }, ...said }, 'not today'],
  ['no object', 201, 'a proxy speaks', 'a proxy speaks'],
] as const)
  test(`${what}: ${JSON.stringify(expected)}`, () => {
    assert.deepEqual(reviewed({ status, body }), expected);
  });

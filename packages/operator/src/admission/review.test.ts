import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { allowed, denied, type Review, readReview, responseTo } from './review.ts';

const request = {
  uid: 'u1',
  operation: 'CREATE',
  kind: { kind: 'NodeMaintenance' },
  resource: { version: 'v1beta1' },
  object: { spec: {} },
};
function body(over: object = {}, version = 'admission.k8s.io/v1'): string {
  return JSON.stringify({
    apiVersion: version,
    kind: 'AdmissionReview',
    request: { ...request, ...over },
  });
}

function read(text: string): Review {
  const review = readReview(text);
  if (typeof review === 'string') assert.fail(review);
  return review;
}

describe('a review', () => {
  test('is read as far as it decides', () => {
    assert.deepEqual(
      read(body({ dryRun: true, subResource: 'status', userInfo: { username: 'me' } })),
      {
        apiVersion: 'admission.k8s.io/v1',
        uid: 'u1',
        operation: 'CREATE',
        kind: 'NodeMaintenance',
        version: 'v1beta1',
        namespace: '',
        user: { username: 'me' },
        subresource: 'status',
        dryRun: true,
        object: { spec: {} },
      },
    );
  });

  test('of a deletion has no new object: null is none', () => {
    const { object, oldObject, dryRun } = read(
      body({ operation: 'DELETE', object: null, oldObject: { spec: {} } }),
    );
    assert.deepEqual([object, oldObject, dryRun], [undefined, { spec: {} }, false]);
  });

  for (const version of ['admission.k8s.io/v1', 'admission.k8s.io/v1beta1']) {
    test(`is answered in the version that it was asked in: ${version}`, () => {
      const review = read(body({}, version));
      assert.deepEqual(responseTo(review, allowed), {
        apiVersion: version,
        kind: 'AdmissionReview',
        response: { uid: 'u1', allowed: true },
      });
      assert.deepEqual(responseTo(review, denied('no')), {
        apiVersion: version,
        kind: 'AdmissionReview',
        response: {
          uid: 'u1',
          allowed: false,
          status: { code: 403, reason: 'Forbidden', message: 'no' },
        },
      });
    });
  }

  const wrong: readonly (readonly [string, string])[] = [
    ['', 'the body is not a JSON object'],
    ['{', 'the body is not a JSON object'],
    ['[]', 'the body is not a JSON object'],
    ['{}', 'the body is of kind undefined, not AdmissionReview'],
    ['{"kind":"Pod"}', 'the body is of kind "Pod", not AdmissionReview'],
    [
      body({}, 'admission.k8s.io/v2'),
      'the AdmissionReview is of version "admission.k8s.io/v2"; supported are admission.k8s.io/v1 and admission.k8s.io/v1beta1',
    ],
    [
      '{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}',
      'the AdmissionReview has no request',
    ],
    [body({ uid: '' }), 'the request has no uid'],
    [body({ operation: 1 }), 'the request has no operation'],
    [body({ object: null }), 'the request is a CREATE without an object'],
    [body({ operation: 'UPDATE' }), 'the request is an UPDATE without object or oldObject'],
  ];
  for (const [text, why] of wrong)
    test(`that is none: ${why}`, () => assert.equal(readReview(text), why));
});

import assert from 'node:assert/strict';
import { ConnectionError } from '../http/credentials.ts';

/** The ConnectionError with which it fails; whatever else becomes of it fails the test. */
export async function connectionFailure(promise: Promise<unknown>): Promise<ConnectionError> {
  const error: unknown = await promise.then(
    () => assert.fail('it did not fail'),
    (error: unknown) => error,
  );
  assert.ok(error instanceof ConnectionError, String(error));
  return error;
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readOwnPod, readWorkPod } from './plan-objects.ts';

const metadata = { name: 'p', namespace: 'n', uid: 'u', resourceVersion: '1' };

test('a pod that was ended from outside says nothing of its work', () => {
  const killed = (status: object): boolean => readWorkPod({ metadata, status: { phase: 'Failed', ...status } }).killed;
  const ended = (...states: readonly object[]) => ({
    containerStatuses: states.map((terminated, index) => ({ name: `c${index}`, state: { terminated } })),
  });
  assert.equal(killed({ reason: 'Terminated', message: 'Pod was terminated in response to imminent node shutdown.' }), true);
  assert.equal(killed(ended({ exitCode: 143, reason: 'Error' })), true);
  assert.equal(killed(ended({ exitCode: 137, reason: 'Error' }, { exitCode: 0 })), true);
  assert.equal(killed(ended({ exitCode: 255, reason: 'Unknown' })), true, 'lost with its node');
  assert.equal(killed(ended({ exitCode: 255, reason: 'Error' })), false);
  assert.equal(killed(ended({ exitCode: 137, reason: 'OOMKilled' })), false);
  assert.equal(killed(ended({ exitCode: 137, reason: 'Error' }, { exitCode: 1, reason: 'Error' })), false);
  assert.equal(killed({ reason: 'DeadlineExceeded', ...ended({ exitCode: 137, reason: 'Error' }) }), false);
  assert.equal(killed({ reason: 'Evicted' }), false);
  assert.equal(readWorkPod({ metadata, status: { phase: 'Running' } }).killed, false);
});

test('the pod of this process names its image', () => {
  assert.equal(readOwnPod({ metadata, spec: { containers: [{ image: 'drydock:1' }, { image: 'proxy:2' }] } }).image, 'drydock:1');
  assert.equal(readOwnPod({ metadata }).image, undefined);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAttachment } from './attachment.ts';

test('an attachment has the volume that it says, and none where it is inline', () => {
  const read = (source: object) =>
    readAttachment({
      metadata: { name: 'a', uid: 'u', resourceVersion: '7' },
      spec: { nodeName: 'n1', source },
    });
  const plain = { key: 'a', uid: 'u', resourceVersion: '7', nodeName: 'n1' };
  assert.deepEqual(read({ persistentVolumeName: 'pv' }), { ...plain, volume: 'pv' });
  assert.deepEqual(read({ inlineVolumeSpec: {} }), plain);
});

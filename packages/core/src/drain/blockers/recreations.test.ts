import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, makePod } from '../../testing/make.ts';
import { recreationBlocker } from './dead-node.ts';

test('pods that come back are named with what keeps them away, and with how to let those of their controller stay', () => {
  const recreations = { count: 4, lastAt: at(0) };
  const owner = {
    kind: 'AdvancedDaemonSet',
    name: 'agent',
    uid: 'u',
    apiVersion: 'apps.kruise.io/v1alpha1',
  };
  const { message, remedy } = recreationBlocker(makePod('a', { owner }), recreations);
  assert.match(message, /like 4 before it from the same owner/);
  assert.match(
    remedy ?? '',
    /drain\.ignorePods: \[\{namespaces: \[shop\], ownerKinds: \[AdvancedDaemonSet\]\}\]$/,
  );
  const { owner: _, ...bare } = makePod('a');
  assert.doesNotMatch(recreationBlocker(bare, recreations).remedy ?? '', /ignorePods/);
});

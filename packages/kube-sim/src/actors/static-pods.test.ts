import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isReady } from '../controllers/controller.ts';
import { at, type Stored } from '../object.ts';
import { bench, freshNode, freshPod } from '../testing/bench.ts';

/** A node with the mirror of a static pod, which runs. */
async function withMirror(isAlive: () => boolean = () => true) {
  const made = bench({ isAlive });
  made.make('nodes', freshNode('n1'));
  made.make(
    'pods',
    freshPod('proxy-n1', { nodeName: 'n1' }, { 'kubernetes.io/config.mirror': 'abc' }),
  );
  await made.clock.advance(1000);
  const mirror = (): Stored | undefined => made.pod('proxy-n1');
  const first = mirror() as Stored;
  assert.ok(isReady(first));
  return { ...made, mirror, first };
}

test('a mirror that is deleted stays for up to 90 s, then there is another one, of the same containers', async () => {
  const { clock, writes, mirror, first, runtime } = await withMirror();
  writes.remove('pods', 'shop', 'proxy-n1', { gracePeriodSeconds: 1 });
  const waits = async (): Promise<number> => {
    for (let second = 0; second < 95; second += 1) {
      const now = mirror() as Stored;
      if (now.metadata.uid !== first.metadata.uid) return second;
      assert.ok(isReady(now), 'its containers run on');
      await clock.advance(1000);
    }
    return 95;
  };
  const waited = await waits();
  assert.ok(waited > 1 && waited <= 90, String(waited));
  const next = mirror() as Stored;
  assert.deepEqual([isReady(next), next.metadata.deletionTimestamp], [true, undefined]);
  await clock.advance(200_000);
  assert.equal(mirror()?.metadata.uid, next.metadata.uid, 'this one stays');
  assert.equal(at(mirror(), 'status', 'startTime'), at(first, 'status', 'startTime'));
  runtime.stop();
});

test('a mirror that is deleted by force is gone, and another one comes after 60 to 90 s', async () => {
  const { clock, writes, mirror, first, runtime } = await withMirror();
  writes.remove('pods', 'shop', 'proxy-n1', { gracePeriodSeconds: 0 });
  await clock.advance(59_000);
  assert.equal(mirror(), undefined);
  await clock.advance(32_000);
  assert.deepEqual(
    [mirror()?.metadata.uid === first.metadata.uid, isReady(mirror() as Stored)],
    [false, true],
  );
  runtime.stop();
});

test('no kubelet, no other mirror: it comes when the kubelet is back, and never when the node is gone', async () => {
  let alive = true;
  const { clock, writes, mirror, runtime } = await withMirror(() => alive);
  alive = false;
  writes.remove('pods', 'shop', 'proxy-n1', { gracePeriodSeconds: 0 });
  await clock.advance(600_000);
  assert.equal(mirror(), undefined);
  alive = true;
  await clock.advance(91_000);
  assert.ok(mirror());
  writes.remove('nodes', '', 'n1');
  await clock.advance(600_000);
  assert.equal(mirror(), undefined);
  runtime.stop();
});

test('a mirror that the API server refuses is tried again: an older one is still there, held by a finalizer', async () => {
  const { clock, store, writes, mirror, first, runtime } = await withMirror();
  store.put('pods', { ...first, metadata: { ...first.metadata, finalizers: ['test/stays'] } });
  writes.remove('pods', 'shop', 'proxy-n1');
  await clock.advance(200_000);
  assert.equal(mirror()?.metadata.uid, first.metadata.uid);
  writes.update('pods', {
    ...mirror(),
    metadata: { ...(mirror() as Stored).metadata, finalizers: [] },
  });
  assert.equal(mirror(), undefined);
  await clock.advance(91_000);
  assert.ok(isReady(mirror() as Stored));
  runtime.stop();
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isReady, phaseOf } from '../controllers/controller.ts';
import { at, objects, part, type Stored, text } from '../object.ts';
import { bench, freshNode, freshPod } from '../testing/bench.ts';

function conditionOf(object: Stored | undefined, type: string): string {
  return text(
    objects(at(object, 'status', 'conditions')).find(one => one['type'] === type),
    'status',
  );
}

test('a pod starts, ends within its grace period, and is gone', async () => {
  const { clock, make, pod, writes, runtime } = bench();
  make('nodes', freshNode('n1'));
  make('pods', freshPod('one'));
  await clock.advance(400);
  assert.equal(phaseOf(pod('one') as Stored), 'Pending');
  await clock.advance(400);
  assert.ok(isReady(pod('one') as Stored));
  writes.remove('pods', 'shop', 'one');
  await clock.advance(900);
  assert.ok(pod('one') !== undefined);
  await clock.advance(200);
  assert.equal(pod('one'), undefined);
  runtime.stop();
});

test('a pod that ignores SIGTERM takes the whole grace period, and a shorter one cuts it short', async () => {
  const { clock, make, pod, writes, runtime } = bench();
  make('nodes', freshNode('n1'));
  for (const name of ['slow', 'cut'])
    make(
      'pods',
      freshPod(
        name,
        { terminationGracePeriodSeconds: 20 },
        { 'drydock.test/ignores-sigterm': 'true' },
      ),
    );
  await clock.advance(1000);
  writes.remove('pods', 'shop', 'slow');
  writes.remove('pods', 'shop', 'cut');
  await clock.advance(5000);
  writes.remove('pods', 'shop', 'cut', { gracePeriodSeconds: 7 });
  await clock.advance(4000);
  assert.deepEqual([pod('slow') === undefined, pod('cut') === undefined], [false, true]);
  await clock.advance(12_000);
  assert.equal(pod('slow'), undefined);
  runtime.stop();
});

test('a grace period of a year is kept, and one of centuries is none: the pod is killed at once, whatever it does on SIGTERM', async () => {
  const { clock, make, pod, writes, runtime } = bench();
  make('nodes', freshNode('n1'));
  const graces = { year: 31_536_000, centuries: 9_000_000_000_000 };
  for (const [name, terminationGracePeriodSeconds] of Object.entries(graces))
    make(
      'pods',
      freshPod(name, { terminationGracePeriodSeconds }, { 'drydock.test/ignores-sigterm': 'true' }),
    );
  await clock.advance(1000);
  for (const name of Object.keys(graces)) writes.remove('pods', 'shop', name);
  assert.match(
    pod('centuries')?.metadata.deletionTimestamp ?? '',
    /^1962-/,
    'the sum of the API server overflows as well',
  );
  await clock.advance(3000);
  assert.deepEqual([pod('year') === undefined, pod('centuries') === undefined], [false, true]);
  writes.remove('pods', 'shop', 'year', { gracePeriodSeconds: 9 });
  assert.equal(pod('year')?.metadata.deletionTimestamp, '2026-01-01T00:00:10Z');
  await clock.advance(7000);
  assert.equal(pod('year'), undefined);
  runtime.stop();
});

test('a pod that is deleted by force is gone at once, and its kubelet forgets it', async () => {
  const { clock, make, pod, writes, runtime } = bench();
  make('nodes', freshNode('n1'));
  make('pods', freshPod('one', {}, { 'drydock.test/never-gone': 'true' }));
  await clock.advance(1000);
  writes.remove('pods', 'shop', 'one');
  await clock.advance(3_600_000);
  assert.ok(pod('one') !== undefined, 'it hangs');
  writes.remove('pods', 'shop', 'one', { gracePeriodSeconds: 0 });
  assert.equal(pod('one'), undefined);
  runtime.stop();
});

test('which pods say that they have ended before they go: all, those that finalizers hold, or none', async () => {
  const toldBy = async (saysEnd: 'all' | 'held' | 'none'): Promise<readonly string[]> => {
    const { clock, make, store, writes, runtime } = bench({
      pace: { startMs: 500, stopMs: 1000, spread: 0, saysEnd },
    });
    make('nodes', freshNode('n1'));
    make('pods', freshPod('free'));
    const held = freshPod('held');
    make('pods', { ...held, metadata: { ...part(held, 'metadata'), finalizers: ['test/stays'] } });
    await clock.advance(1000);
    const ended = new Set<string>();
    store.subscribe(
      ({ object }) => void (phaseOf(object) === 'Failed' && ended.add(object.metadata.name)),
      'pods',
    );
    for (const name of ['free', 'held']) writes.remove('pods', 'shop', name);
    await clock.advance(5000);
    assert.deepEqual(
      store.list('pods', 'shop').map(({ metadata }) => metadata.name),
      ['held'],
    );
    runtime.stop();
    return [...ended].sort();
  };
  assert.deepEqual(
    [await toldBy('all'), await toldBy('held'), await toldBy('none')],
    [['free', 'held'], ['held'], []],
  );
});

test('a pod that runs to its end stays where it was', async () => {
  const { clock, make, pod, runtime } = bench();
  make('nodes', freshNode('n1'));
  make('pods', freshPod('one', { restartPolicy: 'Never' }, { 'drydock.test/done-after': '2s' }));
  await clock.advance(4000);
  assert.equal(phaseOf(pod('one') as Stored), 'Succeeded');
  runtime.stop();
});

test('times are spread by the seed, within their bounds', async () => {
  const { clock, make, store, runtime } = bench({
    pace: { startMs: 1000, stopMs: 1000, spread: 0.5 },
  });
  make('nodes', freshNode('n1'));
  await clock.advance(1000);
  for (let index = 0; index < 40; index += 1)
    make('pods', freshPod(`p${index}`, { nodeName: 'n1' }));
  const ready = (): number => store.list('pods', 'shop').filter(isReady).length;
  const seen: number[] = [];
  for (const waitMs of [490, 510, 510]) {
    await clock.advance(waitMs);
    seen.push(ready());
  }
  assert.equal(seen[0], 0);
  assert.ok((seen[1] ?? 0) > 5 && (seen[1] ?? 0) < 35, 'about half of them by the middle');
  assert.equal(seen[2], 40);
  runtime.stop();
});

test('a new node without conditions is made ready by its kubelet; what it was given stays', async () => {
  const { clock, make, node, store, runtime } = bench();
  make(
    'nodes',
    freshNode('n1', {
      addresses: [{ type: 'InternalIP', address: '10.1.2.3' }],
      nodeInfo: { kubeletVersion: 'v1.2.3' },
    }),
  );
  make('nodes', freshNode('n2'));
  await clock.advance(100);
  assert.deepEqual(
    [conditionOf(node('n1'), 'Ready'), conditionOf(node('n1'), 'MemoryPressure')],
    ['True', 'False'],
  );
  assert.deepEqual(objects(at(node('n1'), 'status', 'addresses')), [
    { type: 'InternalIP', address: '10.1.2.3' },
  ]);
  assert.equal(at(node('n1'), 'status', 'nodeInfo', 'kubeletVersion'), 'v1.2.3');
  assert.deepEqual(objects(at(node('n2'), 'status', 'addresses')), [
    { type: 'Hostname', address: 'n2' },
  ]);
  assert.deepEqual(at(node('n1'), 'spec', 'taints'), undefined);
  assert.equal(
    at(store.get('leases.coordination.k8s.io', 'kube-node-lease', 'n1'), 'spec', 'holderIdentity'),
    'n1',
  );
  runtime.stop();
});

test('leases are renewed every ten seconds, a node that is deleted loses its own', async () => {
  const { clock, make, store, writes, runtime } = bench();
  make('nodes', freshNode('n1'));
  const lease = (): Stored | undefined =>
    store.get('leases.coordination.k8s.io', 'kube-node-lease', 'n1');
  await clock.advance(100);
  const first = at(lease(), 'spec', 'renewTime');
  await clock.advance(9000);
  assert.equal(at(lease(), 'spec', 'renewTime'), first);
  await clock.advance(2000);
  assert.notEqual(at(lease(), 'spec', 'renewTime'), first);
  writes.remove('nodes', '', 'n1');
  await clock.advance(100);
  assert.equal(lease(), undefined);
  runtime.stop();
});

test('without heartbeats no node is lost, and nothing is written', async () => {
  const { clock, make, node, store, runtime } = bench({
    nodeHealth: { renewMs: Number.POSITIVE_INFINITY, graceMs: Number.POSITIVE_INFINITY },
  });
  make('nodes', freshNode('n1'));
  await clock.advance(1000);
  const before = store.version;
  await clock.advance(3_600_000);
  assert.deepEqual([store.version, conditionOf(node('n1'), 'Ready')], [before, 'True']);
  runtime.stop();
});

test('a node goes dark: Unknown after its grace, pods not ready, then evicted; when it comes back all is well again', async () => {
  let dark = false;
  const { clock, make, node, pod, runtime } = bench({
    isAlive: one => !(dark && one.metadata.name === 'n1'),
  });
  make('nodes', freshNode('n1'));
  const forever = {
    key: 'node.kubernetes.io/unreachable',
    operator: 'Exists',
    effect: 'NoExecute',
  };
  make(
    'pods',
    freshPod('brief', { nodeName: 'n1', tolerations: [{ ...forever, tolerationSeconds: 30 }] }),
  );
  make('pods', freshPod('steady', { nodeName: 'n1', tolerations: [forever] }));
  await clock.advance(5000);
  dark = true;
  await clock.advance(45_000);
  assert.equal(conditionOf(node('n1'), 'Ready'), 'True');
  await clock.advance(25_000);
  assert.equal(conditionOf(node('n1'), 'Ready'), 'Unknown');
  const taints = objects(at(node('n1'), 'spec', 'taints')).map(
    taint => `${text(taint, 'key')}:${text(taint, 'effect')}`,
  );
  assert.deepEqual(taints.toSorted(), [
    'node.kubernetes.io/unreachable:NoExecute',
    'node.kubernetes.io/unreachable:NoSchedule',
  ]);
  assert.deepEqual(
    [conditionOf(pod('steady'), 'Ready'), conditionOf(pod('brief'), 'Ready')],
    ['False', 'False'],
  );
  await clock.advance(40_000);
  assert.ok(
    pod('brief')?.metadata.deletionTimestamp !== undefined,
    'deleted, and nobody there to end it',
  );
  assert.equal(pod('steady')?.metadata.deletionTimestamp, undefined);
  dark = false;
  await clock.advance(10_000);
  assert.deepEqual(
    [conditionOf(node('n1'), 'Ready'), at(node('n1'), 'spec', 'taints')],
    ['True', undefined],
  );
  assert.deepEqual([pod('brief'), conditionOf(pod('steady'), 'Ready')], [undefined, 'True']);
  runtime.stop();
});

test('a kubelet that was away for a moment does what was asked of it meanwhile', async () => {
  let dark = false;
  const { clock, make, pod, writes, runtime } = bench({ isAlive: () => !dark });
  make('nodes', freshNode('n1'));
  make('pods', freshPod('one', { nodeName: 'n1' }));
  await clock.advance(2000);
  dark = true;
  writes.remove('pods', 'shop', 'one');
  await clock.advance(10_000);
  assert.ok(pod('one') !== undefined);
  dark = false;
  await clock.advance(3000);
  assert.equal(pod('one'), undefined);
  runtime.stop();
});

test('what is known of a pod is taken as it is, and never is never', async () => {
  const known: Readonly<Record<string, { readonly startMs?: number; readonly stopMs?: number }>> = {
    quick: { startMs: 100, stopMs: 200 },
    sick: { startMs: Number.POSITIVE_INFINITY },
    stuck: { startMs: 100, stopMs: Number.POSITIVE_INFINITY },
  };
  const { clock, make, pod, writes, runtime } = bench({
    pace: {
      startMs: 500,
      stopMs: 1000,
      spread: 0,
      of: ({ metadata }) => known[metadata.name] ?? {},
    },
  });
  make('nodes', freshNode('n1'));
  for (const name of ['quick', 'sick', 'stuck', 'usual']) make('pods', freshPod(name));
  await clock.advance(300);
  const ready = (): readonly string[] =>
    ['quick', 'sick', 'stuck', 'usual'].filter(name => isReady(pod(name) as Stored));
  assert.deepEqual(ready(), ['quick', 'stuck']);
  await clock.advance(600_000);
  assert.deepEqual(ready(), ['quick', 'stuck', 'usual']);
  for (const name of ['quick', 'stuck', 'usual']) writes.remove('pods', 'shop', name);
  await clock.advance(500);
  assert.deepEqual([pod('quick') === undefined, pod('usual') === undefined], [true, false]);
  await clock.advance(600_000);
  assert.deepEqual([pod('stuck') === undefined, pod('usual') === undefined], [false, true]);
  runtime.stop();
});

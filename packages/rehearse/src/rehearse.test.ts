import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { freshPod } from '@drydock/kube-sim/testing';
import { budget, shop } from '@drydock/operator/testing';
import type { RehearsalForecast } from './report/forecast.ts';
import { forecastPicture } from './report/picture.ts';
import { forecastText } from './report/words.ts';
import { copied, foresee, labelledNodes, nodes } from './testing/copied.ts';

function asking(cpu: string): JsonObject {
  return {
    spec: {
      containers: [
        { name: 'main', image: 'example.test/none:1', resources: { requests: { cpu } } },
      ],
    },
  };
}

function web(replicas: number, cpu = '100m', more: JsonObject = {}): JsonObject {
  return shop('Deployment', 'web', {
    replicas,
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { ...(asking(cpu)['spec'] as JsonObject), ...more },
    },
  });
}

function wholeOf(seen: RehearsalForecast, reason: string): readonly string[] {
  return seen.blockers
    .filter(one => one.reason === reason)
    .map(({ node, what = '' }) => `${node} ${what}`);
}

test('a drain that nothing is in the way of: it finishes, and says when, in which order, and how low workloads get', async () => {
  const copy = await copied(async (make, settle) => {
    nodes(make, 'n1');
    make('deployments.apps', web(6));
    make('poddisruptionbudgets.policy', budget('web', { maxUnavailable: 1 }));
    make(
      'statefulsets.apps',
      shop('StatefulSet', 'db', {
        replicas: 3,
        serviceName: 'db',
        podManagementPolicy: 'Parallel',
      }),
    );
    make('daemonsets.apps', shop('DaemonSet', 'agent', {}));
    await settle();
    nodes(make, 'n2', 'n3');
  });
  const seen = await foresee(copy, ['n1'], { seeds: 1 });
  assert.deepEqual(
    [seen.finishes, seen.notes, seen.blockers, seen.moves],
    [true, [], [], { gone: 9, again: 0 }],
  );
  // Six pods of one Deployment, one at a time, each as long as its successor takes to start; the
  // last one only has to end.
  const seconds = (seen.end?.medianMs ?? 0) / 1000;
  assert.ok(seconds > 10.5 && seconds < 12.5, `${seconds} s`);
  assert.deepEqual(
    seen.levels.map(({ workload, lowest, desired }) => [workload, lowest, desired]),
    [
      ['StatefulSet shop/db', 0, 3],
      ['Deployment shop/web', 5, 6],
    ],
  );
  const [delay] = seen.delays;
  assert.deepEqual([delay?.reason, delay?.about], ['DisruptionBudget', 'shop/web']);
  const text = forecastText(seen);
  assert.match(
    text,
    /^n1 is drained in 1\ds \(9 of 10 times within 1\ds\); begun now, at 2026-01-01T00:/,
  );
  assert.match(
    text,
    /pods take to end was not seen often enough, and is guessed \(--stop-time\), for Deployment shop\/web, StatefulSet shop\/db$/m,
  );
  const learned = (stops: number): string =>
    forecastText({ ...seen, learned: { ...seen.learned, stops } });
  assert.match(
    learned(2),
    /not seen often enough, and is guessed \(--stop-time\), for Deployment shop\/web, /,
    'two tell nothing of anybody',
  );
  assert.match(
    learned(3),
    /not seen often enough, and is taken from others, for Deployment shop\/web, /,
  );
  assert.equal(
    forecastText(await foresee(copy, ['n1'], { seeds: 1 })),
    text,
    'the same copy gives the same foresight',
  );
});

test('a budget that never allows, two budgets on a pod, a pod without owner, local data: each is named, with its remedy', async () => {
  const copy = await copied(async (make, settle) => {
    nodes(make, 'n1');
    make('deployments.apps', web(2));
    make('poddisruptionbudgets.policy', budget('web', { minAvailable: 2 }));
    make('statefulsets.apps', shop('StatefulSet', 'db', { replicas: 1, serviceName: 'db' }));
    for (const name of ['one', 'two'])
      make('poddisruptionbudgets.policy', {
        metadata: { name, namespace: 'shop' },
        spec: { maxUnavailable: 1, selector: { matchLabels: { app: 'db' } } },
      });
    make('pods', freshPod('bare'));
    const spec = {
      containers: [{ name: 'main', image: 'example.test/none:1' }],
      volumes: [{ name: 'data', emptyDir: {} }],
    };
    make(
      'deployments.apps',
      shop('Deployment', 'cache', {
        replicas: 1,
        template: { metadata: { labels: { app: 'cache' } }, spec },
      }),
    );
    await settle();
    nodes(make, 'n2');
  });
  const seen = await foresee(copy, ['n1']);
  assert.equal(seen.finishes, false);
  assert.equal(seen.end, undefined);
  assert.deepEqual(wholeOf(seen, 'Unmanaged'), ['n1 shop/bare']);
  assert.equal(wholeOf(seen, 'LocalData').length, 1);
  assert.ok(seen.blockers.every(({ remedy }) => remedy !== undefined));
  const text = forecastText(seen);
  assert.match(text, /^It does not finish: n1 is not drained\./);
  assert.match(text, /help: /);
  assert.match(
    text,
    /What else would be in the way if the policy let all these pods go:\n  n1: .*BudgetNeverAllows/,
  );
  const forced = await foresee(copy, ['n1'], { drain: { force: true, deleteEmptyDirData: true } });
  assert.equal(wholeOf(forced, 'BudgetNeverAllows').length, 2);
  assert.deepEqual(wholeOf(forced, 'MultipleBudgets'), ['n1 shop/db-0']);
  assert.equal(forced.blockers.length, 3);
  const plain = ({ node, reason, what }: (typeof forced.blockers)[number]): string =>
    `${node} ${reason} ${what}`;
  assert.deepEqual(
    seen.behind?.map(plain).sort(),
    forced.blockers.map(plain).sort(),
    'what it would be, were they allowed to go',
  );
  assert.equal(forced.behind, undefined);
});

test('pods that the policy refuses, and nothing else in the way: that is said', async () => {
  const copy = await copied(async (make, settle) => {
    nodes(make, 'n1');
    make('deployments.apps', web(2));
    make('pods', freshPod('bare'));
    await settle();
    nodes(make, 'n2');
  });
  const seen = await foresee(copy, ['n1'], { seeds: 1 });
  assert.deepEqual(
    [seen.finishes, wholeOf(seen, 'Unmanaged'), seen.behind],
    [false, ['n1 shop/bare'], []],
  );
  assert.match(forecastText(seen), /if the policy let all these pods go:\n  nothing\n/);
});

test('nothing is left that fits the successor of a pod: the budget never allows again, and that is told with what is lacking', async () => {
  const copy = await copied(async (make, settle) => {
    nodes(make, 'n1', 'n2');
    make('deployments.apps', web(2, '2500m'));
    make('poddisruptionbudgets.policy', budget('web', { maxUnavailable: 1 }));
    await settle();
  });
  const seen = await foresee(copy, ['n1', 'n2']);
  assert.equal(seen.finishes, false);
  const blocked = seen.blockers.filter(({ what }) => what?.startsWith('shop/web'));
  assert.ok(blocked.length > 0);
  for (const { budgets, lacks = [] } of blocked) {
    assert.deepEqual(budgets, ['shop/web']);
    assert.equal(lacks.length, 1);
    assert.equal(lacks[0]?.asks, 'cpu 2.5');
  }
  assert.match(
    forecastText(seen),
    /because shop\/web-\S+ finds no node: 2 nodes cordoned \(it asks for cpu 2\.5\)/,
  );
  const single = await foresee(copy, ['n1']);
  assert.equal(single.finishes, true, 'one of the two pods may go');
  assert.deepEqual(
    single.lacks.map(({ workload, lacks }) => [
      workload,
      lacks.map(({ what }) => what.kind).sort(),
    ]),
    [['Deployment shop/web', ['amount', 'cordon']]],
  );
  assert.match(
    forecastText(single),
    /Pods that are left without a node:\n {2}shop\/web-\S+ finds no node: /,
  );
});

test('a volume that is tied to the node', async () => {
  const copy = await copied(async (make, settle) => {
    nodes(make, 'n1');
    const terms = [
      { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['n1'] }] },
    ];
    const common = { accessModes: ['ReadWriteOnce'], storageClassName: '' };
    make('persistentvolumes', {
      metadata: { name: 'disk' },
      spec: {
        ...common,
        capacity: { storage: '1Gi' },
        local: { path: '/d' },
        nodeAffinity: { required: { nodeSelectorTerms: terms } },
      },
    });
    make('persistentvolumeclaims', {
      metadata: { name: 'disk', namespace: 'shop' },
      spec: { ...common, volumeName: 'disk', resources: { requests: { storage: '1Gi' } } },
    });
    make(
      'deployments.apps',
      web(2, '100m', { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'disk' } }] }),
    );
    make('poddisruptionbudgets.policy', budget('web', { maxUnavailable: 1 }));
    await settle();
    nodes(make, 'n2');
  });
  const seen = await foresee(copy, ['n1']);
  assert.equal(seen.finishes, false);
  assert.match(
    forecastText(seen),
    /1 node cordoned, 1 node out of reach of its volume \(zone or node\)/,
  );
  assert.match(forecastText(seen), /help: its volume can be used on the drained node or zone only/);
});

test('pods that move twice are counted, and nodes in turns are released', async () => {
  const copy = await copied(async (make, settle) => {
    nodes(make, 'n1', 'n2', 'n3');
    make('deployments.apps', web(6, '1'));
    await settle();
  });
  const turns = await foresee(copy, ['n1', 'n2', 'n3'], { parallel: 1 });
  assert.equal(turns.finishes, true);
  assert.ok(turns.moves.again > 0, 'what left n1 may have to leave n2 as well');
  assert.equal(turns.moves.gone, 6 + turns.moves.again);
  const ends = turns.nodes.map(({ end }) => end?.medianMs ?? 0);
  assert.ok(
    (ends[0] ?? 0) < (ends[1] ?? 0) && (ends[1] ?? 0) < (ends[2] ?? 0),
    'one after the other',
  );
});

test('a window: when it opens, and that it closes too early', async () => {
  const window = (opening: JsonObject, atEnd: string): JsonObject => ({
    apiVersion: 'drydock.dev/v1alpha1',
    kind: 'MaintenanceWindow',
    metadata: { name: 'night' },
    spec: { openings: [opening], atEnd },
  });
  const copy = await copied(async (make, settle) => {
    nodes(make, 'n1');
    make('deployments.apps', web(6));
    make('poddisruptionbudgets.policy', budget('web', { maxUnavailable: 1 }));
    make(
      'maintenancewindows.drydock.dev',
      window({ cron: '0 4 * * *', duration: '1h' }, 'Continue'),
    );
    await settle();
    nodes(make, 'n2');
  });
  const later = await foresee(copy, ['n1'], { seeds: 1 });
  assert.equal(later.finishes, true);
  assert.ok((later.end?.medianMs ?? 0) > 3.9 * 3_600_000);
  assert.deepEqual(
    later.delays.filter(({ reason }) => reason === 'MaintenanceWindow').map(({ nodes }) => nodes),
    [['n1']],
  );
  const slow = { startSeconds: 2, stopSeconds: 1 };
  const short: JsonObject = {
    ...window({ from: '2026-01-01T00:00:00Z', to: '2026-01-01T00:01:37Z' }, 'Pause'),
    kind: 'MaintenanceWindow',
  };
  const closing = {
    ...copy,
    objects: [
      ...copy.objects.filter(({ kind }) => kind !== 'MaintenanceWindow'),
      { ...short, spec: { ...(short['spec'] as JsonObject), expectedDuration: '1s' } },
    ],
  };
  const cut = await foresee(closing, ['n1'], { seeds: 1, defaults: slow });
  assert.equal(cut.finishes, false);
  assert.deepEqual(wholeOf(cut, 'WindowClosed'), ['n1 ']);
});

test('pods of a controller that is not known here come again, and their budget counts them', async () => {
  const copy = await copied(async (make, settle) => {
    nodes(make, 'n1');
    make('deployments.apps', web(4));
    make('poddisruptionbudgets.policy', budget('web', { maxUnavailable: 1 }));
    await settle();
    nodes(make, 'n2');
  });
  const owner = {
    apiVersion: 'example.test/v1',
    kind: 'Rollout',
    name: 'web',
    uid: 'of-another',
    controller: true,
  };
  const foreign = copy.objects
    .filter(({ kind }) => kind !== 'Deployment' && kind !== 'ReplicaSet')
    .map(one =>
      one['kind'] === 'Pod'
        ? { ...one, metadata: { ...(one['metadata'] as JsonObject), ownerReferences: [owner] } }
        : one,
    );
  const seen = await foresee({ ...copy, objects: foreign }, ['n1']);
  assert.deepEqual([seen.finishes, seen.notes, seen.moves.gone], [true, [], 4]);
  assert.deepEqual(
    seen.levels.map(({ workload, lowest, desired }) => [workload, lowest, desired]),
    [['Rollout shop/web', 3, 4]],
  );
});

test('the picture shows every node, what leaves it, and in red what is stuck', async () => {
  const copy = await copied(async (make, settle) => {
    nodes(make, 'n1');
    make('deployments.apps', web(3));
    make('pods', freshPod('bare'));
    await settle();
    nodes(make, 'n2');
  });
  const stuck = forecastPicture(await foresee(copy, ['n1'], { seeds: 1 }));
  assert.match(stuck, /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" viewBox="0 0 970 \d+"/);
  assert.match(stuck, /<rect class="stuck"/);
  assert.match(stuck, />Unmanaged</);
  const done = forecastPicture(
    await foresee(copy, ['n1', 'n2'], { seeds: 1, drain: { force: true }, parallel: 1 }),
  );
  assert.equal(done.match(/<rect class="drain"/g)?.length, 2);
  assert.ok((done.match(/<circle class="mark"/g)?.length ?? 0) >= 4);
  assert.match(done, /<circle class="again"/);
  assert.doesNotMatch(done, /NaN|undefined/);
});

test('two of three members of the control plane at once: the quorum keeps the second one, in turns both are drained', async () => {
  const copy = await copied(async (make, settle) => {
    labelledNodes(make, { 'node-role.kubernetes.io/control-plane': '' }, 'cp-1', 'cp-2', 'cp-3');
    nodes(make, 'n1');
    make('deployments.apps', web(4));
    await settle();
  });
  const seen = await foresee(copy, ['cp-1', 'cp-2'], { seeds: 1 });
  assert.equal(seen.finishes, false);
  assert.deepEqual(
    seen.nodes.map(({ otherwise }) => otherwise),
    [undefined, 'stuck'],
  );
  assert.deepEqual(
    seen.blockers.map(({ reason }) => reason),
    ['QuorumAtRisk'],
  );
  assert.match(seen.blockers[0]?.message ?? '', /quorum/);
  const inTurns = await foresee(copy, ['cp-1', 'cp-2'], { seeds: 1, parallel: 1 });
  assert.deepEqual([inTurns.finishes, inTurns.blockers], [true, []]);
});

for (const apiVersion of [
  'nodemaintenance.medik8s.io/v1beta1',
  'nodemaintenance.kubevirt.io/v1beta1',
  'kubevirt.io/v1alpha1',
]) {
  test(`a NodeMaintenance of ${apiVersion}, whose status names no blockers: what is in its way is found all the same`, async () => {
    const copy = await copied(async (make, settle) => {
      nodes(make, 'n1');
      make('deployments.apps', web(3));
      make('poddisruptionbudgets.policy', budget('web', { maxUnavailable: 1 }));
      make('statefulsets.apps', shop('StatefulSet', 'db', { replicas: 1, serviceName: 'db' }));
      make('poddisruptionbudgets.policy', budget('db', { minAvailable: 1 }));
      await settle();
      nodes(make, 'n2');
    });
    const object = (node: string): JsonObject => ({
      apiVersion,
      kind: 'NodeMaintenance',
      metadata: { name: node },
      spec: { nodeName: node, reason: 'disks' },
    });
    const seen = await foresee(copy, ['n1'], { seeds: 1, object });
    assert.deepEqual(
      [seen.finishes, seen.nodes.map(({ otherwise }) => otherwise)],
      [false, ['stuck']],
    );
    assert.deepEqual(
      seen.blockers.map(({ reason, what, budgets, remedy }) => [
        reason,
        what,
        budgets,
        remedy !== undefined,
      ]),
      [['BudgetNeverAllows', 'shop/db-0', ['shop/db'], true]],
    );
    assert.deepEqual(
      seen.delays.map(({ reason, about }) => [reason, about]),
      [['DisruptionBudget', 'shop/web']],
    );
  });
}

test('the operator itself, which no other node may run, stays, and that is foretold; with another node it goes like all others', async () => {
  const operatorOn = (others: readonly string[]) =>
    copied(async (make, settle) => {
      nodes(make, 'n1');
      const env = [{ name: 'NODE_NAME', value: 'n1' }];
      const spec = { containers: [{ name: 'operator', image: 'example.test/drydock:1', env }] };
      const labels = { app: 'drydock', 'app.kubernetes.io/name': 'drydock' };
      make(
        'deployments.apps',
        shop('Deployment', 'drydock', { replicas: 1, template: { metadata: { labels }, spec } }),
      );
      make('deployments.apps', web(2));
      await settle();
      nodes(make, ...others);
    });
  const alone = await foresee(await operatorOn([]), ['n1'], { seeds: 1 });
  assert.deepEqual([alone.finishes, alone.moves.gone, alone.blockers], [true, 2, []]);
  assert.match(
    alone.notes.join('\n'),
    /^n1: pod shop\/drydock-\S+ of the operator stays on the node, .*\(there is no other node\)/m,
  );
  const two = await foresee(await operatorOn(['n2']), ['n1'], { seeds: 1 });
  assert.deepEqual([two.finishes, two.moves.gone, two.notes], [true, 3, []]);
});

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  create,
  getNode,
  nodesReady,
  podsOn,
  podsReady,
} from '../control-plane/objects/cluster.ts';
import { namespace } from '../control-plane/objects/manifests.ts';
import { isReady } from '../control-plane/objects/objects.ts';
import { until } from '../control-plane/wait.ts';
import { operatorsOn } from '../operator/harness/harness.ts';
import {
  maintenance,
  maintenancePath,
  remove,
  untilMaintenance,
} from '../operator/harness/look.ts';
import { installShipped, operatorUsers } from '../operator/harness/shipped.ts';
import { type NodeBed, skipOf, startBed } from './bed.ts';
import { figure } from './figures.ts';
import type { RealNode } from './node.ts';
import { realPod } from './pods.ts';
import { onBed } from './product.ts';

/**
 * Nodes that go away in mid-drain, all at the same time: what is said of them, and that nothing is
 * forgotten when they are back.
 */

const started = await startBed({ nodes: 3, users: operatorUsers });
const skip = skipOf(started);
const bed = started as NodeBed;
const space = 'dead';

type Ending = {
  readonly node: string;
  readonly what: string;
  readonly go: (node: RealNode) => Promise<void>;
  readonly back: (node: RealNode) => Promise<void>;
};

const endings: readonly Ending[] = [
  {
    node: 'node-1',
    what: 'kubelet stopped',
    go: async node => node.stopService('kubelet'),
    back: async node => node.startService('kubelet'),
  },
  { node: 'node-2', what: 'power lost', go: node => node.crash(), back: node => node.boot() },
  {
    node: 'node-3',
    what: 'network lost',
    go: node => node.cutNetwork(),
    back: node => node.mendNetwork(),
  },
];

describe('nodes that die in mid-drain', { skip, timeout: 240_000 }, () => {
  const { api, controlPlane } = bed;
  before(async () => {
    await installShipped(controlPlane);
    await operatorsOn(controlPlane)();
    await create(api, namespace(space));
    for (const { node } of endings)
      await create(
        api,
        realPod(`on-${node}`, { namespace: space, onNode: node, termSeconds: 8, graceSeconds: 15 }),
      );
    await podsReady(api, space, endings.length);
    for (const { node } of endings) await create(api, maintenance(node));
    for (const { node } of endings)
      await until('the pod to be told to go', async () =>
        (await podsOn(api, node)).every(({ metadata }) => metadata.deletionTimestamp !== undefined),
      );
    await Promise.all(endings.map(({ node, go }) => go(bed.node(node))));
  });
  after(() => bed.stop());

  const said = async (node: string): Promise<string> => {
    const why = await onBed(bed, 'why', node);
    return `${why.stdout}${why.stderr}`.trim().replaceAll('\n', ' ⏎ ');
  };

  test('it is never called drained, and what is said of it', async t => {
    const since = performance.now();
    for (const at of [10, 35, 75]) {
      await sleep(Math.max(0, at * 1000 - (performance.now() - since)));
      figure(
        t,
        `${at} s: status`,
        (await onBed(bed, 'status')).stdout.trim().replaceAll('\n', ' ⏎ '),
      );
      for (const { node, what } of endings) {
        const isStillReady = isReady(await getNode(api, node));
        figure(
          t,
          `${at} s: ${what}, node ${isStillReady ? 'Ready' : 'not Ready'}`,
          await said(node),
        );
        await untilMaintenance(api, node, 'Draining');
      }
    }
    for (const { node } of endings) {
      assert.equal(isReady(await getNode(api, node)), false);
      const { blockers = [] } = await untilMaintenance(api, node, 'Draining');
      assert.deepEqual(
        blockers.map(({ reason, pod }) => [reason, pod?.name]),
        [['NodeNotReady', `on-${node}`]],
      );
      assert.match(
        blockers[0]?.message ?? '',
        new RegExp(`^node ${node} is not Ready since .*: nobody ends its pods$`),
      );
      assert.match(
        blockers[0]?.remedy ?? '',
        new RegExp(
          `kubectl taint nodes ${node} node.kubernetes.io/out-of-service=nodeshutdown:NoExecute`,
        ),
      );
      assert.match(await said(node), /NodeNotReady|is not Ready/);
    }
  });

  for (const { node, what, back } of endings)
    test(`${what}: when the node is back its drain ends`, async () => {
      await back(bed.node(node));
      await nodesReady(api, [node], { deadlineMs: 60_000 });
      await untilMaintenance(api, node, 'Drained');
      assert.deepEqual(await podsOn(api, node), []);
      await remove(api, maintenancePath(node));
      assert.equal((await getNode(api, node)).spec.unschedulable, undefined);
    });
});

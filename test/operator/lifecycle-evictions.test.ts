import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { create } from '../control-plane/objects/cluster.ts';
import { namespace } from '../control-plane/objects/manifests.ts';
import { until } from '../control-plane/wait.ts';
import { hasLifecycle, lifecycleFlags } from '../eviction-requests/served.ts';
import { type OperatorHarness, skipOf, startHarness } from './harness/harness.ts';
import {
  eventsOf,
  maintenance,
  maintenancePath,
  makeNode,
  namesOn,
  podAt,
  podCalls,
  remove,
  untilMaintenance,
  untilPods,
} from './harness/look.ts';

/**
 * Evictions that somebody else has requested (KEP-4563), on an API server that serves and guards
 * them. No released Kubernetes has the controllers: what they would write is written here, and the
 * API server checks every word of it.
 */

const started = hasLifecycle
  ? await startHarness({ flags: lifecycleFlags })
  : ({ kind: 'left-out', why: 'Kubernetes 1.37 or newer has the kind Eviction' } as const);
const skip = skipOf(started);
const harness = started as OperatorHarness;

const mover = 'mover.example/m';
const evictor = 'imperative-eviction.k8s.io/evictor';
function now(): string {
  return `${new Date().toISOString().slice(0, 19)}Z`;
}

describe('a pod that somebody else evicts', { skip, timeout: 120_000 }, () => {
  const { api } = harness;
  const evictions = '/apis/lifecycle.k8s.io/v1alpha1/namespaces/moved/evictions';

  before(async () => {
    await create(api, namespace('moved'));
    await harness.startOperator();
  });
  after(() => harness.stop());

  /** A pod with a responder of its own, and the Eviction in which it is that responder's turn. */
  const respondedTo = async (name: string): Promise<void> => {
    await makeNode(api, name);
    const evictionResponders = [{ name: mover, priority: 10_000 }];
    await create(api, podAt(name, name, { namespace: 'moved', spec: { evictionResponders } }));
    await untilPods(api, name, 1);
    const { metadata } = await api.get<{ readonly metadata: { readonly uid: string } }>(
      `/api/v1/namespaces/moved/pods/${name}`,
    );
    await api.post(evictions, {
      apiVersion: 'lifecycle.k8s.io/v1alpha1',
      kind: 'Eviction',
      metadata: { name: `${name}-1-${name}`, namespace: 'moved' },
      spec: { target: { pod: { name, uid: metadata.uid } } },
    });
    await says(name, { startTime: now() }, 'Active', 'Inactive');
  };

  let starts = new Map<string, string>();
  /** The status that its controller and the responder would write. */
  const says = async (name: string, more: object, own: string, last: string): Promise<void> => {
    starts = new Map([...starts, [name, starts.get(name) ?? now()]]);
    const status = {
      targetResponders: [
        { name: mover, priority: 10_000, state: own },
        { name: evictor, priority: 100, state: last },
      ],
      responders: [
        { name: mover, startTime: starts.get(name), ...more },
        { name: evictor, ...(last === 'Active' && { startTime: now() }) },
      ],
    };
    await api.patch(`${evictions}/${name}-1-${name}/status`, { status });
  };

  test('is left to its responder, whose words are shown as they change; then it is evicted', async () => {
    await respondedTo('moves');
    const mark = harness.controlPlane.audit.mark();
    await create(api, maintenance('moves', { drain: { force: true } }));
    const waits = await untilMaintenance(
      api,
      'moves',
      'Draining',
      ({ blockers }) => blockers?.[0]?.reason === 'EvictionResponder',
    );
    assert.match(
      waits.blockers?.[0]?.message ?? '',
      /^responder mover\.example\/m is evicting it \(since .*\)$/,
    );
    await says('moves', { heartbeatTime: now(), message: 'migrating, 40 %' }, 'Active', 'Inactive');
    await untilMaintenance(
      api,
      'moves',
      'Draining',
      ({ blockers }) => blockers?.[0]?.message.includes(': migrating, 40 %') === true,
    );
    assert.deepEqual(
      await podCalls(harness, mark, ['moved']),
      [],
      'no call goes past the responder',
    );
    const last = { heartbeatTime: now(), message: 'handed over', completionTime: now() };
    await says('moves', last, 'Active', 'Inactive');
    await says('moves', last, 'Completed', 'Active');
    await untilMaintenance(api, 'moves', 'Drained');
    assert.equal(
      (await podCalls(harness, mark, ['moved'])).length,
      1,
      'it is evicted by Drydock: the default responder would do no more',
    );
    await remove(api, maintenancePath('moves'));
  });

  test('a rung of the ladder goes past it, and says so', async () => {
    await respondedTo('late');
    const { metadata } = await api.get<{ readonly metadata: { readonly uid: string } }>(
      '/api/v1/namespaces/moved/pods/late',
    );
    await create(
      api,
      maintenance('late', {
        drain: { force: true, ladder: [{ afterSeconds: 3, action: 'Delete' }] },
      }),
    );
    await untilMaintenance(
      api,
      'late',
      'Draining',
      ({ blockers }) => blockers?.[0]?.reason === 'EvictionResponder',
    );
    assert.deepEqual(await namesOn(api, 'late'), ['late']);
    await untilMaintenance(api, 'late', 'Drained');
    await until('the event', async () =>
      (await eventsOf(api, metadata.uid, 'moved')).some(
        ({ reason, message }) =>
          reason === 'DeletedPastDeadline' &&
          message.includes('; the responder mover.example/m is overruled'),
      ),
    );
    await remove(api, maintenancePath('late'));
  });
});

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { create } from '../control-plane/objects/cluster.ts';
import { budget, namespace } from '../control-plane/objects/manifests.ts';
import { until } from '../control-plane/wait.ts';
import {
  activeOf,
  type Call,
  type Eviction,
  isFinal,
  say,
} from '../eviction-requests/controllers.ts';
import { EvictionControllers, type Responder } from '../eviction-requests/play.ts';
import { hasLifecycle, lifecycleFlags } from '../eviction-requests/served.ts';
import {
  type OperatorHarness,
  type OperatorProcess,
  skipOf,
  startHarness,
} from './harness/harness.ts';
import {
  countsOf,
  maintenance,
  maintenancePath,
  makeNode,
  podAt,
  podCalls,
  remove,
  untilFace,
  untilMaintenance,
  untilPods,
} from './harness/look.ts';

/**
 * Our own EvictionRequests (KEP-4563) on an API server that serves and guards them. No released
 * Kubernetes has the controllers: they are played, and the API server checks every word of it.
 */

const started = hasLifecycle
  ? await startHarness({ flags: lifecycleFlags })
  : ({ kind: 'left-out', why: 'Kubernetes 1.37 or newer has the kind EvictionRequest' } as const);
const skip = skipOf(started);
const harness = started as OperatorHarness;

const mover = 'mover.example/m';
const shop = 'requested';
const requests = `/apis/lifecycle.k8s.io/v1alpha1/namespaces/${shop}/evictionrequests`;
const evictions = `/apis/lifecycle.k8s.io/v1alpha1/namespaces/${shop}/evictions`;
function text(now: Temporal.Instant): string {
  return now.round({ smallestUnit: 'second', roundingMode: 'floor' }).toString();
}
const drain = { drain: { force: true } };

/** By the name of the pod: what its responder does when it has its turn. */
const answers = new Map<string, (eviction: Eviction, now: Temporal.Instant) => readonly Call[]>();

const responder: Responder = ({ evictions }, now) =>
  evictions
    .filter(one => !isFinal(one) && activeOf(one) === mover)
    .flatMap(one => answers.get(one.spec.target.pod.name)?.(one, now) ?? []);

function entryOf(eviction: Eviction) {
  return eviction.status?.responders?.find(({ name }) => name === mover);
}

/** Reports once, and then no more. */
function reports(message: string) {
  return (eviction: Eviction, now: Temporal.Instant) =>
    entryOf(eviction)?.message === message
      ? []
      : [say(eviction, mover, { message, heartbeatTime: text(now) })];
}

/** Hands over without having done it. */
function handsOver(eviction: Eviction, now: Temporal.Instant) {
  return entryOf(eviction)?.completionTime === undefined
    ? [
        say(eviction, mover, {
          message: 'cannot be moved',
          heartbeatTime: text(now),
          completionTime: text(now),
        }),
      ]
    : [];
}

describe('pods that name responders', { skip, timeout: 240_000 }, () => {
  const { api } = harness;
  let operator: OperatorProcess;
  let controllers: EvictionControllers | undefined;

  before(async () => {
    await create(api, namespace(shop));
    operator = await harness.startOperator({ flags: ['--eviction-requests=Auto'] });
  });
  after(async () => {
    await controllers?.stop();
    await harness.stop();
  });

  const restart = async (flag = '--eviction-requests=Auto'): Promise<void> => {
    await operator.running.stop();
    operator = await harness.startOperator({ flags: [flag] });
  };

  const withPods = async (name: string, ...pods: string[]): Promise<object> => {
    const face = await makeNode(api, name);
    const spec = {
      evictionResponders: [{ name: mover, priority: 10_000 }],
      terminationGracePeriodSeconds: 0,
    };
    for (const pod of pods)
      await create(api, podAt(name, pod, { namespace: shop, labels: { app: pod }, spec }));
    await untilPods(api, name, pods.length);
    return face;
  };
  const countOf = async (path: string): Promise<number> =>
    (await api.get<{ readonly items: readonly unknown[] }>(path)).items.length;
  const writesOf = async (mark: number): Promise<readonly string[]> =>
    (await harness.controlPlane.audit.since(mark, 'drydock'))
      .filter(
        ({ resource, verb }) =>
          resource === 'evictionrequests' && ['create', 'patch', 'delete'].includes(verb),
      )
      .map(({ verb, code }) => `${verb} ${code}`);
  const blockerOf = async (name: string, reason: string): Promise<string> => {
    const { blockers } = await untilMaintenance(
      api,
      name,
      'Draining',
      ({ blockers }) => blockers?.[0]?.reason === reason,
    );
    return blockers?.[0]?.message ?? '';
  };
  const tidy = async (name: string): Promise<void> => {
    await until('no request to be left', async () => (await countOf(requests)) === 0);
    await remove(api, maintenancePath(name));
  };

  test('are evicted after half a minute where no controller answers; the next ones at once, and it is said once', async () => {
    const mark = harness.controlPlane.audit.mark();
    await withPods('silent', 'a', 'b');
    await create(api, maintenance('silent', drain));
    assert.match(
      await blockerOf('silent', 'EvictionRequested'),
      /^its eviction has been requested of its responders; if none has its turn by /,
    );
    assert.deepEqual(await podCalls(harness, mark, [shop]), []);
    await untilMaintenance(api, 'silent', 'Drained', () => true);
    await tidy('silent');
    await withPods('silent-2', 'c');
    await create(api, maintenance('silent-2', drain));
    await untilMaintenance(api, 'silent-2', 'Drained');
    assert.deepEqual(await writesOf(mark), [
      'create 201',
      'create 201',
      'delete 200',
      'delete 200',
    ]);
    assert.equal((await podCalls(harness, mark, [shop])).length, 3);
    const [one, two] = await Promise.all(
      ['silent', 'silent-2'].map(async name =>
        api.get<{ readonly metadata: { readonly uid: string } }>(`/api/v1/nodes/${name}`),
      ),
    );
    await until(
      'the event',
      async () => (await countsOf(api, one?.metadata.uid ?? ''))['EvictionRequestUnanswered'] === 1,
    );
    assert.equal(
      (await countsOf(api, two?.metadata.uid ?? ''))['EvictionRequestUnanswered'],
      undefined,
    );
    await remove(api, maintenancePath('silent-2'));
  });

  test('are moved by their responder, whose words are shown, and no call is made', async () => {
    controllers = new EvictionControllers(api, [responder]);
    await restart();
    const mark = harness.controlPlane.audit.mark();
    answers.set('moved', reports('moving, 40 %'));
    await withPods('moves', 'moved');
    await create(api, maintenance('moves', drain));
    await until('its words', async () =>
      /^responder mover\.example\/m is evicting it .*: moving, 40 %$/.test(
        await blockerOf('moves', 'EvictionResponder'),
      ),
    );
    await api.delete(`/api/v1/namespaces/${shop}/pods/moved`);
    await untilMaintenance(api, 'moves', 'Drained');
    assert.deepEqual(await podCalls(harness, mark, [shop]), []);
    await tidy('moves');
    assert.deepEqual(await writesOf(mark), ['create 201', 'delete 200']);
    await until('the Eviction to be collected', async () => (await countOf(evictions)) === 0);
  });

  test('are evicted by Drydock when only the default responder is left, as soon as their budget allows: it need not wait for the next attempt of that one', async () => {
    const mark = harness.controlPlane.audit.mark();
    answers.set('left', handsOver);
    await withPods('hands-over', 'left');
    await create(api, budget('left', { namespace: shop, minAvailable: 1 }));
    await create(api, maintenance('hands-over', drain));
    await blockerOf('hands-over', 'BudgetNeverAllows');
    await until('three attempts of the default responder', async () =>
      (await api.get<{ readonly items: readonly Eviction[] }>(evictions)).items.some(({ status }) =>
        status?.responders?.some(({ message }) => message?.includes('(attempts=3)') === true),
      ),
    );
    const lifted = Date.now();
    await api.patch(`/apis/policy/v1/namespaces/${shop}/poddisruptionbudgets/left`, {
      spec: { minAvailable: 0 },
    });
    await untilMaintenance(api, 'hands-over', 'Drained');
    assert.ok(
      Date.now() - lifted < 10_000,
      'the default responder would have tried again 20 s after its last attempt',
    );
    assert.deepEqual(
      (await podCalls(harness, mark, [shop])).filter(call => call.endsWith(' 201')),
      ['evict left 201'],
    );
    await tidy('hands-over');
  });

  test('may stay when the maintenance is given up: the request is withdrawn, the responder told, and nothing is left', async () => {
    const mark = harness.controlPlane.audit.mark();
    answers.set('stays', reports('moving'));
    const face = await withPods('given-up', 'stays');
    await create(api, maintenance('given-up', drain));
    await blockerOf('given-up', 'EvictionResponder');
    await remove(api, maintenancePath('given-up'));
    await untilFace(api, 'given-up', face);
    await until('no request to be left', async () => (await countOf(requests)) === 0);
    assert.deepEqual(await writesOf(mark), ['create 201', 'patch 200', 'delete 200']);
    assert.deepEqual(await podCalls(harness, mark, [shop]), []);
    await api.get(`/api/v1/namespaces/${shop}/pods/stays`);
  });

  test('keep their one request when the operator is killed, and it is cleaned up by the next', async () => {
    const mark = harness.controlPlane.audit.mark();
    answers.set('kept', reports('moving'));
    await withPods('killed', 'kept');
    await create(api, maintenance('killed', drain));
    await blockerOf('killed', 'EvictionResponder');
    await operator.running.signal('SIGKILL');
    await restart();
    await until('it to have been looked at', async () =>
      (await blockerOf('killed', 'EvictionResponder')).includes('moving'),
    );
    assert.deepEqual(await writesOf(mark), ['create 201']);
    await operator.running.signal('SIGKILL');
    await api.delete(`/api/v1/namespaces/${shop}/pods/kept`);
    await restart();
    await untilMaintenance(api, 'killed', 'Drained');
    await tidy('killed');
    assert.deepEqual(await writesOf(mark), ['create 201', 'delete 200']);
  });

  test('are evicted at once with --eviction-requests=Never, and what was requested before is withdrawn', async () => {
    const mark = harness.controlPlane.audit.mark();
    answers.set('before', reports('moving'));
    await withPods('never', 'before');
    await create(api, maintenance('never', drain));
    await blockerOf('never', 'EvictionResponder');
    await restart('--eviction-requests=Never');
    await untilMaintenance(api, 'never', 'Drained');
    assert.deepEqual(await podCalls(harness, mark, [shop]), ['evict before 201']);
    await tidy('never');
    assert.deepEqual(await writesOf(mark), ['create 201', 'patch 200', 'delete 200']);
  });
});

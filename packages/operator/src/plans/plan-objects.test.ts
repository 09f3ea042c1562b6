import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readOwnPod, readWorkPod } from './plan-objects.ts';

const metadata = { name: 'p', namespace: 'n', uid: 'u', resourceVersion: '1' };

test('a pod that was ended from outside says nothing of its work', () => {
  const killed = (status: object): boolean =>
    readWorkPod({ metadata, status: { phase: 'Failed', ...status } }).killed;
  const ended = (...states: readonly object[]) => ({
    containerStatuses: states.map((terminated, index) => ({
      name: `c${index}`,
      state: { terminated },
    })),
  });
  assert.equal(
    killed({
      reason: 'Terminated',
      message: 'Pod was terminated in response to imminent node shutdown.',
    }),
    true,
  );
  assert.equal(killed(ended({ exitCode: 143, reason: 'Error' })), true);
  assert.equal(killed(ended({ exitCode: 137, reason: 'Error' }, { exitCode: 0 })), true);
  assert.equal(killed(ended({ exitCode: 255, reason: 'Unknown' })), true, 'lost with its node');
  assert.equal(killed(ended({ exitCode: 255, reason: 'Error' })), false);
  assert.equal(killed(ended({ exitCode: 137, reason: 'OOMKilled' })), false);
  assert.equal(
    killed(ended({ exitCode: 137, reason: 'Error' }, { exitCode: 1, reason: 'Error' })),
    false,
  );
  assert.equal(
    killed({ reason: 'DeadlineExceeded', ...ended({ exitCode: 137, reason: 'Error' }) }),
    false,
  );
  assert.equal(killed({ reason: 'Evicted' }), false);
  assert.equal(readWorkPod({ metadata, status: { phase: 'Running' } }).killed, false);
});

/** What a status says of a pod: whether a container has run, and what is told of it. */
const told: readonly (readonly [string, object, boolean, string])[] = [
  ['is not there yet', {}, false, ''],
  [
    'pulls',
    {
      phase: 'Pending',
      containerStatuses: [
        {
          name: 'up',
          state: { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } },
        },
      ],
    },
    false,
    'container up: ImagePullBackOff: no such image',
  ],
  [
    'runs',
    { phase: 'Running', containerStatuses: [{ name: 'up', state: { running: {} } }] },
    true,
    '',
  ],
  [
    'runs its first step',
    { phase: 'Pending', initContainerStatuses: [{ name: 'one', state: { running: {} } }] },
    true,
    '',
  ],
  [
    'has a container that runs on',
    {
      phase: 'Running',
      containerStatuses: [
        { name: 'work', state: { terminated: { exitCode: 0 } } },
        { name: 'mesh-proxy', state: { running: {} } },
      ],
    },
    true,
    'container work has ended with 0; mesh-proxy runs on',
  ],
  [
    'ended before its image came',
    {
      phase: 'Failed',
      reason: 'DeadlineExceeded',
      message: 'its time is over',
      containerStatuses: [
        {
          name: 'up',
          state: {
            terminated: { exitCode: 137, reason: 'ContainerStatusUnknown', startedAt: null },
          },
        },
      ],
    },
    false,
    'DeadlineExceeded: its time is over; container up: ContainerStatusUnknown, exit code 137',
  ],
  [
    'lost a container that had run',
    {
      phase: 'Failed',
      containerStatuses: [
        {
          name: 'up',
          containerID: 'containerd://1',
          state: { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown' } },
        },
      ],
    },
    true,
    'container up: ContainerStatusUnknown, exit code 137',
  ],
  [
    'could not be begun',
    {
      phase: 'Failed',
      containerStatuses: [
        {
          name: 'up',
          containerID: 'containerd://1',
          state: { terminated: { exitCode: 128, reason: 'StartError', message: 'no such file' } },
        },
      ],
    },
    false,
    'container up: StartError, exit code 128: no such file',
  ],
  [
    'had no place',
    { phase: 'Failed', reason: 'OutOfpods', message: 'Node has no room' },
    false,
    'OutOfpods: Node has no room',
  ],
  [
    'is preempted',
    {
      phase: 'Running',
      conditions: [
        {
          type: 'DisruptionTarget',
          status: 'True',
          reason: 'PreemptionByScheduler',
          message: 'for a more important one',
        },
      ],
    },
    true,
    'PreemptionByScheduler: for a more important one',
  ],
  [
    'finds no node',
    {
      phase: 'Pending',
      conditions: [
        { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3 nodes' },
      ],
    },
    false,
    'Unschedulable: 0/3 nodes',
  ],
  ['has failed for no reason', { phase: 'Failed' }, false, 'no reason is known'],
];

test('a pod has changed its node only when a container of it has run, and says what keeps it', () => {
  for (const [name, status, ran, message] of told) {
    const pod = readWorkPod({ metadata, status });
    assert.deepEqual([pod.ran, pod.message], [ran, message], name);
  }
  const running = (startedAt: string) => ({ state: { running: { startedAt } } });
  const containerStatuses = [running('2026-11-21T08:00:05Z'), running('2026-11-21T08:00:03Z')].map(
    (one, index) => ({
      name: `c${index}`,
      ...one,
    }),
  );
  assert.equal(
    readWorkPod({ metadata, status: { phase: 'Running', containerStatuses } }).ranAt?.toString(),
    '2026-11-21T08:00:03Z',
  );
});

test('the pod of this process names its image', () => {
  assert.equal(
    readOwnPod({ metadata, spec: { containers: [{ image: 'drydock:1' }, { image: 'proxy:2' }] } })
      .image,
    'drydock:1',
  );
  assert.equal(readOwnPod({ metadata }).image, undefined);
  const pullSecrets = (imagePullSecrets?: unknown): readonly string[] =>
    readOwnPod({ metadata, spec: { imagePullSecrets } }).pullSecrets;
  assert.deepEqual(
    [pullSecrets(), pullSecrets([]), pullSecrets([{ name: 'registry' }, {}])],
    [[], [], ['registry']],
  );
});

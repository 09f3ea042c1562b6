import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasGivenUp, type RolloutState, rolloutLacks, rolloutText } from './rollout.ts';

type Status = NonNullable<NonNullable<RolloutState['deployment']>['status']>;

function deployment(status: Status = {}): RolloutState['deployment'] {
  return {
    metadata: { name: 'drydock', generation: 2 },
    spec: { replicas: 2 },
    status: {
      observedGeneration: 2,
      replicas: 2,
      updatedReplicas: 2,
      availableReplicas: 2,
      ...status,
    },
  };
}
function waitingPod(reason: string, message?: string): RolloutState['pods'][number] {
  return {
    metadata: { name: 'drydock-1' },
    status: {
      containerStatuses: [
        { state: { waiting: { reason, ...(message !== undefined && { message }) } } },
      ],
    },
  };
}
function text(state: RolloutState): string | undefined {
  const lacks = rolloutLacks(state);
  return lacks === undefined ? undefined : rolloutText(state, lacks);
}

test('a rollout is done when kubectl rollout status says so', () => {
  const rows: readonly (readonly [Status, string | undefined])[] = [
    [{}, undefined],
    [{ observedGeneration: 1 }, 'the change of the Deployment has not been observed yet'],
    [{ updatedReplicas: 1 }, '1 of 2 new replicas have been updated'],
    [{ replicas: 3 }, '1 old replicas are pending termination'],
    [{ availableReplicas: 1 }, '1 of 2 updated replicas are available'],
  ];
  for (const [status, expected] of rows)
    assert.equal(text({ deployment: deployment(status), pods: [] }), expected);
  assert.equal(text({ pods: [] }), 'the Deployment is not there');
  assert.equal(
    text({ deployment: { metadata: { name: 'drydock', generation: 1 } }, pods: [] }),
    'the change of the Deployment has not been observed yet',
  );
});

test('what keeps it from coming up is said: images, pods that end, nodes that are full, pods that are refused', () => {
  const late = deployment({ availableReplicas: 0 });
  const start = '0 of 2 updated replicas are available';
  const unscheduled = [
    {
      type: 'PodScheduled',
      status: 'False',
      reason: 'Unschedulable',
      message: '0/3 nodes are available',
    },
  ];
  const ended = { exitCode: 2, reason: 'Error' };
  const rows: readonly (readonly [RolloutState['pods'][number], string])[] = [
    [waitingPod('ContainerCreating'), start],
    [
      waitingPod('ImagePullBackOff', 'Back-off pulling image "x"'),
      `${start}; pod drydock-1: ImagePullBackOff: Back-off pulling image "x"`,
    ],
    [
      waitingPod('CreateContainerConfigError'),
      `${start}; pod drydock-1: CreateContainerConfigError`,
    ],
    [
      {
        metadata: { name: 'drydock-1' },
        status: {
          containerStatuses: [
            {
              state: { waiting: { reason: 'CrashLoopBackOff' } },
              lastState: { terminated: ended },
            },
          ],
        },
      },
      `${start}; pod drydock-1: CrashLoopBackOff: it ended with 2: Error`,
    ],
    [
      { metadata: { name: 'drydock-1' }, status: { conditions: unscheduled } },
      `${start}; pod drydock-1: Unschedulable: 0/3 nodes are available`,
    ],
    [
      {
        metadata: { name: 'drydock-1', deletionTimestamp: 'now' },
        status: { conditions: unscheduled },
      },
      start,
    ],
  ];
  for (const [pod, expected] of rows)
    assert.equal(text({ deployment: late, pods: [pod] }), expected);
  const refused = {
    type: 'ReplicaFailure',
    status: 'True',
    reason: 'FailedCreate',
    message: 'pods "drydock-" is forbidden: exceeded quota',
  };
  assert.equal(
    text({ deployment: deployment({ updatedReplicas: 0, conditions: [refused] }), pods: [] }),
    '0 of 2 new replicas have been updated; pods are refused: pods "drydock-" is forbidden: exceeded quota',
  );
});

test('a Deployment that has given up by its own deadline is not waited for', () => {
  const conditions = [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }];
  assert.equal(hasGivenUp({ deployment: deployment({ conditions }), pods: [] }), true);
  assert.equal(hasGivenUp({ deployment: deployment(), pods: [] }), false);
});

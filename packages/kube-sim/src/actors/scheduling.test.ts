import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, objects, text } from '../object.ts';
import { bench, freshNode, freshPod } from '../testing/bench.ts';

test('the more important pod goes first, and the other says why it waits', async () => {
  const { clock, make, pod, changeNode, runtime } = bench({ record: 'events' });
  make('priorityclasses.scheduling.k8s.io', {
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name: 'high' },
    value: 7,
  });
  make('nodes', freshNode('n1', { allocatable: { cpu: '8', memory: '32Gi', pods: '1' } }));
  changeNode('n1', { unschedulable: true });
  await clock.advance(1000);
  make('pods', freshPod('low'));
  make('pods', freshPod('high', { priorityClassName: 'high' }));
  await clock.advance(1000);
  assert.deepEqual(
    [at(pod('low'), 'spec', 'nodeName'), at(pod('high'), 'spec', 'nodeName')],
    [undefined, undefined],
  );
  changeNode('n1', { unschedulable: false });
  await clock.advance(1000);
  assert.deepEqual(
    [at(pod('low'), 'spec', 'nodeName'), at(pod('high'), 'spec', 'nodeName')],
    [undefined, 'n1'],
  );
  const condition = objects(at(pod('low'), 'status', 'conditions')).find(
    one => one['type'] === 'PodScheduled',
  );
  const wanted =
    '0/1 nodes are available: 1 Too many pods. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.';
  assert.equal(text(condition, 'message'), wanted);
  runtime.stop();
});

test('pods of another scheduler and pods with gates are left alone', async () => {
  const { clock, make, pod, runtime } = bench();
  make('nodes', freshNode('n1'));
  make('pods', freshPod('foreign', { schedulerName: 'other' }));
  make('pods', freshPod('gated', { schedulingGates: [{ name: 'example.test/wait' }] }));
  await clock.advance(1000);
  assert.deepEqual(
    [at(pod('foreign'), 'spec', 'nodeName'), at(pod('gated'), 'spec', 'nodeName')],
    [undefined, undefined],
  );
  runtime.stop();
});

test('a pod goes where its volume can be, and nowhere else', async () => {
  const { clock, make, pod, runtime } = bench({ record: 'events' });
  for (const name of ['n1', 'n2', 'n3']) make('nodes', freshNode(name));
  await clock.advance(1000);
  const volume = (name: string, node: string): void => {
    const terms = [
      { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [node] }] },
    ];
    make('persistentvolumes', {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        local: { path: '/data' },
        nodeAffinity: { required: { nodeSelectorTerms: terms } },
      },
    });
    make('persistentvolumeclaims', {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name, namespace: 'shop' },
      spec: {
        accessModes: ['ReadWriteOnce'],
        volumeName: name,
        storageClassName: '',
        resources: { requests: { storage: '1Gi' } },
      },
    });
    make(
      'pods',
      freshPod(name, { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: name } }] }),
    );
  };
  volume('here', 'n2');
  volume('lost', 'n9');
  await clock.advance(1000);
  assert.equal(at(pod('here'), 'spec', 'nodeName'), 'n2');
  const condition = objects(at(pod('lost'), 'status', 'conditions')).find(
    one => one['type'] === 'PodScheduled',
  );
  assert.match(
    text(condition, 'message'),
    /^0\/3 nodes are available: 3 node\(s\) didn't match PersistentVolume's node affinity\./,
  );
  runtime.stop();
});

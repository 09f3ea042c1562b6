import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, objects, type Stored, text } from '@drydock/kube-sim';
import { machineHarness } from '@drydock/operator/testing';
import { simulateKernelUpdates } from './demo.ts';

const pace = { installMs: 3000, rebootMs: 8000 };

/** Machines, and the actor that plays the work on them. */
async function furnished() {
  const drill = await machineHarness({ flavour: 'openshift', replicas: 2 });
  const end = simulateKernelUpdates(drill, pace);
  const node = drill.machines()[0]?.metadata.name ?? '';
  const info = (): readonly string[] => {
    const found = drill.store.get('nodes', '', node);
    return ['kernelVersion', 'bootID'].map(name => text(found, 'status', 'nodeInfo', name));
  };
  drill.make('namespaces', { metadata: { name: 'drydock-plans' } });
  const pod = (name: string, image: string, namespace = 'drydock-plans'): Stored =>
    drill.make('pods', {
      metadata: { name, namespace },
      spec: {
        nodeName: node,
        tolerations: [{ operator: 'Exists' }],
        containers: [{ name: 'work', image }],
      },
    });
  const close = (): void => {
    end();
    drill.end();
    drill.cloud.stop();
  };
  return { drill, node, info, pod, close };
}

function update(version: string): string {
  return `example.test/kernel-update:${version}`;
}

test('the machine restarts, and its node is Ready again with another boot ID and the kernel, both at once', async () => {
  const { drill, node, info, pod, close } = await furnished();
  const [, boot] = info();
  const seen: (readonly string[])[] = [];
  drill.store.subscribe(() => seen.push(info()), 'nodes');
  pod('one', update('7.0'));
  await drill.clock.advance(30_000);
  assert.deepEqual(info(), ['7.0', `${boot}+`]);
  assert.equal(drill.cloud.instance(boot?.split('-boot')[0] ?? '')?.state, 'running');
  assert.ok(
    seen.every(([kernel, id]) => (kernel === '7.0') === (id !== boot)),
    'never one without the other',
  );
  const conditions = objects(at(drill.store.get('nodes', '', node), 'status', 'conditions'));
  assert.equal(conditions.find(({ type }) => type === 'Ready')?.['status'], 'True');
  await drill.clock.advance(60_000);
  assert.deepEqual(info(), ['7.0', `${boot}+`], 'a container runs once');
  close();
});

test('pods of other images, in other namespaces, and such that end before their time, do nothing', async () => {
  const { drill, info, pod, close } = await furnished();
  const before = info();
  pod('other', 'example.test/firmware:2');
  pod('elsewhere', update('7.1'), 'shop');
  pod('cut-short', update('7.2'));
  await drill.clock.advance(1500);
  drill.writes.remove('pods', 'drydock-plans', 'cut-short');
  await drill.clock.advance(60_000);
  assert.deepEqual(info(), before);
  close();
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, text } from '@drydock/kube-sim';
import { machineHarness } from '../testing/machine-harness.ts';

/**
 * What a tenant of one namespace gets, who may write MachineMaintenances there and nowhere else.
 */

const mm = 'machinemaintenances.machinemaintenance.managed.openshift.io';

test('a MachineMaintenance of another namespace is told so, and nothing else is written', async () => {
  const drill = await machineHarness({ flavour: 'capi', replicas: 2 });
  const [machine] = drill.machines();
  assert.ok(machine);
  const name = text(machine, 'metadata', 'name');
  const written: string[] = [];
  const stop = drill.start({
    call: async (call, signal) => {
      if (call.method !== 'GET' && !call.path.includes('machineeventsources'))
        written.push(`${call.method} ${call.path}`);
      return drill.ports.call(call, signal);
    },
  });
  drill.make(mm, {
    metadata: { name: 'mine', namespace: 'shop' },
    spec: {
      maintenancescheduled: false,
      machineid: '',
      machinelink: name,
      machineRef: { kind: 'Machine', namespace: 'machines', name },
      strategy: 'Replace',
      drain: { disableEviction: true, force: true },
    },
  });
  const told = (): string => text(drill.store.get(mm, 'shop', 'mine'), 'status', 'message');
  await drill.until('a word about it', () => told() !== '');
  await drill.clock.advance(120_000);
  assert.match(
    told(),
    /^Not worked on: such objects count in namespace drydock-system only\. Create it there, or open this namespace with --machine/,
  );
  assert.equal(
    text(drill.store.get(mm, 'shop', 'mine'), 'status', 'waitingFor'),
    'ForeignNamespace',
  );
  assert.equal(at(drill.store.get(mm, 'shop', 'mine'), 'metadata', 'finalizers'), undefined);
  assert.deepEqual(written, [
    'PATCH /apis/machinemaintenance.managed.openshift.io/v1alpha1/namespaces/shop/machinemaintenances/mine/status',
  ]);
  assert.equal(drill.machines().length, 2);
  await stop();
  drill.end();
});

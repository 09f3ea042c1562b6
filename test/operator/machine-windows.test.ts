import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { MachineMaintenanceSpec, MachineMaintenanceStatus } from '@drydock/apis/schema';
import { create, getNode } from '../control-plane/objects/cluster.ts';
import { waitFor } from '../control-plane/wait.ts';
import { type OperatorHarness, skipOf, startHarness } from './harness/harness.ts';
import { isHeld, makeNode, ourTaints } from './harness/look.ts';
import { inSeconds, windowOf, windows } from './harness/window.ts';

/** MachineMaintenances go by windows too, also by those that are created in the same moment. */

const started = await startHarness({ roles: ['machine-api'] });
const skip = skipOf(started);
const harness = started as OperatorHarness;

const mms =
  '/apis/machinemaintenance.managed.openshift.io/v1alpha1/namespaces/drydock-system/machinemaintenances';

function specOf(node: string): MachineMaintenanceSpec {
  return {
    maintenancescheduled: false,
    machineid: node,
    machinelink: node,
    machineRef: { apiVersion: 'v1', kind: 'Node', name: node },
    strategy: 'Drain',
  };
}

describe('MachineMaintenances and windows', { skip, timeout: 120_000 }, () => {
  const { api } = harness;
  before(() => harness.startOperator());
  after(() => harness.stop());

  const untilStatus = (
    name: string,
    isWanted: (status: MachineMaintenanceStatus) => boolean,
  ): Promise<MachineMaintenanceStatus> =>
    waitFor(`MachineMaintenance ${name}`, async () => {
      const { status } = await api.get<{ readonly status?: MachineMaintenanceStatus }>(
        `${mms}/${name}`,
      );
      return status !== undefined && isWanted(status)
        ? { done: status }
        : { yet: JSON.stringify(status) };
    });

  test('those that are applied right after their windows begin in no other moment', async () => {
    const names = Array.from({ length: 10 }, (_, index) => `m-beside-${index}`);
    await Promise.all(
      names.map(name => makeNode(api, name, { labels: { 'kubernetes.io/hostname': name } })),
    );
    const from = inSeconds(3600);
    await Promise.all(
      names.map(async name => {
        await create(
          api,
          windowOf(name, name, {
            openings: [{ from, to: inSeconds(7200) }],
            expectedDuration: '5m',
          }),
        );
        await api.post(mms, {
          apiVersion: 'machinemaintenance.managed.openshift.io/v1alpha1',
          kind: 'MachineMaintenance',
          metadata: { name },
          spec: specOf(name),
        });
      }),
    );
    for (const name of names) {
      const { message = '', phase } = await untilStatus(
        name,
        status => status.scheduledTime !== undefined,
      );
      assert.equal(phase, 'Scheduled', message);
      assert.ok(message.includes(name), message);
      assert.equal(isHeld(await getNode(api, name), ourTaints), false, name);
    }
    // Nothing else keeps it: without the window it begins.
    await api.delete(`${windows}/m-beside-0`);
    await untilStatus(
      'm-beside-0',
      ({ phase }) => phase === 'Drained' || phase === 'Draining' || phase === 'Succeeded',
    );
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MaintenancePlanRecordSpec } from '@drydock/apis/schema';
import { create, getNode, nodePath } from '../../control-plane/objects/cluster.ts';
import type { List } from '../../control-plane/objects/objects.ts';
import { untilPlan } from '../../operator/plans/plan-work.ts';
import type { NodeBed } from '../bed.ts';
import { figure, seconds } from '../figures.ts';
import { leader } from '../product.ts';

type Booted = { readonly status: { readonly nodeInfo: { readonly bootID: string } } };
type Recorded = { readonly spec: MaintenancePlanRecordSpec };

/** On a bed with the product installed by its chart, plans enabled, and settled. */
export function planCases(bed: NodeBed): void {
  const { api } = bed;
  test('a plan reboots a node: its pod has no capability, and the boot ID proves it', async t => {
    const { spec } = await leader(api);
    const node = bed.nodes.find(({ name }) => name !== spec.nodeName);
    assert.ok(node);
    const bootId = async (): Promise<string> =>
      (await api.get<Booted>(nodePath(node.name))).status.nodeInfo.bootID;
    const before = await bootId();
    const since = performance.now();
    const rebooted = node.rebootsItself();
    await create(api, {
      apiVersion: 'drydock.dev/v1alpha1',
      kind: 'MaintenancePlan',
      metadata: { name: 'reboot' },
      spec: {
        nodeSelector: { matchLabels: { 'kubernetes.io/hostname': node.name } },
        work: { reboot: {} },
        template: { maintenance: { drain: { force: true, deleteEmptyDirData: true } } },
      },
    });
    await untilPlan(api, 'reboot', 'complete', ({ phase }) => phase === 'Complete');
    await rebooted;
    figure(
      t,
      'a plan reboots a node: drained, down, Ready with another boot ID, given back',
      seconds(performance.now() - since),
    );
    const { items } = await api.get<List<Recorded & { readonly metadata: never }>>(
      '/apis/drydock.dev/v1alpha1/maintenanceplanrecords',
    );
    const [verdict] = Object.values(items[0]?.spec.verdicts ?? {});
    assert.deepEqual(
      [verdict?.verdict, verdict?.rebooted, verdict?.message],
      ['Done', true, 'Done'],
    );
    assert.notEqual(await bootId(), before);
    assert.equal((await getNode(api, node.name)).spec.unschedulable ?? false, false);
    await api.call('DELETE', '/apis/drydock.dev/v1alpha1/maintenanceplans/reboot');
  });
}

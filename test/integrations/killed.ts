import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { MachineMaintenanceStatus } from '@drydock/apis/schema';
import { create } from '../control-plane/objects/cluster.ts';
import type { List, Metadata } from '../control-plane/objects/objects.ts';
import { until, waitFor } from '../control-plane/wait.ts';
import { Keeper } from '../kill/keeper.ts';
import type { Blow } from '../kill/proxy.ts';
import { type LeftOut, skipOf } from './builds.ts';
import { instanceIn } from './fake-kubelets.ts';
import type { Machine, Scene } from './stories.ts';
import { minUsable, nodesWithout } from './usable-nodes.ts';

/**
 * ReplaceWithSurge on real machine controllers, the operator killed at each of its writes: never a
 * machine too few, never one left too many.
 */

const path =
  '/apis/machinemaintenance.managed.openshift.io/v1alpha1/namespaces/drydock-system/machinemaintenances';
const pool = 'workers';
const replicas = 3;

/** What is written about machines; what is written about their nodes is killed elsewhere. */
const aboutMachines =
  /^\w+ (machines|machinesets|machinedeployments|machinemaintenances|maintenances)(\/status)? \d+$/;

export function kill(what: string, started: Scene | LeftOut): void {
  describe(`${what}: killed at each write of a ReplaceWithSurge`, {
    skip: 'kind' in started ? skipOf(started) : false,
    timeout: 900_000,
  }, () => {
    const { harness, ec2, pools } = started as Scene;
    const { api } = harness ?? {};
    let keeper: Keeper;

    before(async () => {
      await pools.makePool(pool, replicas);
      keeper = await Keeper.start(harness.controlPlane);
      await keeper.settled();
    });
    after(async () => {
      await keeper?.[Symbol.asyncDispose]();
      await pools.stop();
      await harness.stop();
      await ec2.stop();
    });

    const announced = (old: Machine) => ({
      apiVersion: 'machinemaintenance.managed.openshift.io/v1alpha1',
      kind: 'MachineMaintenance',
      metadata: { name: `mm-${old.metadata.name}`, namespace: 'drydock-system' },
      spec: {
        maintenancescheduled: false,
        machineid: instanceIn(old.spec.providerID) ?? '',
        machinelink: old.metadata.name,
        strategy: 'ReplaceWithSurge',
        events: [
          { provider: 'test', id: 'e', kind: 'retirement', state: 'Scheduled', source: 'test' },
        ],
      },
    });

    /** One machine is replaced, with a blow or without; answers what was written about machines. */
    const live = async (blow: Blow | undefined): Promise<readonly string[]> => {
      const machines = await pools.poolReady(pool, replicas);
      const old = machines[0]!;
      const fewest = minUsable(api, new Set(await nodesWithout(api, machines)));
      keeper.arm(blow);
      await create(api, announced(old));
      const mm = `${path}/mm-${old.metadata.name}`;
      await waitFor(
        `the end of ${JSON.stringify(blow)}`,
        async () => {
          const { status } = await api.get<{ readonly status?: MachineMaintenanceStatus }>(mm);
          return status?.phase === 'Succeeded'
            ? { done: status }
            : { yet: `${JSON.stringify(status)}\n${keeper.log()}` };
        },
        { deadlineMs: 120_000 },
      );
      await keeper.settled();
      const least = await fewest();
      const where = JSON.stringify({ blow, struck: keeper.struck });
      const now = await pools.poolReady(pool, replicas);
      assert.ok(
        !now.some(({ metadata }) => metadata.name === old.metadata.name),
        `the announced machine went: ${where}`,
      );
      for (const { metadata } of machines.slice(1))
        assert.ok(
          now.some(one => one.metadata.name === metadata.name),
          `the others stay: ${where}`,
        );
      assert.ok(least >= replicas, `${least} nodes could take pods: ${where}`);
      await until(
        'nothing to be left',
        async () =>
          (
            await api.get<List<{ readonly metadata: Metadata }>>(
              '/apis/drydock.dev/v1alpha1/maintenances',
            )
          ).items.length === 0,
      );
      for (const { metadata, spec } of now)
        assert.doesNotMatch(
          JSON.stringify([metadata.annotations ?? {}, spec.lifecycleHooks ?? {}]),
          /[Dd]rydock|delete-machine/,
          where,
        );
      return keeper.writes.filter(write => aboutMachines.test(write));
    };

    test('never a machine too few, never one left too many, and exactly the announced one goes', async context => {
      const targets = await live(undefined);
      assert.ok(targets.length >= 10, targets.join(', '));
      // The record is copied to the MachineSet of a MachineDeployment: it is not counted back there
      // again.
      const scaled = new Set(
        targets.filter(one => /machine(sets|deployments)/.test(one)).map(one => one.split(' ')[1]),
      );
      assert.ok(scaled.size <= 1, [...scaled].join(', '));
      assert.equal(
        targets.filter(one => one.startsWith('DELETE machines ')).length,
        1,
        targets.join(', '),
      );
      let struck = 0;
      for (const [index, at] of targets.entries()) {
        await live({ at, moment: index % 2 === 0 ? 'after' : 'before' });
        if (keeper.struck !== undefined) struck += 1;
      }
      context.diagnostic(`${struck} of ${targets.length} blows have fallen: ${targets.join(', ')}`);
      assert.ok(struck >= targets.length - 3, `${struck} of ${targets.length}`);
    });
  });
}

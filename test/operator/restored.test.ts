import assert from 'node:assert/strict';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { create, getNode } from '../control-plane/objects/cluster.ts';
import {
  type OperatorHarness,
  type OperatorProcess,
  skipOf,
  startHarness,
} from './harness/harness.ts';
import {
  isHeld,
  maintenance,
  maintenancePath,
  makeNode,
  ourTaints,
  remove,
  untilFace,
  untilGone,
  untilHeld,
  untilMaintenance,
} from './harness/look.ts';

/**
 * etcd is restored from a backup under a running operator: its memory is of a time that has never
 * been.
 */

const started = await startHarness();
const skip = skipOf(started);
const harness = started as OperatorHarness;

describe('etcd restored from a backup', { skip, timeout: 180_000 }, () => {
  const { api, controlPlane } = harness;
  const data = join(controlPlane.folder, 'etcd');
  const backup = join(controlPlane.folder, 'etcd-backup');
  const faces = new Map<string, object>();
  let operator: OperatorProcess;
  let pid = 0;

  before(async () => {
    for (const name of ['ended', 'begun', 'lasting']) faces.set(name, await makeNode(api, name));
    operator = await harness.startOperator({ flags: ['--leader-elect'] });
    pid = await operator.running.pid();
  });
  after(() => harness.stop());

  const goesBack = (name: string): Promise<void> => untilFace(api, name, faces.get(name) ?? {});

  test('what the backup has counts, without a restart: holds of then are held, later ones are not', async () => {
    await create(api, maintenance('ended'), maintenance('lasting'));
    for (const name of ['ended', 'lasting']) await untilMaintenance(api, name, 'Drained');
    await controlPlane.whileDown(() => cpSync(data, backup, { recursive: true }));
    await untilMaintenance(api, 'lasting', 'Drained');
    await remove(api, maintenancePath('ended'));
    await goesBack('ended');
    await create(api, maintenance('begun'));
    await untilMaintenance(api, 'begun', 'Drained');

    await controlPlane.whileDown(() => {
      rmSync(data, { recursive: true });
      cpSync(backup, data, { recursive: true });
    });
    for (const name of ['ended', 'lasting']) {
      await untilMaintenance(api, name, 'Drained');
      await untilHeld(api, name, ourTaints);
    }
    await untilGone(api, maintenancePath('begun'));
    assert.equal(isHeld(await getNode(api, 'begun'), ourTaints), false);
    assert.deepEqual(
      [operator.running.alive(), await operator.running.pid()],
      [true, pid],
      operator.running.tail(),
    );
  });

  test('and all goes on from there: a maintenance ends, another begins', async () => {
    for (const name of ['ended', 'lasting']) await remove(api, maintenancePath(name));
    await create(api, maintenance('begun'));
    await untilMaintenance(api, 'begun', 'Drained');
    await untilHeld(api, 'begun', ourTaints);
    await remove(api, maintenancePath('begun'));
    for (const name of faces.keys()) await goesBack(name);
  });
});

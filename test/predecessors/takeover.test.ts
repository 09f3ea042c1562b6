import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { apply, budgetAllows, create, getNode } from '../control-plane/objects/cluster.ts';
import type { List, Node } from '../control-plane/objects/objects.ts';
import { until } from '../control-plane/wait.ts';
import {
  type OperatorHarness,
  type OperatorProcess,
  skipOf,
  startHarness,
} from '../operator/harness/harness.ts';
import {
  editNode,
  excludeLabel,
  faceOf,
  hasLease,
  makeNode,
  namesOn,
  remove,
  untilFace,
  untilGone,
  untilPods,
} from '../operator/harness/look.ts';
import { drydock } from '../operator/harness/shipped.ts';
import { allOld, collectionOfOld, type Old } from './old.ts';
import { hasReal, oldOperator } from './program.ts';
import type { Left } from './recording.ts';
import { isClosedFor, isHeldFor, oldLease, type Replayed, replay } from './replay.ts';
import {
  allOf,
  foreignFinalizer,
  guardedPod,
  maintenanceOf,
  own,
  pathOfOld,
  quickPod,
  relax,
  type Situation,
  situations,
  untilIdle,
  untilOld,
} from './situations.ts';

/**
 * Drydock comes after an older operator, and an older operator after Drydock, each in the middle of
 * maintenances.
 */

const started = await startHarness();
const skip = skipOf(started);
const harness = started as OperatorHarness;

const record = 'drydock.dev/before';
const claim = 'drydock.dev/claim';

describe('moving from an older operator and back', { skip, timeout: 300_000 }, () => {
  const { api } = harness;
  let operator: OperatorProcess | undefined;
  const left = new Map<string, Replayed>();
  /** Every state that a node has been in since before Drydock was started. */
  const history: Node[] = [];
  const watching = new AbortController();

  const of = (old: Old, situation: Situation): Replayed => {
    const found = left.get(`${old.name} ${situation}`);
    assert.ok(found);
    return found;
  };
  const objectAt = (old: Old, name: string): Promise<Left> => api.get<Left>(pathOfOld(old, name));
  const claimOf = async (old: Old, name: string): Promise<string | undefined> =>
    (await objectAt(old, name)).metadata.annotations?.[claim];
  const nameAt = ({ maintenances }: Replayed, index = 0): string =>
    maintenances[index]?.metadata.name ?? '';
  const recordOf = async (nodeName: string): Promise<string | undefined> =>
    (await getNode(api, nodeName)).metadata.annotations?.[record];

  before(async () => {
    const crds = (await drydock(['crds', 'nodemaintenance.kubevirt.io'])).stdout;
    await apply(harness.api, crds);
    for (const old of allOld)
      await until(
        `${old.name} to be served`,
        async () => (await api.call('GET', collectionOfOld(old))).status === 200,
      );
    const all = allOld.flatMap(old => situations.map(situation => ({ old, situation })));
    await Promise.all(
      all.map(
        async ({ old, situation }) =>
          void left.set(`${old.name} ${situation}`, await replay(api, old, situation)),
      ),
    );
    const { metadata } = await api.get<List<Node>>('/api/v1/nodes');
    // A test that fails leaves it behind: it ends with the control plane then.
    api
      .watch<Node>(
        '/api/v1/nodes',
        metadata.resourceVersion,
        ({ object }) => void history.push(object),
        watching.signal,
      )
      .catch(() => {});
    operator = await harness.startOperator();
  });
  after(async () => {
    watching.abort();
    await harness.stop();
  });

  const isTakenOver = (old: Old, name: string): Promise<void> =>
    until(`${name} to be taken over`, async () => (await claimOf(old, name)) === 'taken-over');
  const hasRecord = (nodeName: string): Promise<void> =>
    until(`${nodeName} to have a record`, async () => (await recordOf(nodeName)) !== undefined);
  /** From the first moment on. */
  const wasHeldThroughout = ({ old, nodeName }: Replayed): void => {
    const states = history.filter(({ metadata }) => metadata.name === nodeName);
    assert.ok(states.length > 0, 'Drydock has written its record at least');
    for (const state of states) assert.ok(isClosedFor(old, state), JSON.stringify(state.spec));
  };
  const isReleased = async ({ old, nodeName, face }: Replayed): Promise<void> => {
    await untilFace(api, nodeName, face);
    assert.equal(
      await hasLease(api, nodeName),
      false,
      'the lease that all operators of today agree on',
    );
    if (old.apiVersion.includes('kubevirt'))
      assert.deepEqual(await oldLease(api, old, nodeName), { holderIdentity: 'node-maintenance' });
  };
  /** medik8s before 0.16 had a lease that nobody else looks at; it stays as it is and runs out. */
  const sharesLease = (old: Old): boolean => old.name !== 'medik8s-0.15.0';

  for (const old of allOld) {
    test(`${old.name}: what has succeeded stays held, keeps its lease, and comes back as it was`, async () => {
      const here = of(old, 'succeeded');
      const name = nameAt(here);
      await isTakenOver(old, name);
      await hasRecord(here.nodeName);
      const renewed = async (): Promise<boolean> => {
        const spec = sharesLease(old) ? await oldLease(api, old, here.nodeName) : undefined;
        return spec === undefined
          ? hasLease(api, here.nodeName)
          : spec['renewTime'] !== here.lease?.spec?.['renewTime'];
      };
      await until('the lease to be renewed', renewed);
      const { renewTime: _now, ...lease } = (await oldLease(api, old, here.nodeName)) ?? {};
      const { renewTime: _then, ...before } = here.lease?.spec ?? {};
      assert.deepEqual(lease, before, 'the same lease, not a new one');
      assert.deepEqual(
        (await objectAt(old, name)).status,
        here.maintenances[0]?.status,
        'nothing has changed',
      );
      wasHeldThroughout(here);
      await remove(api, pathOfOld(old, name));
      await isReleased(here);
    });

    test(`${old.name}: a drain that a budget blocks goes on where it was`, async () => {
      const here = of(old, 'running');
      const name = nameAt(here);
      await isTakenOver(old, name);
      await hasRecord(here.nodeName);
      const { evictionPods, pendingPods } = (await objectAt(old, name)).status ?? {};
      assert.deepEqual([evictionPods, pendingPods], [2, ['guarded']]);
      await relax(api, here.nodeName);
      const status = await untilOld(api, old, name, 'Succeeded');
      assert.equal(status?.['evictionPods'], 2, 'the pod that went before counts');
      assert.equal(status?.['lastError'], undefined);
      assert.deepEqual(await namesOn(api, here.nodeName), []);
      wasHeldThroughout(here);
      await remove(api, pathOfOld(old, name));
      await isReleased(here);
    });

    test(`${old.name}: what was being deleted is finished`, async () => {
      const here = of(old, 'deleted');
      await untilGone(api, pathOfOld(old, nameAt(here)));
      await isReleased(here);
    });

    test(`${old.name}: what it has finished, and somebody else keeps, is left alone`, async () => {
      const here = of(old, 'lingering');
      const name = nameAt(here);
      assert.deepEqual(faceOf(await getNode(api, here.nodeName)), here.face);
      assert.deepEqual((await objectAt(old, name)).metadata.finalizers, [foreignFinalizer]);
      assert.deepEqual((await objectAt(old, name)).metadata.annotations, undefined);
      const states = history.filter(({ metadata }) => metadata.name === here.nodeName);
      assert.ok(states.every(({ spec }) => spec.unschedulable !== true));
      await api.patch(pathOfOld(old, name), { metadata: { finalizers: null } });
      await untilGone(api, pathOfOld(old, name));
      assert.deepEqual(faceOf(await getNode(api, here.nodeName)), here.face);
    });

    test(`${old.name}: two on one node hold it until the last has gone`, async () => {
      const here = of(old, 'shared');
      for (const index of [0, 1]) await isTakenOver(old, nameAt(here, index));
      await hasRecord(here.nodeName);
      await remove(api, pathOfOld(old, nameAt(here, 0)));
      wasHeldThroughout(here);
      assert.ok(isHeldFor(old, await getNode(api, here.nodeName)));
      await remove(api, pathOfOld(old, nameAt(here, 1)));
      await isReleased(here);
    });

    test(`${old.name}: a node that was released with the other of two objects is held again`, async () => {
      const here = of(old, 'orphaned');
      assert.equal(here.maintenances.length, 1);
      await isTakenOver(old, nameAt(here));
      await until('the node to be held', async () =>
        isHeldFor(old, await getNode(api, here.nodeName)),
      );
      await untilOld(api, old, nameAt(here), 'Succeeded');
      await remove(api, pathOfOld(old, nameAt(here)));
      await isReleased(here);
    });
  }

  /** A node that is done and one whose drain is blocked, both in the hands of Drydock. */
  const inMidMaintenance = async (
    old: Old,
  ): Promise<{ readonly done: object; readonly blocked: object }> => {
    const [done, blocked] = [`${old.short}-back-done`, `${old.short}-back-blocked`];
    const faces = {
      done: await makeNode(api, done, own),
      blocked: await makeNode(api, blocked, own),
    };
    await guardedPod(api, blocked);
    await create(api, quickPod(blocked, 'free'));
    await untilPods(api, blocked, 2);
    await budgetAllows(api, blocked, 'guarded', 0);
    await create(api, maintenanceOf(old, done), maintenanceOf(old, blocked));
    await untilOld(api, old, done, 'Succeeded');
    await until(
      'only the guarded pod to be left',
      async () => (await namesOn(api, blocked)).join() === 'guarded',
    );
    assert.equal((await objectAt(old, blocked)).status?.['phase'], 'Running');
    return faces;
  };

  /** Objects and nodes as the older operator has to leave them when the objects are deleted. */
  const isFinished = async (old: Old, nodeName: string): Promise<void> => {
    await remove(api, pathOfOld(old, nodeName));
    // The node controller may have put its taint on once more before the node was uncordoned.
    const isFree = ({ spec }: Node): boolean =>
      spec.unschedulable === undefined &&
      JSON.stringify(spec.taints) === JSON.stringify(own.taints);
    await until(`${nodeName} to be free`, async () => isFree(await getNode(api, nodeName)));
    const { metadata } = await getNode(api, nodeName);
    assert.notEqual(metadata.annotations?.[record], undefined, 'nobody has told it of the record');
    const lease = await oldLease(api, old, nodeName);
    assert.deepEqual(
      lease,
      old.lease.released === 'deleted' ? undefined : { holderIdentity: 'node-maintenance' },
    );
    // medik8s before 0.17 does not know the label; docs/migrate.md says that it has to be taken off
    // by hand.
    const isLeft = old.name === 'medik8s-0.15.0';
    assert.equal(metadata.labels?.[excludeLabel], isLeft ? 'true' : undefined);
    if (isLeft) await editNode(api, nodeName, { metadata: { labels: { [excludeLabel]: null } } });
  };

  const finishedBy = async (old: Old): Promise<void> => {
    const [done, blocked] = [`${old.short}-back-done`, `${old.short}-back-blocked`];
    const mark = history.length;
    const back = oldOperator(harness.controlPlane, old);
    await back.start();
    try {
      await relax(api, blocked);
      await untilOld(api, old, blocked, 'Succeeded');
      assert.deepEqual(await namesOn(api, blocked), []);
      await untilIdle(api, old, back);
      for (const nodeName of [done, blocked]) {
        const states = history.slice(mark).filter(({ metadata }) => metadata.name === nodeName);
        assert.ok(states.every(state => isClosedFor(old, state)));
        await isFinished(old, nodeName);
      }
    } finally {
      await back.stop();
    }
    assert.deepEqual(back.errors(), []);
  };

  test('the older operator finishes what Drydock has begun, and Drydock forgets it then', async () => {
    const moved = async (together: readonly Old[]): Promise<void> => {
      const faces = await Promise.all(together.map(inMidMaintenance));
      await operator?.running.stop();
      await allOf(together.map(finishedBy));
      operator = await harness.startOperator();
      for (const [index, { short }] of together.entries()) {
        for (const which of ['done', 'blocked'] as const) {
          const nodeName = `${short}-back-${which}`;
          await untilFace(api, nodeName, faces[index]?.[which] ?? {});
          await until(
            `${nodeName} to be without a lease`,
            async () => !(await hasLease(api, nodeName)),
          );
        }
      }
    };
    // Real ones would finish each other's: two serve the same kind.
    if (hasReal) for (const old of allOld) await moved([old]);
    else await moved(allOld);
  });
});

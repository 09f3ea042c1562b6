import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { lacking } from '@drydock/apimachinery';
import {
  budgetAllows,
  create,
  failureIn,
  getNode,
  pods,
  podsOn,
  podsReady,
} from '../control-plane/objects/cluster.ts';
import {
  budget,
  daemonSet,
  deployment,
  job,
  namespace,
  pod,
} from '../control-plane/objects/manifests.ts';
import type { Condition, Metadata } from '../control-plane/objects/objects.ts';
import { wantedRelease } from '../control-plane/releases.ts';
import { until, waitFor } from '../control-plane/wait.ts';
import { type OperatorHarness, skipOf, startHarness } from './harness/harness.ts';
import {
  attachment,
  eventsOf,
  getPod,
  hasLease,
  isHeld,
  killPod,
  leaseOf,
  type Maintenance,
  maintenance,
  maintenancePath,
  makeNode,
  namesOn,
  ourTaints,
  podAt,
  podCalls,
  remove,
  storage,
  taintsOf,
  untilEvent,
  untilFace,
  untilHeld,
  untilMaintenance,
  untilNames,
  untilPods,
} from './harness/look.ts';

/**
 * drydock.dev/v1alpha1 Maintenance on a real control plane: its policy and its status. Every test
 * has nodes and namespaces of its own.
 */

const started = await startHarness();
const skip = skipOf(started);
const harness = started as OperatorHarness;

type TerminatingPod = {
  readonly metadata: Metadata & { readonly deletionGracePeriodSeconds?: number };
  readonly status: { readonly conditions?: readonly Condition[] };
};

describe('a Maintenance', { skip, concurrency: 16, timeout: 180_000 }, () => {
  const { api } = harness;
  const edit = (name: string, spec: object): Promise<unknown> =>
    api.patch(maintenancePath(name), { spec });
  const budgetPath = (name: string, of = name): string =>
    `/apis/policy/v1/namespaces/${name}/poddisruptionbudgets/${of}`;

  /** What the node's conditions of a maintenance say, the other ones left out. */
  const words = async (name: string): Promise<Readonly<Record<string, string>>> => {
    const ours = ['DrainInProgress', 'Drained', 'MaintenanceInProgress', 'MaintenancePlanned'];
    const found = (await getNode(api, name)).status.conditions ?? [];
    return Object.fromEntries(
      found.filter(({ type }) => ours.includes(type)).map(({ type, status }) => [type, status]),
    );
  };
  const untilWords = (name: string, wanted: Readonly<Record<string, string>>): Promise<void> =>
    waitFor(`node ${name} to say ${JSON.stringify(wanted)}`, async () => {
      const found = await words(name);
      const said = Object.entries(found).map(([type, status]) => wanted[type] === status);
      const isSame = said.length === Object.keys(wanted).length && said.every(Boolean);
      return isSame ? { done: undefined } : { yet: JSON.stringify(found) };
    });

  /** A node with one pod that its budget never lets go. */
  const guarded = async (
    name: string,
    annotations: Readonly<Record<string, string>> = {},
  ): Promise<object> => {
    const face = await makeNode(api, name);
    await create(api, namespace(name), podAt(name, 'precious', { namespace: name, annotations }));
    await create(api, budget('precious', { namespace: name, minAvailable: 1 }));
    await podsReady(api, name, 1);
    await budgetAllows(api, name, 'precious', 0);
    return face;
  };
  const loosen = (name: string): Promise<unknown> =>
    api.patch(budgetPath(name, 'precious'), { spec: { minAvailable: 0 } });

  before(async () => {
    await harness.startOperator();
  });
  after(() => harness.stop());

  test('goes from stage to stage as it is edited, and back', async () => {
    const name = 'stages';
    const face = await makeNode(api, name);
    await create(api, namespace(name), podAt(name, 'one', { namespace: name }));
    await untilPods(api, name, 1);
    const mark = harness.controlPlane.audit.mark();
    await create(api, maintenance(name, { level: 'Announce', reason: 'a new disk' }));
    await untilMaintenance(api, name, 'Announced');
    await untilWords(name, { MaintenancePlanned: 'True' });
    const planned = (await getNode(api, name)).status.conditions?.find(
      ({ type }) => type === 'MaintenancePlanned',
    );
    assert.equal(planned?.message, `Maintenance ${name} (a new disk)`);
    const announced = await getNode(api, name);
    assert.deepEqual([announced.spec.unschedulable, announced.spec.taints], [undefined, undefined]);
    assert.equal(await hasLease(api, name), false);

    await edit(name, { level: 'Cordon' });
    await untilMaintenance(api, name, 'Cordoned');
    await untilWords(name, { MaintenanceInProgress: 'True' });
    const cordoned = await getNode(api, name);
    assert.equal(cordoned.spec.unschedulable, true);
    assert.deepEqual(taintsOf(cordoned), ['node.kubernetes.io/unschedulable:NoSchedule']);
    assert.deepEqual(await podCalls(harness, mark, [name]), []);

    await edit(name, { level: 'Drain' });
    const { conditions = [] } = await untilMaintenance(api, name, 'Drained');
    await untilHeld(api, name, ourTaints);
    await untilWords(name, {
      DrainInProgress: 'False',
      Drained: 'True',
      MaintenanceInProgress: 'True',
    });
    assert.deepEqual(
      conditions.map(
        ({ type, status, observedGeneration }) => `${type} ${status} ${observedGeneration}`,
      ),
      ['NodeHeld True 3', 'Drained True 3', 'Failed False 3'],
    );
    assert.deepEqual(await podCalls(harness, mark, [name]), ['evict one 201']);

    await edit(name, { level: 'Announce' });
    await untilMaintenance(
      api,
      name,
      'Announced',
      ({ observedGeneration }) => observedGeneration === 4,
    );
    await untilWords(name, { MaintenancePlanned: 'True' });
    assert.equal((await getNode(api, name)).spec.unschedulable, undefined);
    await until('the lease to be released', async () => !(await hasLease(api, name)));
    await remove(api, maintenancePath(name));
    await untilFace(api, name, face);
  });

  test('says on its node how far it is, and nothing any more when it is gone', async () => {
    const name = 'words';
    const face = await guarded(name);
    await create(api, maintenance(name));
    await untilWords(name, { DrainInProgress: 'True', Drained: 'False' });
    await loosen(name);
    await untilWords(name, {
      DrainInProgress: 'False',
      Drained: 'True',
      MaintenanceInProgress: 'True',
    });
    const { metadata } = await api.get<Maintenance>(maintenancePath(name));
    await remove(api, maintenancePath(name));
    await untilFace(api, name, face);
    assert.deepEqual(await words(name), {});
    await untilEvent(api, metadata.uid, 'MaintenanceEnded');
    assert.deepEqual(
      (await eventsOf(api, metadata.uid)).map(
        ({ reason, count, reportingComponent }) => `${reason} ${count} ${reportingComponent}`,
      ),
      [
        'MaintenanceBegun 1 drydock',
        'DrainBlocked 1 drydock',
        'NodeDrained 1 drydock',
        'MaintenanceEnded 1 drydock',
      ],
    );
  });

  test('is checked by the API server before anybody works on it', async () => {
    const name = 'checked';
    await create(api, maintenance(name, { level: 'Announce' }));
    const merge = 'application/merge-patch+json';
    const refused = async (spec: object, text: RegExp): Promise<void> => {
      const reply = await api.call('PATCH', maintenancePath(name), { spec }, merge);
      assert.equal(reply.status, 422, JSON.stringify(reply.body));
      assert.match(failureIn(reply).message, text);
    };
    await refused({ nodeName: 'another' }, /nodeName cannot be changed/);
    await refused(
      { drain: { timeoutSeconds: 5, ladder: [{ afterSeconds: 9, action: 'Fail' }] } },
      /timeoutSeconds is a ladder with one rung/,
    );
    await refused(
      { drain: { ladder: [{ afterSeconds: 9, action: 'Fail', gracePeriodSeconds: 3 }] } },
      /only valid with action Delete/,
    );
    await refused({ level: 'Explode' }, /Unsupported value: "Explode"/);
    await refused({ nodeName: '' }, /nodeName/);
    assert.equal(
      (
        await api.call(
          'PATCH',
          maintenancePath(name),
          { spec: { drain: { timeoutSeconds: 5 } } },
          merge,
        )
      ).status,
      200,
    );
    await remove(api, maintenancePath(name));
  });

  test('can be picked by its fields and is shown in columns', {
    skip: harness.lacksKubectl,
  }, async () => {
    const [one, other] = ['columns-1', 'columns-2'];
    await makeNode(api, one);
    await makeNode(api, other);
    await create(api, maintenance(one), maintenance(other, { level: 'Cordon' }));
    await untilMaintenance(api, one, 'Drained');
    await untilMaintenance(api, other, 'Cordoned');
    const picked = async (selector: string): Promise<string> =>
      (
        await harness.controlPlane.kubectl([
          'get',
          'mt',
          `--field-selector=${selector}`,
          '-o',
          'name',
        ])
      ).stdout.trim();
    const selectable = lacking(wantedRelease()).length === 0;
    assert.equal(
      await picked(`spec.nodeName=${one}`),
      selectable ? `maintenance.drydock.dev/${one}` : '',
    );
    const both = await picked(`spec.level=Cordon,status.phase=Cordoned,spec.nodeName!=stages`);
    assert.equal(both, selectable ? `maintenance.drydock.dev/${other}` : '');
    const table = await harness.controlPlane.kubectl(['get', 'mt', one]);
    assert.match(table.stdout, /^NAME\s+NODE\s+LEVEL\s+PHASE\s+PROGRESS/);
    assert.match(table.stdout, /columns-1\s+columns-1\s+Drain\s+Drained\s+100/);
    for (const name of [one, other]) await remove(api, maintenancePath(name));
  });

  test('names the budget that will never let a pod go, and goes on when it is loosened', async () => {
    const name = 'never';
    await guarded(name);
    const mark = harness.controlPlane.audit.mark();
    await create(api, maintenance(name));
    const status = await untilMaintenance(
      api,
      name,
      'Draining',
      ({ blockers }) => blockers !== undefined,
    );
    assert.equal(status.blockerCount, 1);
    const [blocker] = status.blockers ?? [];
    assert.deepEqual(
      { reason: blocker?.reason, pod: blocker?.pod, budgets: blocker?.budgets },
      {
        reason: 'BudgetNeverAllows',
        pod: { namespace: name, name: 'precious' },
        budgets: ['never/precious'],
      },
    );
    assert.ok(Number.isFinite(Date.parse(blocker?.startTime ?? '')));
    assert.match(blocker?.remedy ?? '', /kubectl -n never describe pdb precious/);
    assert.deepEqual(
      status.conditions?.map(({ type, status, reason }) => `${type} ${status} ${reason}`),
      ['NodeHeld True Held', 'Drained False Blocked', 'Failed False NoFailure'],
    );
    assert.deepEqual(status.pods, { total: 1, toEvict: 1, gone: 0, waiting: 1 });

    const told = await harness.drydock('status', name);
    assert.equal(told.code, 0, told.stderr);
    assert.match(told.stdout, /never\/precious: .*budget precious/);
    assert.match(told.stdout, /BudgetNeverAllows, since /);
    assert.match(told.stdout, /help: run more replicas, or ask the budget's owner to let one go/);
    assert.deepEqual(await podCalls(harness, mark, [name]), []);

    await loosen(name);
    const done = await untilMaintenance(api, name, 'Drained');
    assert.deepEqual(
      [done.blockers, done.blockerCount, done.progress],
      [undefined, undefined, 100],
    );
    assert.deepEqual(await podCalls(harness, mark, [name]), ['evict precious 201']);
    assert.ok(Date.parse(done.completionTime ?? '') >= Date.parse(done.startTime ?? ''));
    await remove(api, maintenancePath(name));
  });

  test('does not even ask for a pod with two budgets, and names both', async () => {
    const name = 'two-budgets';
    await guarded(name);
    await create(
      api,
      budget('second', { namespace: name, minAvailable: 0, matchLabels: { app: 'precious' } }),
    );
    await budgetAllows(api, name, 'second', 1);
    const mark = harness.controlPlane.audit.mark();
    await create(api, maintenance(name));
    const { blockers = [] } = await untilMaintenance(
      api,
      name,
      'Draining',
      ({ blockers }) => blockers !== undefined,
    );
    assert.deepEqual(
      blockers.map(({ reason, budgets }) => ({ reason, budgets })),
      [{ reason: 'MultipleBudgets', budgets: ['two-budgets/precious', 'two-budgets/second'] }],
    );
    assert.deepEqual(await podCalls(harness, mark, [name]), []);
    await api.delete(budgetPath(name, 'precious'));
    await untilMaintenance(api, name, 'Drained');
    assert.deepEqual(await podCalls(harness, mark, [name]), ['evict precious 201']);
    await remove(api, maintenancePath(name));
  });

  test('moves no pod as long as one is refused, says what would help, and goes on when it is allowed', async () => {
    const name = 'refusing';
    await makeNode(api, name);
    const there = { namespace: name };
    await create(api, namespace(name), podAt(name, 'alone', there));
    await create(
      api,
      deployment('web', { ...there, onNodes: [name] }),
      deployment('data', { ...there, onNodes: [name], localData: true }),
    );
    await podsReady(api, name, 3);
    const mark = harness.controlPlane.audit.mark();
    await create(api, maintenance(name, { drain: { force: false, deleteEmptyDirData: false } }));
    const { blockers = [], conditions } = await untilMaintenance(
      api,
      name,
      'Draining',
      ({ blockers }) => blockers?.length === 2,
    );
    assert.deepEqual(
      blockers.map(({ reason, pod, remedy }) => [
        reason,
        pod?.name.replace(/^data-.*/, 'data'),
        remedy,
      ]),
      [
        ['LocalData', 'data', 'set drain.deleteEmptyDirData, or move the data'],
        ['Unmanaged', 'alone', 'set drain.force, or delete it'],
      ],
    );
    assert.equal(conditions?.find(({ type }) => type === 'Drained')?.reason, 'Blocked');
    await edit(name, { drain: { force: true } });
    await untilMaintenance(
      api,
      name,
      'Draining',
      ({ blockers }) => blockers?.length === 1 && blockers[0]?.reason === 'LocalData',
    );
    assert.deepEqual(await podCalls(harness, mark, [name]), [], 'one refused pod stops all');
    await edit(name, { drain: { deleteEmptyDirData: true } });
    await untilMaintenance(api, name, 'Drained');
    assert.equal((await podCalls(harness, mark, [name])).length, 3);
    await remove(api, maintenancePath(name));
  });

  test('with ignoreDaemonSets off refuses DaemonSet pods', async () => {
    const name = 'daemons';
    await makeNode(api, name);
    await create(api, namespace(name), daemonSet('agent', { namespace: name, onNodes: [name] }));
    await podsReady(api, name, 1);
    await create(api, maintenance(name, { drain: { ignoreDaemonSets: false } }));
    const { blockers = [] } = await untilMaintenance(
      api,
      name,
      'Draining',
      ({ blockers }) => blockers !== undefined,
    );
    assert.deepEqual(
      blockers.map(({ reason, remedy }) => ({ reason, remedy })),
      [{ reason: 'DaemonSet', remedy: 'set drain.ignoreDaemonSets' }],
    );
    await edit(name, { drain: { ignoreDaemonSets: true } });
    await untilMaintenance(api, name, 'Drained');
    assert.equal((await podsOn(api, name)).length, 1);
    await remove(api, maintenancePath(name));
  });

  test('moves only the pods that it selects', async () => {
    const name = 'selected';
    await makeNode(api, name);
    const there = { namespace: name };
    await create(
      api,
      namespace(name),
      podAt(name, 'mine', { ...there, labels: { tier: 'web' } }),
      podAt(name, 'other', there),
    );
    await untilPods(api, name, 2);
    const mark = harness.controlPlane.audit.mark();
    await create(
      api,
      maintenance(name, { drain: { podSelector: { matchLabels: { tier: 'web' } } } }),
    );
    const { pods } = await untilMaintenance(api, name, 'Drained');
    assert.deepEqual(pods, { total: 2, toEvict: 1, gone: 1, waiting: 0 });
    assert.deepEqual(await podCalls(harness, mark, [name]), ['evict mine 201']);
    assert.deepEqual(await namesOn(api, name), ['other']);
    await remove(api, maintenancePath(name));
  });

  test('empties its node in waves', async () => {
    const name = 'waves';
    await makeNode(api, name);
    const high = {
      apiVersion: 'scheduling.k8s.io/v1',
      kind: 'PriorityClass',
      metadata: { name: 'waves-high' },
      value: 1000,
    };
    await create(api, high, namespace(name), namespace('waves-b'));
    await create(
      api,
      podAt(name, 'first-z', {
        namespace: name,
        labels: { wave: 'first' },
        priorityClassName: 'waves-high',
      }),
      podAt(name, 'first-y', { namespace: 'waves-b', labels: { wave: 'first' } }),
      podAt(name, 'second', { namespace: 'waves-b', priorityClassName: 'waves-high' }),
      podAt(name, 'c-third', { namespace: name }),
      podAt(name, 'b-third', { namespace: name }),
      podAt(name, 'a-last', { namespace: name, priorityClassName: 'waves-high' }),
    );
    await untilPods(api, name, 6);
    const mark = harness.controlPlane.audit.mark();
    const waves = [
      { podSelector: { matchLabels: { wave: 'first' } } },
      { namespaces: ['waves-b'] },
      { maxPriority: 100 },
    ];
    await create(api, maintenance(name, { drain: { waves } }));
    const early = await untilMaintenance(
      api,
      name,
      'Draining',
      ({ blockers }) => blockers !== undefined,
    );
    assert.ok(
      early.blockers?.some(({ reason, pod }) => reason === 'EarlierWave' && pod?.name === 'a-last'),
    );
    await untilMaintenance(api, name, 'Drained');
    const calls = (await podCalls(harness, mark, [name, 'waves-b'])).map(call =>
      call.replace(/^evict (\S+) 201$/, '$1'),
    );
    assert.deepEqual(calls.slice(0, 2).toSorted(), ['first-y', 'first-z']);
    assert.equal(calls[2], 'second');
    assert.deepEqual(calls.slice(3, 5).toSorted(), ['b-third', 'c-third']);
    assert.deepEqual(calls.slice(5), ['a-last']);
    await remove(api, maintenancePath(name));
  });

  test('leaves pods alone and waits for others to finish by themselves, as its policy says', async () => {
    const name = 'choosy';
    await makeNode(api, name);
    const there = { namespace: name };
    await create(
      api,
      namespace(name),
      podAt(name, 'left-alone', { ...there, labels: { keep: 'yes' } }),
      podAt(name, 'mover', there),
      job('batch', { ...there, onNodes: [name], annotations: { 'drydock.test/done-after': '8s' } }),
    );
    await untilPods(api, name, 3);
    const mark = harness.controlPlane.audit.mark();
    await create(
      api,
      maintenance(name, {
        drain: {
          ignorePods: [{ podSelector: { matchLabels: { keep: 'yes' } } }],
          awaitPods: [{ ownerKinds: ['Job'] }],
        },
      }),
    );
    const waiting = await untilMaintenance(
      api,
      name,
      'Draining',
      ({ blockers }) => blockers?.some(({ pod }) => pod?.name.startsWith('batch-')) === true,
    );
    assert.equal(
      waiting.blockers?.find(({ pod }) => pod?.name.startsWith('batch-'))?.reason,
      'AwaitingCompletion',
    );
    await until(
      'the pod that may go to be asked for',
      async () => (await podCalls(harness, mark, [name])).length > 0,
    );
    assert.deepEqual(await podCalls(harness, mark, [name]), ['evict mover 201']);
    await untilMaintenance(api, name, 'Drained');
    assert.deepEqual(await namesOn(api, name), ['left-alone']);
    // The job controller counts a little later.
    const path = `/apis/batch/v1/namespaces/${name}/jobs/batch`;
    const jobNow = (): Promise<{
      readonly status: { readonly succeeded?: number; readonly failed?: number };
    }> => api.get(path);
    await until('the job to be done', async () => (await jobNow()).status.succeeded === 1);
    assert.equal((await jobNow()).status.failed, undefined, 'the job was not disturbed');
    await remove(api, maintenancePath(name));
  });

  test('with disableEviction deletes pods past their budgets, and evicts none', async () => {
    const name = 'deleting';
    await guarded(name);
    const mark = harness.controlPlane.audit.mark();
    await create(api, maintenance(name, { drain: { disableEviction: true } }));
    await untilMaintenance(api, name, 'Drained');
    assert.deepEqual(await podCalls(harness, mark, [name]), ['delete precious 200']);
    await remove(api, maintenancePath(name));
  });

  test('gives every pod the grace period that it names', async () => {
    const name = 'graceful';
    await makeNode(api, name);
    await create(
      api,
      namespace(name),
      podAt(name, 'slow', { namespace: name, annotations: { 'drydock.test/never-gone': 'true' } }),
    );
    await untilPods(api, name, 1);
    await create(api, maintenance(name, { drain: { gracePeriodSeconds: 77 } }));
    await until('the pod to be terminating', async () => {
      const { metadata } = await getPod<TerminatingPod>(api, name, 'slow');
      return metadata.deletionTimestamp !== undefined && metadata.deletionGracePeriodSeconds === 77;
    });
    await killPod(api, name, 'slow');
    await untilMaintenance(api, name, 'Drained');
    await remove(api, maintenancePath(name));
  });

  test('that is out of time has failed, keeps its node, and evicts nothing any more', async () => {
    const name = 'timed-out';
    const face = await guarded(name);
    const mark = harness.controlPlane.audit.mark();
    await create(api, maintenance(name, { drain: { timeoutSeconds: 2 } }));
    const status = await untilMaintenance(api, name, 'Failed');
    assert.equal(status.failure, 'DeadlineExceeded');
    const failed = status.conditions?.find(({ type }) => type === 'Failed');
    assert.deepEqual([failed?.status, failed?.reason], ['True', 'DeadlineExceeded']);
    assert.equal(status.conditions?.find(({ type }) => type === 'NodeHeld')?.status, 'True');
    await untilWords(name, { DrainInProgress: 'False', Drained: 'False' });
    await loosen(name);
    await api.patch(budgetPath(name, 'precious'), { metadata: { labels: { look: 'again' } } });
    await edit(name, { reason: 'look again' });
    await untilMaintenance(
      api,
      name,
      'Failed',
      ({ observedGeneration }) => observedGeneration === 2,
    );
    assert.deepEqual(await podCalls(harness, mark, [name]), []);
    assert.equal(isHeld(await getNode(api, name), ourTaints), true);
    assert.equal((await leaseOf(api, name)).spec.holderIdentity, 'node-maintenance');
    const { metadata } = await api.get<Maintenance>(maintenancePath(name));
    assert.equal((await untilEvent(api, metadata.uid, 'MaintenanceFailed')).count, 1);
    await remove(api, maintenancePath(name));
    await untilFace(api, name, face);
  });

  test('with the rung Release gives its node back when it is out of time', async () => {
    const name = 'releasing';
    const face = await guarded(name);
    const mark = harness.controlPlane.audit.mark();
    await create(
      api,
      maintenance(name, { drain: { ladder: [{ afterSeconds: 2, action: 'Release' }] } }),
    );
    await untilHeld(api, name, ourTaints);
    const status = await untilMaintenance(api, name, 'Failed');
    assert.equal(status.failure, 'Released');
    await untilFace(api, name, face);
    await until('the lease to be released', async () => !(await hasLease(api, name)));
    await loosen(name);
    await edit(name, { reason: 'look again' });
    await untilMaintenance(
      api,
      name,
      'Failed',
      ({ observedGeneration, conditions }) =>
        observedGeneration === 2 &&
        conditions?.find(({ type }) => type === 'NodeHeld')?.status === 'False',
    );
    await untilFace(api, name, face);
    assert.deepEqual(await podCalls(harness, mark, [name]), []);
    await remove(api, maintenancePath(name));
    await untilFace(api, name, face);
  });

  test('with the rung Delete deletes what is left, as a disruption that is announced', async () => {
    const name = 'laddered';
    await guarded(name, { 'drydock.test/gone-after': '3s' });
    const { metadata } = await getPod<TerminatingPod>(api, name, 'precious');
    const mark = harness.controlPlane.audit.mark();
    await create(
      api,
      maintenance(name, {
        drain: { ladder: [{ afterSeconds: 2, action: 'Delete', gracePeriodSeconds: 5 }] },
      }),
    );
    const condition = await waitFor('the pod to be terminating', async () => {
      const found = await getPod<TerminatingPod>(api, name, 'precious');
      if (found.metadata.deletionTimestamp === undefined) return { yet: 'it is not' };
      assert.equal(found.metadata.deletionGracePeriodSeconds, 5);
      return { done: found.status.conditions?.find(({ type }) => type === 'DisruptionTarget') };
    });
    assert.deepEqual([condition?.status, condition?.reason], ['True', 'DrydockDeadline']);
    await untilMaintenance(api, name, 'Drained');
    assert.deepEqual(await podCalls(harness, mark, [name]), ['delete precious 200']);
    assert.equal(
      (await untilEvent(api, metadata.uid, 'DeletedPastDeadline', name)).type,
      'Warning',
    );
    await remove(api, maintenancePath(name));
  });

  test('waits until the volumes of pods that left are detached, not for those of pods that stay', async () => {
    const name = 'volumes';
    await makeNode(api, name);
    const mounting = (claim: string): { readonly spec: Readonly<Record<string, unknown>> } => ({
      spec: { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: claim } }] },
    });
    await create(
      api,
      namespace(name),
      ...storage(name, 'volume-leaves'),
      ...storage(name, 'volume-stays'),
    );
    await create(
      api,
      podAt(name, 'leaves', { namespace: name, ...mounting('volume-leaves') }),
      daemonSet('agent', { namespace: name, onNodes: [name], ...mounting('volume-stays') }),
      attachment('volume-leaves', name),
      attachment('volume-stays', name),
    );
    await untilPods(api, name, 2);
    await create(api, maintenance(name));
    const status = await untilMaintenance(api, name, 'Detaching');
    assert.deepEqual(
      status.blockers?.map(({ reason, volume, pod }) => ({ reason, volume, pod })),
      [{ reason: 'VolumeAttached', volume: 'volume-leaves', pod: undefined }],
    );
    assert.match(status.message ?? '', /still attached: volume-leaves/);
    assert.equal((await podsOn(api, name)).length, 1);
    await untilWords(name, { DrainInProgress: 'True', Drained: 'False' });
    await api.delete('/apis/storage.k8s.io/v1/volumeattachments/attached-volume-leaves');
    await untilMaintenance(api, name, 'Drained', ({ blockers }) => blockers === undefined);
    await remove(api, maintenancePath(name));
  });

  test('that shall not wait for volumes does not', async () => {
    const name = 'volumes-off';
    await makeNode(api, name);
    await create(
      api,
      namespace(name),
      ...storage(name, 'volume-off'),
      attachment('volume-off', name),
    );
    await create(api, maintenance(name, { drain: { waitForVolumeDetach: false } }));
    await untilMaintenance(api, name, 'Drained');
    await edit(name, { drain: { waitForVolumeDetach: true } });
    await untilMaintenance(api, name, 'Detaching');
    await remove(api, maintenancePath(name));
  });

  test('keeps node and pods apart: pods that tolerate nothing stay away while it lasts', async () => {
    const name = 'apart';
    await makeNode(api, name);
    await create(api, namespace(name), maintenance(name));
    await untilMaintenance(api, name, 'Drained');
    await create(api, pod('hopeful', { namespace: name, onNodes: [name] }));
    await waitFor('the scheduler to say no', async () => {
      const [found] = await pods(api, name);
      const scheduled = found?.status.conditions?.find(({ type }) => type === 'PodScheduled');
      return scheduled?.status === 'False'
        ? { done: undefined }
        : { yet: JSON.stringify(scheduled) };
    });
    await remove(api, maintenancePath(name));
    await untilNames(api, name, ['hopeful']);
    await podsReady(api, name, 1);
  });

  test('is shown by drydock status: all, one node, as JSON, and what it does not know', async () => {
    const name = 'shown';
    await guarded(name);
    await makeNode(api, 'shown-cordoned', { unschedulable: true });
    await create(api, maintenance(name, { reason: 'new memory' }));
    await untilMaintenance(api, name, 'Draining', ({ blockers }) => blockers !== undefined);
    const all = await harness.drydock('status');
    assert.equal(all.code, 0, all.stderr);
    assert.match(all.stdout, /^NODE\s+KIND\s+NAME\s+PHASE\s+GONE\s+SINCE\s+REASON/);
    assert.match(all.stdout, /shown\s+Maintenance\s+shown\s+Draining\s+0\/1\s+\S+Z\s+new memory/);
    assert.match(all.stdout, /shown-cordoned\s+-\s+-\s+Cordoned by somebody else/);

    type Shown = {
      readonly node: string;
      readonly phase: string;
      readonly blockers: readonly { readonly reason: string }[];
    };
    const json = await harness.drydock('status', name, '-o', 'json');
    const { maintenances: found, cordonedByOthers } = JSON.parse(json.stdout) as {
      readonly maintenances: readonly Shown[];
      readonly cordonedByOthers: readonly string[];
    };
    assert.deepEqual(
      found.map(({ node, phase, blockers }) => ({
        node,
        phase,
        causes: blockers.map(({ reason }) => reason),
      })),
      [{ node: name, phase: 'Draining', causes: ['BudgetNeverAllows'] }],
    );
    assert.deepEqual(cordonedByOthers, []);
    const nobody = await harness.drydock('status', 'nowhere');
    assert.deepEqual([nobody.code, nobody.stdout], [0, 'No maintenance holds node nowhere.\n']);
    const wrong = await harness.drydock('status', '-o', 'xml');
    assert.equal(wrong.code, 2);
    await remove(api, maintenancePath(name));
  });
});

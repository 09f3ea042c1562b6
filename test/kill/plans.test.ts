import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { MaintenancePlanRecordSpec } from '@drydock/apis/schema';
import { errorText } from '@drydock/utils';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { create, getNode, nodesReady } from '../control-plane/objects/cluster.ts';
import type { List } from '../control-plane/objects/objects.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { until } from '../control-plane/wait.ts';
import { installShipped, operatorUsers } from '../operator/harness/shipped.ts';
import { dueNode, isWork, plan, planPath, untilPlan, Work } from '../operator/plans/plan-work.ts';
import { Keeper } from './keeper.ts';

/**
 * A plan of one node that is got ready, with work that reboots it and a hook behind it: the
 * operator is killed at every write that the plan makes, and the end is always the same.
 */

const started = await startControlPlane({ audit: true, users: operatorUsers });
const leftOut = started.kind === 'left-out' ? `control plane left out: ${started.why}` : false;
const skip =
  leftOut ||
  (started.kind === 'started' &&
    started.external &&
    'it needs the audit log of a control plane of its own');
const controlPlane = started as ControlPlane;
const name = 'drydock-kill-plan';
const podSpec = { containers: [{ name: 'up', image: 'example.test/beside:1' }] };
const worker = 'drydock-kill-worker';

/** What the plan writes itself: the life of its Maintenance has a test of its own. */
function isOfPlan(write: string): boolean {
  return /maintenanceplan|POST maintenances |DELETE maintenances |pods /.test(write);
}

/** Without these no plan comes to its end. How many reports there are is left open. */
const essential = [
  'PATCH maintenanceplans 1',
  'PATCH maintenanceplans/status 1',
  'PATCH maintenanceplans/status 4',
  'POST maintenances 1',
  'POST pods 1',
  'DELETE pods 1',
  'DELETE maintenances 1',
  'POST maintenanceplanrecords 1',
  'PATCH maintenanceplans 2',
];

/**
 * A life may have fewer reports than the one before it, since one report tells of several events
 * that come together: then it has ended before the blow.
 */
function assertShorterLife(at: string, writes: readonly string[]): void {
  assert.ok(
    at.startsWith('PATCH maintenanceplans/status ') && !essential.includes(at),
    `${at}: the blow has fallen`,
  );
  assert.ok(!writes.includes(at), `${at} has been written, and the blow has fallen at it`);
}

describe('an operator that is killed at every write of a plan and started again', {
  skip,
  timeout: 600_000,
}, () => {
  const { api } = controlPlane;
  let keeper: Keeper;
  let work: Work;
  let kernel = 'none';
  let lives = 0;
  /** The first attempt of the work fails. */
  let failsFirst = false;

  before(async () => {
    await installShipped(controlPlane, ['plans']);
    await create(api, dueNode(worker, { labels: { group: name } }));
    await nodesReady(api, [worker]);
    work = new Work(api, (_node, about) => {
      if (!isWork(about)) return { exitCode: 0 };
      return failsFirst && about.pod.endsWith('-1') ? { exitCode: 1 } : { kernel };
    });
    keeper = await Keeper.start(controlPlane);
    await keeper.settled();
  });
  after(async () => {
    await work?.stop();
    await keeper?.[Symbol.asyncDispose]();
    await controlPlane.stop();
  });

  const verdicts = async (
    uid: string,
  ): Promise<readonly MaintenancePlanRecordSpec['verdicts'][string][]> => {
    const { items } = await api.get<
      List<{ readonly metadata: never; readonly spec: MaintenancePlanRecordSpec }>
    >('/apis/drydock.dev/v1alpha1/maintenanceplanrecords');
    return items
      .filter(({ spec }) => spec.planUID === uid)
      .flatMap(({ spec }) => Object.values(spec.verdicts));
  };

  const assertInOrder = async (uid: string, pods: number): Promise<void> => {
    const all = await verdicts(uid);
    const attempts = failsFirst ? 2 : 1;
    assert.deepEqual(
      all.map(one => ({ verdict: one.verdict, rebooted: one.rebooted, attempts: one.attempts })),
      [{ verdict: 'Done', rebooted: true, attempts }],
    );
    assert.equal(work.counts.get(worker), pods + attempts, 'one pod has worked for each attempt');
    const { spec, metadata } = await getNode(api, worker);
    assert.deepEqual(
      [
        spec.unschedulable ?? false,
        spec.taints ?? [],
        metadata.annotations?.['drydock.dev/before'],
      ],
      [false, [], undefined],
    );
    for (const path of [
      '/apis/drydock.dev/v1alpha1/maintenances',
      '/api/v1/namespaces/drydock-plans/pods',
    ]) {
      assert.deepEqual((await api.get<List<never>>(path)).items, [], path);
    }
  };

  /** One plan from its creation until it is deleted and gone, with a blow where it is reached. */
  const live = async (
    at: string | undefined,
    moment: 'before' | 'after',
    beside = {},
  ): Promise<readonly string[]> => {
    lives += 1;
    kernel = `7.${lives}.0`;
    const pods = work.counts.get(worker) ?? 0;
    keeper.arm(at === undefined ? undefined : { at, moment });
    const due = { expression: `node.status.nodeInfo.kernelVersion != '${kernel}'` };
    const { metadata } = await api.post<{ readonly metadata: { readonly uid: string } }>(
      '/apis/drydock.dev/v1alpha1/maintenanceplans',
      plan(name, name, { due, ...beside }),
    );
    try {
      await untilPlan(api, name, 'complete', ({ phase }) => phase === 'Complete', {
        deadlineMs: 40_000,
        everyMs: 25,
      });
      await keeper.settled();
      await assertInOrder(metadata.uid, pods);
      await api.delete(planPath(name));
      await until(
        'the plan to be gone',
        async () => (await api.call('GET', planPath(name))).status === 404,
        { everyMs: 25 },
      );
      await keeper.settled();
      if (at !== undefined && keeper.struck !== at) assertShorterLife(at, keeper.writes);
    } catch (error) {
      const what = `${at} ${moment}\n${errorText(error)}\n${keeper.log()}`;
      throw new Error(what, { cause: error });
    }
    const { writes } = keeper;
    keeper.arm(undefined);
    return writes;
  };

  for (const moment of ['before', 'after'] as const) {
    const when =
      moment === 'before' ? 'just before the API server sees it' : 'just before its answer arrives';
    test(`killed at each of its writes, ${when}: one pod, one verdict, and the node as it was`, async () => {
      const targets = (await live(undefined, moment)).filter(isOfPlan);
      const missed = essential.filter(write => !targets.includes(write));
      assert.deepEqual(missed, [], `what is written: ${targets.join(', ')}`);
      for (const at of targets) await live(at, moment);
    });

    test(`killed at each pod that it makes and deletes for what is beside the work, ${when}`, async () => {
      const beside = {
        prepare: { job: { podSpec } },
        hooks: [{ name: 'after', at: 'AfterNode', job: { podSpec } }],
      };
      const targets = (await live(undefined, moment, beside)).filter(write =>
        write.includes(' pods '),
      );
      assert.deepEqual(targets.toSorted(), [
        'DELETE pods 1',
        'DELETE pods 2',
        'DELETE pods 3',
        'POST pods 1',
        'POST pods 2',
        'POST pods 3',
      ]);
      for (const at of targets) await live(at, moment, beside);
    });

    test(`killed at each pod of work that fails once and is tried again, ${when}`, async () => {
      failsFirst = true;
      try {
        const job = { podSpec, rebootsNode: true, timeoutSeconds: 20, attempts: 2 };
        const targets = (await live(undefined, moment, { work: { job } })).filter(write =>
          write.includes(' pods '),
        );
        assert.deepEqual(targets.toSorted(), [
          'DELETE pods 1',
          'DELETE pods 2',
          'POST pods 1',
          'POST pods 2',
        ]);
        for (const at of targets) await live(at, moment, { work: { job } });
      } finally {
        failsFirst = false;
      }
    });
  }
});

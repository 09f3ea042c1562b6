import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { MaintenancePlanStatus } from '@drydock/apis/schema';
import { cordon, create, getNode, nodesReady } from '../../control-plane/objects/cluster.ts';
import type { Manifest } from '../../control-plane/objects/manifests.ts';
import { waitFor } from '../../control-plane/wait.ts';
import { type OperatorHarness, skipOf, startHarness } from '../harness/harness.ts';
import { isHeld, maintenance, ourTaints, untilGone, untilMaintenance } from '../harness/look.ts';
import {
  type Deed,
  dueNode,
  type MaintenancePlan,
  plan,
  planPath,
  untilPlan,
  Work,
} from './plan-work.ts';

/**
 * drydock.dev/v1alpha1 MaintenancePlan on a real control plane: stages, limits, proof, failures and
 * approvals. Every test has nodes of its own.
 */

const started = await startHarness({ roles: ['plans'] });
const skip = skipOf(started);
const harness = started as OperatorHarness;

const records = '/apis/drydock.dev/v1alpha1/maintenanceplanrecords';
const zones = ['a', 'b', 'c'];

type Record = {
  readonly spec: {
    readonly planName: string;
    readonly verdicts: Readonly<{
      [node: string]: { readonly verdict: string; readonly message: string };
    }>;
  };
};

describe('a MaintenancePlan', { skip, concurrency: 8, timeout: 240_000 }, () => {
  const { api } = harness;
  /** By node: each test sets and deletes its own. */
  const deeds = new Map<string, Deed>();
  /** Moments whose hooks end badly. */
  const hookFails = new Set<string>();
  let work: Work;
  before(async () => {
    await harness.startOperator();
    work = new Work(api, (name, { pod, hook }) => {
      if (hook !== '') return { exitCode: hookFails.has(hook) ? 1 : 0 };
      return (
        deeds.get(`${name} ${pod.endsWith('-ready') ? 'ready' : 'work'}`) ??
        deeds.get(name) ?? { kernel: '6.12.9' }
      );
    });
  });
  after(async () => {
    await work.stop();
    await harness.stop();
  });

  const nodesOf = async (group: string, many: number): Promise<readonly string[]> => {
    const names = Array.from(
      { length: many },
      (_, index) => `${group}-${String(index + 1).padStart(2, '0')}`,
    );
    for (const [index, name] of names.entries()) {
      await create(
        api,
        dueNode(name, { labels: { group, 'topology.kubernetes.io/zone': zones[index % 3] ?? '' } }),
      );
    }
    await nodesReady(api, names);
    return names;
  };

  const verdicts = async (
    name: string,
  ): Promise<
    Readonly<{ [node: string]: { readonly verdict: string; readonly message: string } }>
  > => {
    const { items } = await api.get<{ readonly items: readonly Record[] }>(records);
    return Object.assign(
      {},
      ...items.filter(({ spec }) => spec.planName === name).map(({ spec }) => spec.verdicts),
    ) as Record['spec']['verdicts'];
  };

  /** How many nodes of a group are unschedulable at once, at most, until it is told to stop. */
  const watchOut = (names: readonly string[]): (() => Promise<number>) => {
    const state = { most: 0, stopped: false };
    const loop = (async (): Promise<void> => {
      while (!state.stopped) {
        const { items } = await api.get<{
          items: { metadata: { name: string }; spec: { unschedulable?: boolean } }[];
        }>('/api/v1/nodes');
        const out = items.filter(
          ({ metadata, spec }) => names.includes(metadata.name) && spec.unschedulable === true,
        ).length;
        state.most = Math.max(state.most, out);
        await new Promise(resolve => setTimeout(resolve, 50));
      }
    })();
    return async () => {
      state.stopped = true;
      await loop;
      return state.most;
    };
  };

  test('goes through its nodes zone by zone within its limits, and proves each by its boot', async () => {
    const names = await nodesOf('zonal', 9);
    const most = watchOut(names);
    await create(
      api,
      plan('zonal', 'zonal', {
        concurrency: { maxInFlight: 3, maxUnavailable: 2 },
        soakSeconds: 1,
      }),
    );
    const { nodes, resolved } = await untilPlan(
      api,
      'zonal',
      'complete',
      ({ phase }) => phase === 'Complete',
    );
    assert.deepEqual(
      [nodes?.done, nodes?.failed, nodes?.progress, resolved?.maxUnavailable],
      [9, 0, '9/9', 2],
    );
    assert.equal(await most(), 2);
    const all = await verdicts('zonal');
    assert.deepEqual(Object.keys(all).toSorted(), names);
    for (const name of names) {
      assert.equal(all[name]?.verdict, 'Done');
      assert.equal(work.counts.get(name), 1, 'one pod a node');
      assert.equal(isHeld(await getNode(api, name), ourTaints), false);
    }
  });

  test('a canary is approved by somebody before the rest follows', async () => {
    const names = await nodesOf('canary', 3);
    await create(
      api,
      plan('canary', 'canary', { stages: [{ name: 'canary', limit: 1, approveAfter: true }] }),
    );
    const { run, nodes } = await untilPlan(
      api,
      'canary',
      'waiting',
      ({ phase }) => phase === 'AwaitingApproval',
    );
    assert.equal(nodes?.done, 1);
    const approval = (revision: string): Manifest => ({
      apiVersion: 'drydock.dev/v1alpha1',
      kind: 'MaintenanceApproval',
      metadata: { name: `canary-${revision}` },
      spec: { planName: 'canary', runID: run?.id ?? '', revision, stage: 'canary' },
    });
    await create(api, approval('another'));
    await create(api, approval(run?.revision ?? ''));
    const done = await untilPlan(api, 'canary', 'complete', ({ phase }) => phase === 'Complete');
    assert.equal(done.nodes?.done, names.length);
  });

  test('a node that does not come back with the new kernel has failed, stays held, and halts the plan; a retry goes on', async () => {
    const [first = '', second = ''] = await nodesOf('broken', 4);
    deeds.set(first, { exitCode: 1 });
    deeds.set(second, { kernel: '6.1.0' });
    const [halt, done_, order] = [
      { maxFailures: 1, consecutive: 0 },
      { withinSeconds: 2 },
      { by: ['Name' as const] },
    ];
    await create(api, plan('broken', 'broken', { halt, done: done_, order }));
    const halted = await untilPlan(api, 'broken', 'halted', ({ phase }) => phase === 'Halted');
    assert.deepEqual(
      halted.failures?.map(({ node: name, state }) => [name, state]),
      [
        [first, 'Working'],
        [second, 'Verifying'],
      ],
    );
    assert.match(halted.failures?.[0]?.message ?? '', /exit code 1: no space left on \/boot/);
    assert.match(halted.failures?.[1]?.message ?? '', /it is still due/);
    assert.equal(isHeld(await getNode(api, first), ourTaints), true, 'it stays held');
    for (const name of [first, second]) deeds.delete(name);
    await api.patch(planPath('broken'), {
      spec: { retries: [{ name: '*', before: new Date().toISOString() }] },
    });
    const done = await untilPlan(api, 'broken', 'complete', ({ phase }) => phase === 'Complete');
    assert.deepEqual([done.nodes?.done, done.nodes?.failed], [4, 0]);
    assert.equal(isHeld(await getNode(api, first), ourTaints), false);
  });

  test('a node that somebody else has cordoned is named and waited for; a paused plan starts nothing', async () => {
    const [first = ''] = await nodesOf('foreign', 3);
    await cordon(api, first);
    await create(api, plan('foreign', 'foreign'));
    const waiting = await untilPlan(
      api,
      'foreign',
      'waiting',
      status => status.nodes?.done === 2 && status.waitingFor === 'HeldBy',
    );
    assert.equal(waiting.waiting?.[0]?.node, first);
    await api.patch(planPath('foreign'), { spec: { state: 'Paused' } });
    await untilPlan(api, 'foreign', 'paused', ({ phase }) => phase === 'Paused');
    await cordon(api, first, false);
    await new Promise(resolve => setTimeout(resolve, 1000));
    assert.equal((await api.get<MaintenancePlan>(planPath('foreign'))).status?.inFlight?.length, 0);
    await api.patch(planPath('foreign'), { spec: { state: 'Running' } });
    await untilPlan(api, 'foreign', 'complete', ({ phase }) => phase === 'Complete');
  });

  test('a maintenance that somebody makes in the middle of the work waits for its end', async () => {
    const [name = ''] = await nodesOf('shared', 1);
    deeds.set(name, { kernel: '6.12.9', workMs: 8000 });
    const job = {
      podSpec: { containers: [{ name: 'up', image: 'example.test/kernel:1' }] },
      rebootsNode: true,
      timeoutSeconds: 60,
    };
    await create(api, plan('shared', 'shared', { work: { job } }));
    await untilPlan(api, 'shared', 'working', () => work.counts.has(name));
    await create(api, maintenance('disks', { nodeName: name, drain: { force: true } }));
    const { blockers = [] } = await untilMaintenance(
      api,
      'disks',
      'Draining',
      ({ blockers }) => blockers !== undefined,
    );
    assert.deepEqual(
      blockers.map(({ reason, pod }) => [reason, pod?.namespace]),
      [['WorkOfPlan', 'drydock-plans']],
    );
    const done = await untilPlan(api, 'shared', 'complete', ({ phase }) => phase === 'Complete');
    assert.deepEqual(
      [done.nodes?.done, work.counts.get(name)],
      [1, 1],
      'one pod, which nobody has evicted',
    );
    await untilMaintenance(api, 'disks', 'Drained');
    assert.equal(
      isHeld(await getNode(api, name), ourTaints),
      true,
      'the node stays with whoever else has it',
    );
  });

  test('two plans on the same nodes keep to the limits of both', async () => {
    const names = await nodesOf('pair', 6);
    const most = watchOut(names);
    const none = {
      due: { expression: "!('swept' in node.metadata.labels) || true" },
      work: { none: {} },
    };
    await create(
      api,
      plan('pair-kernel', 'pair', { concurrency: { maxInFlight: 3, maxUnavailable: 3 } }),
    );
    await create(
      api,
      plan('pair-sweep', 'pair', {
        ...none,
        done: { expression: 'true' },
        concurrency: { maxInFlight: 3, maxUnavailable: 1 },
      }),
    );
    for (const name of ['pair-kernel', 'pair-sweep'])
      await untilPlan(api, name, 'complete', ({ phase }) => phase === 'Complete');
    assert.equal(await most(), 1, 'the stricter limit counts for both');
  });

  test('nodes are got ready before they are held; one that refuses is named, costs nothing, and is tried again', async () => {
    const [first = '', second = '', third = ''] = await nodesOf('ready', 3);
    for (const name of [second, third]) deeds.set(`${name} ready`, { exitCode: 0 });
    deeds.set(`${first} ready`, { exitCode: 3 });
    const podSpec = { containers: [{ name: 'up', image: 'example.test/check:1' }] };
    await create(
      api,
      plan('ready', 'ready', { prepare: { job: { podSpec } }, order: { by: ['Name'] } }),
    );
    const isPast = ({ nodes, inFlight, preparing }: MaintenancePlanStatus): boolean =>
      nodes?.done === 2 && inFlight?.length === 0 && preparing?.length === 1;
    const passed = await untilPlan(
      api,
      'ready',
      'past the first',
      status => isPast(status) && status.waitingFor === 'Blocked',
    );
    assert.deepEqual(
      [passed.nodes?.blocked, passed.preparing?.map(({ node, state }) => [node, state])],
      [1, [[first, 'Refused']]],
    );
    const why = passed.waiting?.find(({ reason }) => reason === 'Blocked');
    assert.match(
      why?.message ?? '',
      /refuses: container up: Error, exit code 3: no space left on \/boot; drydock plan retry ready /,
    );
    assert.equal(isHeld(await getNode(api, first), ourTaints), false);
    deeds.set(`${first} ready`, { exitCode: 0 });
    const { code, stderr } = await harness.drydock('plan', 'retry', 'ready', first);
    assert.equal(code, 0, stderr);
    const done = await untilPlan(api, 'ready', 'complete', ({ phase }) => phase === 'Complete');
    assert.deepEqual([done.nodes?.done, done.preparing], [3, undefined]);
    await waitFor('no pod to be left', async () => {
      const { items } = await api.get<{
        readonly items: readonly { readonly metadata: { readonly name: string } }[];
      }>('/api/v1/namespaces/drydock-plans/pods');
      const left = items.filter(({ metadata }) => metadata.name.startsWith('ready-'));
      return left.length === 0 ? { done: undefined } : { yet: String(left.length) };
    });
  });

  test('hooks run beside the nodes at their moments, each told of its own; one that fails keeps what comes behind it', async () => {
    const [first = ''] = await nodesOf('hooks', 1);
    const places = [
      'BeforeRun',
      'BeforeStage',
      'BeforeNode',
      'AfterNode',
      'AfterStage',
      'AfterRun',
    ] as const;
    const podSpec = { containers: [{ name: 'up', image: 'example.test/hook:1' }] };
    const hooks = places.map(at => ({ name: at.toLowerCase(), at, job: { podSpec } }));
    const seen = new Map<string, string>();
    hookFails.add('AfterNode');
    const state = { on: true };
    const looking = (async () => {
      type HookPod = {
        readonly metadata: { readonly name: string; readonly uid: string };
        readonly spec: {
          readonly containers: readonly {
            readonly env?: readonly { readonly name: string; readonly value: string }[];
          }[];
        };
      };
      while (state.on) {
        const { items } = await api.get<{ readonly items: readonly HookPod[] }>(
          '/api/v1/namespaces/drydock-plans/pods',
        );
        for (const { metadata, spec } of items) {
          const env = new Map(
            (spec.containers[0]?.env ?? []).map(({ name, value }) => [name, value]),
          );
          if (env.get('DRYDOCK_PLAN') !== 'hooks') continue;
          seen.set(
            metadata.uid,
            [env.get('DRYDOCK_HOOK'), env.get('DRYDOCK_STAGE'), env.get('DRYDOCK_NODE')]
              .filter(Boolean)
              .join(' '),
          );
        }
        await new Promise(resolve => setTimeout(resolve, 30));
      }
    })();
    await create(api, plan('hooks', 'hooks', { hooks }));
    const kept = await untilPlan(
      api,
      'hooks',
      'kept by a hook',
      ({ waiting }) =>
        waiting?.some(({ message }) => message.includes('afternode has failed')) === true,
    );
    assert.deepEqual(
      [kept.inFlight?.[0]?.state, kept.inFlight?.[0]?.outcome?.verdict],
      ['Releasing', 'Done'],
    );
    hookFails.delete('AfterNode');
    const { code, stdout, stderr } = await harness.drydock('plan', 'retry', 'hooks', '--failed');
    assert.deepEqual([code, stdout], [0, 'hook afternode runs again\n'], stderr);
    await untilPlan(api, 'hooks', 'complete', ({ phase }) => phase === 'Complete');
    state.on = false;
    await looking;
    const node_ = `rest ${first}`;
    assert.deepEqual(
      [...seen.values()],
      [
        'BeforeRun',
        'BeforeStage rest',
        `BeforeNode ${node_}`,
        `AfterNode ${node_}`,
        `AfterNode ${node_}`,
        'AfterStage rest',
        'AfterRun',
      ],
    );
  });

  test('an expression that cannot be read is told with its place, and nothing begins', async () => {
    await nodesOf('wrong', 1);
    await create(
      api,
      plan('wrong', 'wrong', { due: { expression: 'node.status.nodeInfo.kernelVersion !=' } }),
    );
    const { message, conditions } = await untilPlan(
      api,
      'wrong',
      'pending',
      ({ phase }) => phase === 'Pending',
    );
    assert.match(message ?? '', /^spec\.due\.expression: /);
    assert.equal(conditions?.find(({ type }) => type === 'Valid')?.status, 'False');
  });

  test('is deleted only when no node is in flight any more; a node that nothing was done to is given back', async () => {
    const [name = ''] = await nodesOf('gone', 2);
    deeds.set(name, { hangs: true });
    await create(api, plan('gone', 'gone', { order: { by: ['Name'] } }));
    await untilPlan(api, 'gone', 'working', ({ inFlight }) => inFlight?.[0]?.state === 'Working');
    await api.delete(planPath('gone'));
    await new Promise(resolve => setTimeout(resolve, 1000));
    assert.equal(isHeld(await getNode(api, name), ourTaints), true, 'its work is not over');
    await untilGone(api, planPath('gone'));
    await waitFor('the record to be gone', async () =>
      Object.keys(await verdicts('gone')).length === 0 ? { done: undefined } : { yet: 'there' },
    );
  });

  test('a deadline that cannot be met is told at the start, and passes no limit', async () => {
    const names = await nodesOf('late', 3);
    const most = watchOut(names);
    const pace = { deadline: new Date(Date.now() + 600_000).toISOString() };
    await create(
      api,
      plan('late', 'late', {
        pace,
        expectedSeconds: 3600,
        concurrency: { maxUnavailable: '100%', maxUnavailableAbsolute: 1 },
      }),
    );
    const running = await untilPlan(
      api,
      'late',
      'late',
      ({ conditions }) =>
        conditions?.some(
          ({ type, reason }) => type === 'Predicted' && reason === 'MissesDeadline',
        ) === true,
    );
    assert.ok(Date.parse(running.estimatedCompletionTime ?? '') > Date.now() + 3_000_000);
    assert.equal(running.resolved?.maxUnavailable, 1);
    const { estimatedCompletionTime, conditions } = await untilPlan(
      api,
      'late',
      'complete',
      ({ phase }) => phase === 'Complete',
    );
    assert.equal(await most(), 1);
    assert.deepEqual(
      [estimatedCompletionTime, conditions?.find(({ type }) => type === 'Predicted')?.reason],
      [undefined, 'OnTime'],
      'it was quicker than that',
    );
  });

  test('what contradicts itself is refused by the API server', async () => {
    const refused = async (spec: object): Promise<string> => {
      const { status, body } = await api.call(
        'POST',
        '/apis/drydock.dev/v1alpha1/maintenanceplans?dryRun=All',
        {
          ...plan('refused', 'refused'),
          spec: { ...(plan('refused', 'refused').spec as object), ...spec },
        },
      );
      return status === 201 ? '' : ((body as { readonly message?: string }).message ?? '');
    };
    assert.equal(await refused({}), '');
    assert.match(
      await refused({ work: { none: {}, external: { finished: { expression: 'true' } } } }),
      /exactly one of job, reboot, external, replace and none/,
    );
    assert.match(await refused({ pace: { mode: 'Spread' } }), /deadline/);
    assert.match(await refused({ concurrency: { startsPerWindow: 0 } }), /startsPerWindow/);
    assert.match(
      await refused({ order: { first: Array.from({ length: 101 }, (_, index) => `n${index}`) } }),
      /first/,
    );
    assert.match(await refused({ work: {} }), /exactly one of/);
    assert.match(await refused({ concurrency: { maxInFlight: '0%' } }), /maxInFlight/);
    assert.match(await refused({ concurrency: { maxInFlight: -1 } }), /maxInFlight/);
    assert.match(await refused({ stages: [{ name: 'rest' }] }), /implied stages/);
    assert.match(await refused({ work: { job: { podSpec: {} } } }), /containers/);
    assert.match(await refused({ direction: 'Rollback' }), /direction Rollback needs rollback/);
    assert.match(await refused({ pause: { reason: 'release' } }), /set state to Paused/);
    assert.equal(await refused({ state: 'Paused', pause: { reason: 'release' } }), '');
    const external = {
      finished: { expression: 'true' },
      annotations: { 'drydock.dev/maintenance-plan': 'another' },
    };
    assert.match(
      await refused({ work: { external } }),
      /annotations of drydock\.dev are reserved for Drydock/,
    );
    assert.match(
      await refused({ due: { olderThanSeconds: 1 }, rollback: { work: { none: {} } } }),
      /rollback\.due is required when due has no expression/,
    );
    assert.match(await refused({ rollback: { work: {} } }), /exactly one of/);
    assert.equal(await refused({ direction: 'Rollback', rollback: { work: { none: {} } } }), '');
  });
});

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type {
  MachineEventSourceStatus,
  MachineMaintenanceSpec,
  MachineMaintenanceStatus,
  MaintenancePlanRecordSpec,
} from '@drydock/apis/schema';
import type { Api } from '../control-plane/objects/api.ts';
import { budgetAllows, create, getNode, podsReady } from '../control-plane/objects/cluster.ts';
import {
  budget,
  deployment,
  type Manifest,
  namespace,
} from '../control-plane/objects/manifests.ts';
import {
  isReady,
  type List,
  type Metadata,
  type Node,
  type Pod,
} from '../control-plane/objects/objects.ts';
import { until, waitFor } from '../control-plane/wait.ts';
import {
  type OperatorHarness,
  type OperatorProcess,
  startHarness,
} from '../operator/harness/harness.ts';
import { operatorUsers } from '../operator/harness/shipped.ts';
import { planPath, untilPlan } from '../operator/plans/plan-work.ts';
import { type LeftOut, skipOf } from './builds.ts';
import { type Ec2Emulator, startEc2 } from './ec2/ec2.ts';
import { instanceIn } from './fake-kubelets.ts';
import { minUsable, nodesWithout, usableNodes } from './usable-nodes.ts';

/** Where nobody listens. */
const nobody = 'http://127.0.0.1:9';

/**
 * Whole stories on real machine controllers and a real EC2 client: an event appears, and in the end
 * everything is as it was, with another machine.
 */

export type Machine = {
  readonly metadata: Metadata;
  readonly spec: { readonly providerID?: string; readonly lifecycleHooks?: unknown };
  readonly status?: { readonly nodeRef?: { readonly name: string } };
};

type Named = Pick<Machine, 'metadata'>;

/** A stop sign of the machine API that somebody sets, and takes away again. */
export type PauseSign = {
  readonly what: string;
  readonly says: RegExp;
  set(machine: Named): Promise<void>;
  take(machine: Named): Promise<void>;
};

/** A machine API, as far as the stories look at it. */
export type Pools = {
  readonly kind: 'started';
  readonly namespace: string;
  pathOf(resource: 'machines', name?: string): string;
  makePool(name: string, replicas: number): Promise<readonly Machine[]>;
  machines(pool?: string): Promise<readonly Machine[]>;
  poolReady(name: string, replicas: number): Promise<readonly Machine[]>;
  /** None where it cannot be paused. */
  readonly pauseSigns?: readonly PauseSign[];
  stop(): Promise<void>;
};

type Recorded = { readonly metadata: Metadata; readonly spec: MaintenancePlanRecordSpec };

type MachineMaintenance = {
  readonly metadata: Metadata;
  readonly spec: MachineMaintenanceSpec;
  readonly status?: MachineMaintenanceStatus;
};

const maintenances =
  '/apis/machinemaintenance.managed.openshift.io/v1alpha1/namespaces/drydock-system/machinemaintenances';
const source = '/apis/drydock.dev/v1alpha1/machineeventsources/aws';
const windows = '/apis/drydock.dev/v1alpha1/maintenancewindows';
const credentials = { AWS_ACCESS_KEY_ID: 'testing', AWS_SECRET_ACCESS_KEY: 'testing' };
function inSeconds(seconds: number): Date {
  return new Date(Date.now() + seconds * 1000);
}
function inTwoWeeks(): Date {
  return inSeconds(14 * 86_400);
}
const shop = 'shop';
/**
 * Where the replaced operator has its objects: Drydock serves them there when somebody opens the
 * namespace.
 */
const theirs = 'machine-maintenance-operator';
const pool = 'workers';

function windowOf(name: string, spec: object): Manifest {
  return {
    apiVersion: 'drydock.dev/v1alpha1',
    kind: 'MaintenanceWindow',
    metadata: { name },
    spec,
  };
}

export type Scene = {
  readonly harness: OperatorHarness;
  readonly ec2: Ec2Emulator;
  readonly pools: Pools;
};

/** Starts everything, or says why this machine cannot. */
export async function startScene(
  start: (harness: OperatorHarness, ec2: Ec2Emulator) => Promise<Pools | LeftOut>,
): Promise<Scene | LeftOut> {
  const ec2 = await startEc2();
  if (ec2.kind === 'left-out') return ec2;
  const harness = await startHarness({ roles: ['machine-api', 'plans'] });
  if (harness.kind === 'left-out') {
    await ec2.stop();
    return harness;
  }
  const pools = await start(harness, ec2);
  if (pools.kind === 'started') return { harness, ec2, pools };
  await harness.stop();
  await ec2.stop();
  return pools;
}

class Watcher {
  readonly #api: Api;
  readonly #ec2: Ec2Emulator;
  #generation = 3600;

  constructor(api: Api, ec2: Ec2Emulator) {
    this.#api = api;
    this.#ec2 = ec2;
  }

  /**
   * What the operator would see at the next scan, it sees now: a source that is changed is asked at
   * once.
   */
  async scan(): Promise<MachineEventSourceStatus> {
    this.#generation += 1;
    const { metadata } = await this.#api.patch<{ readonly metadata: Metadata }>(source, {
      spec: { aws: { intervalSeconds: this.#generation } },
    });
    return waitFor('the scan', async () => {
      const { status } = await this.#api.get<{ readonly status?: MachineEventSourceStatus }>(
        source,
      );
      return status !== undefined && status.observedGeneration === metadata.generation
        ? { done: status }
        : { yet: JSON.stringify(status) };
    });
  }

  async announce(
    machine: Machine,
    code: Parameters<Ec2Emulator['announce']>[1]['code'],
    notBefore = inTwoWeeks(),
  ): Promise<string> {
    const id = await this.#ec2.announce(instanceIn(machine.spec.providerID) ?? '', {
      code,
      notBefore,
    });
    await this.scan();
    return id;
  }

  of(machine: Machine): Promise<MachineMaintenance> {
    return this.#api.get<MachineMaintenance>(`${maintenances}/mm-${machine.metadata.name}`);
  }

  until(machine: Machine, phase: string, seconds = 120): Promise<MachineMaintenance> {
    return waitFor(
      `${machine.metadata.name} to be ${phase}`,
      async () => {
        const found = await this.of(machine);
        return found.status?.phase === phase
          ? { done: found }
          : { yet: JSON.stringify(found.status) };
      },
      { deadlineMs: seconds * 1000, everyMs: 100 },
    );
  }
}

/** The stories, on one machine API. */
export function tell(what: string, started: Scene | LeftOut): void {
  describe(`${what}: from the event to the new machine`, {
    skip: 'kind' in started ? skipOf(started) : false,
    timeout: 900_000,
  }, () => {
    const { harness, ec2, pools } = started as Scene;
    const { api } = harness ?? {};
    let watcher: Watcher;
    let operator: OperatorProcess;
    let history: Node[] = [];
    /** Nodes that are not of the pool. */
    let strangers: ReadonlySet<string> = new Set();
    const watching = new AbortController();

    before(async () => {
      watcher = new Watcher(api, ec2);
      const machines = await pools.makePool(pool, 3);
      await create(
        api,
        namespace(shop),
        deployment('web', { namespace: shop, replicas: 6 }),
        budget('web', { namespace: shop, maxUnavailable: 1 }),
      );
      await podsReady(api, shop, 6);
      await create(api, {
        apiVersion: 'drydock.dev/v1alpha1',
        kind: 'MachineEventSource',
        metadata: { name: 'aws' },
        spec: { aws: { endpoint: ec2.endpoint } },
      });
      const endpoints = [ec2.endpoint, nobody].map(
        endpoint => `--allowed-aws-endpoint=${endpoint}`,
      );
      const flags = [...endpoints, `--machine-maintenance-watch-namespaces=${theirs}`];
      await openNamespace();
      operator = await harness.startOperator({ environment: credentials, flags });
      const { metadata } = await api.get<List<Node>>('/api/v1/nodes');
      api
        .watch<Node>(
          '/api/v1/nodes',
          metadata.resourceVersion,
          ({ object }) => void history.push(object),
          watching.signal,
        )
        .catch(() => {});
      strangers = new Set(await nodesWithout(api, machines));
    });
    after(async () => {
      watching.abort();
      await operator?.running.stop();
      await pools.stop();
      await harness.stop();
      await ec2.stop();
    });

    const openNamespace = async (): Promise<void> => {
      const [, , space = '', name = ''] = operatorUsers.drydock.name.split(':');
      await create(api, namespace(theirs), {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata: { name: 'drydock-machine-maintenances', namespace: theirs },
        subjects: [{ kind: 'ServiceAccount', namespace: space, name }],
        roleRef: {
          apiGroup: 'rbac.authorization.k8s.io',
          kind: 'ClusterRole',
          name: 'drydock-machine-maintenances',
        },
      });
    };
    const upPods = async (): Promise<readonly Pod[]> => {
      const { items } = await api.get<List<Pod>>(`/api/v1/namespaces/${shop}/pods`);
      return items.filter(pod => isReady(pod) && pod.metadata.deletionTimestamp === undefined);
    };
    /** Fewest pods that were up, asked for again and again until it is called. */
    const counting = (): (() => Promise<number>) => {
      let fewest = 6;
      const state = { on: true };
      const work = (async () => {
        while (state.on) fewest = Math.min(fewest, (await upPods()).length);
      })();
      return async () => {
        state.on = false;
        await work;
        return fewest;
      };
    };
    const assertClean = async (): Promise<void> => {
      for (const { metadata, spec } of await pools.machines(pool)) {
        assert.deepEqual(
          Object.keys(metadata.annotations ?? {}).filter(
            key => key.includes('delete-machine') || key.includes('Drydock'),
          ),
          [],
          metadata.name,
        );
        assert.doesNotMatch(JSON.stringify(spec.lifecycleHooks ?? {}), /Drydock/);
      }
      assert.deepEqual(
        (await api.get<List<Machine>>('/apis/drydock.dev/v1alpha1/maintenances')).items.map(
          ({ metadata }) => metadata.name,
        ),
        [],
      );
    };

    test('announced, scheduled, window opens, drained within its budgets, machine replaced, old event gone, clean', async context => {
      const machines = await pools.poolReady(pool, 3);
      const old = machines[0]!;
      await create(
        api,
        windowOf('soon', {
          openings: [{ from: inSeconds(8).toISOString(), to: inSeconds(3600).toISOString() }],
          expectedDuration: '10m',
        }),
      );
      await watcher.announce(old, 'instance-retirement');
      const waiting = await watcher.until(old, 'Scheduled');
      assert.equal(waiting.status?.waitingFor, 'MaintenanceWindow');
      assert.equal(await usableNodes(api, strangers), 3);
      const [event] = waiting.spec.events ?? [];
      assert.deepEqual(
        [event?.provider, event?.kind, event?.state, event?.source],
        ['aws', 'retirement', 'Scheduled', 'aws'],
      );
      assert.deepEqual(
        [waiting.spec.maintenancescheduled, waiting.spec.machinelink, waiting.spec.eventcode],
        [false, old.metadata.name, 'instance-retirement'],
      );
      const fewest = counting();
      const since = performance.now();
      const done = await watcher.until(old, 'Succeeded', 180);
      context.diagnostic(
        `from Scheduled to Succeeded ${((performance.now() - since) / 1000).toFixed(1)} s: ${done.status?.history?.map(({ phase, time }) => `${phase} ${time.slice(14, 19)}`).join(', ')}`,
      );
      assert.ok((await fewest()) >= 5, 'the budget was kept');
      const now = await pools.poolReady(pool, 3);
      assert.ok(!now.some(({ metadata }) => metadata.name === old.metadata.name));
      await podsReady(api, shop, 6);
      const { events, machines: known, conditions } = await watcher.scan();
      assert.deepEqual(
        [events, known, conditions?.find(({ type }) => type === 'Ready')?.status],
        [0, (await api.get<List<Node>>('/api/v1/nodes')).items.length, 'True'],
      );
      await assertClean();
      await api.delete(`${windows}/soon`);
    });

    test('with a surge: another machine first, never one too few, exactly the announced one goes', async context => {
      const machines = await pools.poolReady(pool, 3);
      const old = machines[1]!;
      await api.patch(source, {
        spec: { responses: [{ kinds: ['retirement'], strategy: 'ReplaceWithSurge' }] },
      });
      history = [];
      const fewest = minUsable(api, strangers);
      await watcher.announce(old, 'instance-retirement');
      const done = await watcher.until(old, 'Succeeded', 180);
      const least = await fewest();
      context.diagnostic(
        done.status?.history
          ?.map(({ phase, time }) => `${phase} ${time.slice(14, 19)}`)
          .join(', ') ?? '',
      );
      const now = await pools.poolReady(pool, 3);
      const kept = machines
        .filter(({ metadata }) => metadata.name !== old.metadata.name)
        .map(({ metadata }) => metadata.name);
      assert.deepEqual(
        kept.filter(name => !now.some(({ metadata }) => metadata.name === name)),
        [],
        'the others stay',
      );
      assert.ok(least >= 3, `${least} nodes could take pods`);
      await assertClean();
      await api.patch(source, { spec: { responses: null } });
    });

    test('a plan replaces all machines, one after the other with a surge, and each verdict is proven', async context => {
      const machines = await pools.poolReady(pool, 3);
      const before = machines.map(({ metadata }) => metadata.name);
      const fewest = minUsable(api, strangers);
      const since = performance.now();
      await create(api, {
        apiVersion: 'drydock.dev/v1alpha1',
        kind: 'MaintenancePlan',
        metadata: { name: 'replace' },
        spec: {
          nodeSelector: {},
          // Nodes that belong to no machine are waited for by name; of these there are none in a
          // fleet that replaces its machines.
          skipNodes: (await nodesWithout(api, await pools.machines())).map(name => ({ name })),
          controlPlane: 'Never',
          concurrency: { maxInFlight: 2, maxUnavailable: 1 },
          work: { replace: { strategy: 'ReplaceWithSurge' } },
        },
      });
      await untilPlan(api, 'replace', 'complete', ({ phase }) => phase === 'Complete', {
        deadlineMs: 400_000,
        everyMs: 200,
      });
      const least = await fewest();
      context.diagnostic(
        `three machines replaced by a plan: ${((performance.now() - since) / 1000).toFixed(1)} s`,
      );
      const after = (await pools.poolReady(pool, 3)).map(({ metadata }) => metadata.name);
      assert.deepEqual(
        after.filter(name => before.includes(name)),
        [],
        'all of them are others',
      );
      assert.ok(least >= 3, `${least} nodes could take pods`);
      const { items } = await api.get<List<Recorded>>(
        '/apis/drydock.dev/v1alpha1/maintenanceplanrecords',
      );
      const verdicts = items.flatMap(({ spec }) =>
        Object.entries(spec.verdicts).map(([node, { verdict }]) => `${node} ${verdict}`),
      );
      assert.deepEqual(
        verdicts.toSorted(),
        machines.map(({ status }) => `${status?.nodeRef?.name} Done`).toSorted(),
      );
      await podsReady(api, shop, 6);
      await assertClean();
      await api.delete(planPath('replace'));
    });

    test('a reboot: drained before, held through it, released when EC2 says that it is over', async () => {
      const machines = await pools.poolReady(pool, 3);
      const machine = machines[2]!;
      const nodeName = machine.status?.nodeRef?.name ?? '';
      const face = (await getNode(api, nodeName)).spec;
      const event = await watcher.announce(machine, 'system-reboot', inSeconds(600));
      await watcher.until(machine, 'Drained');
      assert.equal((await getNode(api, nodeName)).spec.unschedulable, true);
      await ec2.reboot(instanceIn(machine.spec.providerID) ?? '');
      await ec2.completeEvent(event);
      await watcher.scan();
      const done = await watcher.until(machine, 'Succeeded');
      assert.match(done.status?.message ?? '', /rebooted/);
      assert.equal(done.spec.events?.[0]?.state, 'Completed');
      await until(
        'the node to be as it was',
        async () => JSON.stringify((await getNode(api, nodeName)).spec) === JSON.stringify(face),
      );
      assert.equal(
        (await pools.poolReady(pool, 3)).filter(
          ({ metadata }) => metadata.name === machine.metadata.name,
        ).length,
        1,
      );
      await assertClean();
    });

    test('an event that is cancelled in mid-drain: the node is released, and nothing is replaced', async () => {
      const machines = await pools.poolReady(pool, 3);
      // One that has something to lose: a node that has just come back is empty.
      const busy = new Set((await upPods()).map(({ spec }) => spec.nodeName));
      const machine = machines.find(({ status }) => busy.has(status?.nodeRef?.name ?? ''))!;
      await api.patch(`/apis/policy/v1/namespaces/${shop}/poddisruptionbudgets/web`, {
        spec: { maxUnavailable: 0 },
      });
      await budgetAllows(api, shop, 'web', 0);
      const event = await watcher.announce(machine, 'instance-stop');
      await watcher.until(machine, 'Draining');
      await ec2.cancelEvent(event);
      await watcher.scan();
      const done = await watcher.until(machine, 'Cancelled');
      assert.equal(done.spec.maintenancescheduled, false);
      assert.equal(
        (await pools.poolReady(pool, 3)).some(
          ({ metadata }) => metadata.name === machine.metadata.name,
        ),
        true,
      );
      assert.equal(await usableNodes(api, strangers), 3);
      await assertClean();
      await api.patch(`/apis/policy/v1/namespaces/${shop}/poddisruptionbudgets/web`, {
        spec: { maxUnavailable: 1 },
      });
    });

    test('an instance that EC2 has stopped: its event is over, the machine is replaced and no reboot is waited for', async () => {
      const machine = (await pools.poolReady(pool, 3))[1]!;
      await api.patch(`/apis/policy/v1/namespaces/${shop}/poddisruptionbudgets/web`, {
        spec: { maxUnavailable: 0 },
      });
      await budgetAllows(api, shop, 'web', 0);
      const event = await watcher.announce(machine, 'instance-stop');
      await watcher.until(machine, 'Draining');
      await ec2.stopInstances(instanceIn(machine.spec.providerID) ?? '');
      await ec2.completeEvent(event);
      await watcher.scan();
      await api.patch(`/apis/policy/v1/namespaces/${shop}/poddisruptionbudgets/web`, {
        spec: { maxUnavailable: 1 },
      });
      const done = await watcher.until(machine, 'Succeeded', 180);
      assert.equal(done.spec.events?.[0]?.state, 'Completed');
      const now = await pools.poolReady(pool, 3);
      assert.ok(!now.some(({ metadata }) => metadata.name === machine.metadata.name));
      await podsReady(api, shop, 6);
      await assertClean();
    });

    for (const sign of pools?.pauseSigns ?? []) {
      test(`${sign.what} is paused: nothing is done to its node, that is said, and it goes on when the pause is over`, async () => {
        const machine = (await pools.poolReady(pool, 3))[0]!;
        await sign.set(machine);
        await watcher.announce(machine, 'instance-retirement');
        const path = `${maintenances}/mm-${machine.metadata.name}`;
        await until('the pause to be told', async () =>
          sign.says.test((await api.get<MachineMaintenance>(path)).status?.message ?? ''),
        );
        await new Promise(resolve => setTimeout(resolve, 5000));
        const { status } = await watcher.of(machine);
        assert.deepEqual(
          [status?.phase, status?.waitingFor],
          ['Scheduled', 'MachinePaused'],
          status?.message ?? 'no status',
        );
        assert.equal(
          (await getNode(api, machine.status?.nodeRef?.name ?? '')).spec.unschedulable,
          undefined,
        );
        assert.equal(
          (await pools.machines(pool)).filter(
            ({ metadata }) => metadata.name === machine.metadata.name,
          ).length,
          1,
        );
        await sign.take(machine);
        await watcher.until(machine, 'Succeeded', 180);
        await pools.poolReady(pool, 3);
        await assertClean();
      });
    }

    test('an object of the replaced operator, with its five fields alone, is carried out', async () => {
      const old = (await pools.poolReady(pool, 3))[0]!;
      await create(api, {
        apiVersion: 'machinemaintenance.managed.openshift.io/v1alpha1',
        kind: 'MachineMaintenance',
        metadata: { name: `mm-${old.metadata.name}`, namespace: theirs },
        spec: {
          maintenancescheduled: false,
          eventcode: 'instance-stop',
          eventid: 'instance-event-0d59937288b749b32',
          machineid: instanceIn(old.spec.providerID) ?? '',
          machinelink: old.metadata.name,
        },
      });
      const path = `/apis/machinemaintenance.managed.openshift.io/v1alpha1/namespaces/${theirs}/machinemaintenances/mm-${old.metadata.name}`;
      await until(
        'its end',
        async () => (await api.get<MachineMaintenance>(path)).status?.phase === 'Succeeded',
        { deadlineMs: 120_000 },
      );
      assert.equal((await api.get<MachineMaintenance>(path)).spec.maintenancescheduled, true);
      assert.ok(
        !(await pools.poolReady(pool, 3)).some(
          ({ metadata }) => metadata.name === old.metadata.name,
        ),
      );
      await assertClean();
    });

    test('trouble is a condition and an event each, and the rest goes on', async () => {
      const ready = async (): Promise<string> =>
        (await watcher.scan()).conditions?.find(({ type }) => type === 'Ready')?.reason ?? '';
      assert.equal(await ready(), 'Scanned');
      for (const [code, status, reason] of [
        ['AuthFailure', 401, 'CredentialsRefused'],
        ['RequestExpired', 400, 'CredentialsExpired'],
        ['UnauthorizedOperation', 403, 'NotAuthorized'],
        ['RequestTimeTooSkewed', 403, 'ClockSkew'],
      ] as const) {
        await ec2.fault({ action: 'DescribeInstanceStatus', code, status });
        assert.equal(await ready(), reason);
        await ec2.clearFaults();
      }
      await api.patch(source, { spec: { aws: { endpoint: nobody } } });
      assert.equal(await ready(), 'Unreachable');
      await api.patch(source, { spec: { aws: { endpoint: ec2.endpoint } } });
      const ghost: Manifest = {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name: 'ghost' },
        spec: { providerID: 'aws:///us-east-1a/i-0123456789abcdef0' },
      };
      await create(api, ghost);
      const machine = (await pools.poolReady(pool, 3))[0]!;
      await ec2.announce(instanceIn(machine.spec.providerID) ?? '', {
        code: 'instance-retirement',
        notBefore: inTwoWeeks(),
      });
      const status = await waitFor('the stranger to be told', async () => {
        const seen = await watcher.scan();
        return seen.unknownMachines === undefined ? { yet: JSON.stringify(seen) } : { done: seen };
      });
      assert.deepEqual(status.unknownMachines, ['i-0123456789abcdef0']);
      assert.equal(
        status.conditions?.find(({ type }) => type === 'MachinesKnown')?.status,
        'False',
      );
      await watcher.until(machine, 'Succeeded', 180);
      await api.delete('/api/v1/nodes/ghost');
      const { items } = await api.get<
        List<{
          readonly reason: string;
          readonly regarding?: { readonly kind?: string };
          readonly involvedObject?: { readonly kind: string };
        }>
      >('/api/v1/namespaces/default/events');
      const told = new Set(
        items
          .filter(one => one.involvedObject?.kind === 'MachineEventSource')
          .map(({ reason }) => reason),
      );
      for (const reason of [
        'CredentialsRefused',
        'CredentialsExpired',
        'NotAuthorized',
        'ClockSkew',
        'Unreachable',
        'InstanceUnknown',
      ])
        assert.ok(told.has(reason), reason);
    });
  });
}

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Api } from '@drydock/kube-client';
import { at, objects, part, type Stored, strings, text } from '@drydock/kube-sim';
import { isReady } from '@drydock/kube-sim/controllers';
import { type Flavour, machineDefinitions, machineGroups } from '@drydock/kube-sim/machines';
import { budget, shop } from '../testing/drill.ts';
import { machineHarness } from '../testing/machine-harness.ts';

/**
 * Whole stories of machine maintenances on a simulated cloud, in simulated time: what is announced,
 * what is done about it, what is left of it.
 */

const flavours: readonly Flavour[] = ['openshift', 'capi'];
const sources = 'machineeventsources.drydock.dev';
const mm = 'machinemaintenances.machinemaintenance.managed.openshift.io';
const maintenances = 'maintenances.drydock.dev';
const days = 86_400;

type Drill = Awaited<ReturnType<typeof machineHarness>>;

function nameOf({ metadata }: Stored): string {
  return metadata.name;
}

function answerWith(
  drill: Drill,
  responses: readonly {
    readonly kinds: readonly string[];
    readonly strategy?: string;
    readonly approval?: string;
  }[],
) {
  const source = drill.store.get(sources, '', 'cloud');
  assert.ok(source);
  drill.writes.update(sources, {
    ...source,
    spec: {
      aws: { intervalSeconds: 60 },
      responses: responses.map(one => ({ ...one, kinds: [...one.kinds] })),
    },
  });
}

/** A workload that notices when its nodes go. */
async function workload(drill: Drill): Promise<void> {
  drill.make('deployments.apps', shop('Deployment', 'web', { replicas: 6 }));
  drill.make('poddisruptionbudgets.policy', budget('web', { maxUnavailable: 1 }));
  await drill.clock.advance(30_000);
}

function webPods(drill: Drill): readonly Stored[] {
  return drill.store
    .list('pods', 'shop')
    .filter(pod => isReady(pod) && pod.metadata.deletionTimestamp === undefined);
}

/** Nodes that could take a pod: they are Ready and nobody holds them. */
function usable(drill: Drill): number {
  return drill.machines().filter(machine => {
    const node = drill.store.get('nodes', '', text(machine, 'status', 'nodeRef', 'name'));
    const isUp = objects(at(node, 'status', 'conditions')).some(
      ({ type, status }) => type === 'Ready' && status === 'True',
    );
    return isUp && at(node, 'spec', 'unschedulable') !== true;
  }).length;
}

/** Nothing of Drydock's is left on machines, sets and nodes. */
function assertClean(drill: Drill): void {
  for (const object of [...drill.machines(), drill.set()].filter(one => one !== undefined)) {
    assert.deepEqual(Object.keys(strings(object.metadata.annotations)), [], nameOf(object));
    assert.equal(at(object, 'spec', 'lifecycleHooks', 'preDrain') ?? undefined, undefined);
  }
  for (const node of drill.store.list('nodes'))
    assert.notEqual(at(node, 'spec', 'unschedulable'), true, nameOf(node));
  assert.deepEqual(drill.store.list(maintenances).map(nameOf), []);
}

for (const flavour of flavours) {
  describe(`on ${flavour}`, () => {
    test('a machine that is to be retired is drained within its budgets and replaced, and nothing is left', async () => {
      const drill = await machineHarness({ flavour, replicas: 3 });
      await workload(drill);
      const stop = drill.start();
      const machine = drill.machines()[0]!;
      let fewest = 6;
      drill.store.subscribe(() => {
        fewest = Math.min(fewest, webPods(drill).length);
      }, 'pods');
      drill.cloud.announce(drill.instanceOf(machine), { kind: 'retirement', inSeconds: 14 * days });
      await drill.until('the end', () => drill.phaseOf(nameOf(machine)) === 'Succeeded');
      assert.deepEqual(drill.historyOf(nameOf(machine)), [
        'Draining Begun',
        'Draining Drain',
        'Replacing MachineDeletion',
        'Replacing Replacement',
        'Releasing Ending',
        'Succeeded Succeeded',
      ]);
      assert.equal(drill.machines().length, 3);
      assert.ok(!drill.machines().some(one => nameOf(one) === nameOf(machine)));
      assert.equal(at(drill.maintenanceOf(nameOf(machine)), 'spec', 'maintenancescheduled'), true);
      assert.ok(fewest >= 5, `${fewest} of 6 pods were up`);
      assertClean(drill);
      // The object is cleaned up after a while, and the event that is gone does not bring it back.
      const object = drill.maintenanceOf(nameOf(machine))!;
      drill.writes.update(mm, { ...object, spec: { ...part(object, 'spec'), keepSeconds: 600 } });
      await drill.clock.advance(500_000);
      assert.ok(drill.maintenanceOf(nameOf(machine)));
      await drill.clock.advance(220_000);
      assert.equal(drill.maintenanceOf(nameOf(machine)), undefined);
      await stop();
      drill.end();
    });

    test('a reboot: out shortly before, back when the machine is', async () => {
      const drill = await machineHarness({ flavour, replicas: 3 });
      await workload(drill);
      const stop = drill.start();
      const machine = drill.machines()[0]!;
      drill.cloud.announce(drill.instanceOf(machine), { kind: 'reboot', inSeconds: 7200 });
      await drill.clock.advance(5300_000);
      assert.equal(drill.phaseOf(nameOf(machine)), 'Scheduled');
      assert.equal(usable(drill), 3);
      await drill.clock.advance(400_000);
      assert.equal(drill.phaseOf(nameOf(machine)), 'Drained');
      assert.equal(usable(drill), 2);
      await drill.until('the end', () => drill.phaseOf(nameOf(machine)) === 'Succeeded');
      assert.match(
        text(drill.maintenanceOf(nameOf(machine)), 'status', 'message'),
        /the node is back, rebooted/,
      );
      assert.equal(drill.machines().length, 3);
      assert.ok(
        drill.machines().some(one => nameOf(one) === nameOf(machine)),
        'it is the same machine',
      );
      assertClean(drill);
      await stop();
      drill.end();
    });

    test('a cancelled event: what has begun is released, and a new one begins anew', async () => {
      const drill = await machineHarness({ flavour, replicas: 3 });
      await workload(drill);
      answerWith(drill, [{ kinds: ['retirement'], strategy: 'ReplaceWithSurge' }]);
      const stop = drill.start();
      const machine = drill.machines()[0]!;
      const event = drill.cloud.announce(drill.instanceOf(machine), {
        kind: 'retirement',
        inSeconds: 14 * days,
      });
      await drill.until(
        'the surge',
        () => drill.phaseOf(nameOf(machine)) === 'Surging' && drill.machines().length === 4,
      );
      drill.cloud.cancel(event);
      if (flavour === 'capi') {
        await drill.until('the end', () => drill.phaseOf(nameOf(machine)) === 'Cancelled');
        await drill.clock.advance(180_000);
        assert.equal(drill.machines().length, 3);
        assert.ok(
          drill.machines().some(one => nameOf(one) === nameOf(machine)),
          'the machine stays, the one that was added goes',
        );
        assert.equal(at(drill.set(), 'spec', 'replicas'), 3);
      } else {
        // OpenShift's way to another machine is the deletion of the old one, which cannot be taken
        // back.
        await drill.until('the end', () => drill.phaseOf(nameOf(machine)) === 'Succeeded');
        assert.equal(drill.machines().length, 3);
      }
      assertClean(drill);
      await stop();
      drill.end();
    });

    test('a machine that its cloud stops before its node is empty is replaced all the same, whoever had to agree', async () => {
      for (const approval of [undefined, 'Required'] as const) {
        const drill = await machineHarness({ flavour, replicas: 3 });
        answerWith(drill, [{ kinds: ['stop'], ...(approval && { approval }) }]);
        await workload(drill);
        drill.make('poddisruptionbudgets.policy', {
          ...budget('web', { maxUnavailable: 0 }),
          metadata: { name: 'never', namespace: 'shop' },
        });
        const stop = drill.start();
        const machine = drill.machines()[0]!;
        drill.cloud.announce(drill.instanceOf(machine), { kind: 'stop', inSeconds: 600 });
        await drill.clock.advance(500_000);
        assert.equal(
          drill.phaseOf(nameOf(machine)),
          approval === undefined ? 'Draining' : 'AwaitingApproval',
        );
        await drill.clock.advance(300_000);
        if (approval !== undefined) {
          assert.equal(drill.phaseOf(nameOf(machine)), 'AwaitingApproval', 'nobody calls it off');
          const object = drill.maintenanceOf(nameOf(machine))!;
          drill.writes.update(mm, { ...object, spec: { ...part(object, 'spec'), approved: true } });
        }
        // Its pods are nobody's to end, and its machine API waits for them: whoever deletes them by
        // force is not Drydock.
        await drill.until('its deletion', () =>
          drill
            .machines()
            .every(
              one =>
                nameOf(one) !== nameOf(machine) || one.metadata.deletionTimestamp !== undefined,
            ),
        );
        await stop();
        drill.end();
      }
    });

    test('a machine that is paused is left alone, and goes when it is not any more', async () => {
      const drill = await machineHarness({ flavour, replicas: 3 });
      await workload(drill);
      const stop = drill.start();
      const machine = drill.machines()[0]!;
      const paused = (value: string | undefined): void => {
        const now = drill.machines().find(one => nameOf(one) === nameOf(machine))!;
        const { 'cluster.x-k8s.io/paused': _before, ...others } = strings(now.metadata.annotations);
        const annotations = {
          ...others,
          ...(value !== undefined && { 'cluster.x-k8s.io/paused': value }),
        };
        drill.writes.update(`machines.${machineGroups[flavour].group}`, {
          ...now,
          metadata: { ...now.metadata, annotations },
        });
      };
      paused('');
      drill.cloud.announce(drill.instanceOf(machine), { kind: 'retirement', inSeconds: 14 * days });
      await drill.clock.advance(600_000);
      assert.equal(drill.phaseOf(nameOf(machine)), 'Scheduled');
      assert.equal(
        at(drill.maintenanceOf(nameOf(machine)), 'status', 'waitingFor'),
        'MachinePaused',
      );
      assert.equal(usable(drill), 3);
      paused(undefined);
      await drill.until('the end', () => drill.phaseOf(nameOf(machine)) === 'Succeeded');
      assertClean(drill);
      await stop();
      drill.end();
    });

    test('approval: nothing happens before somebody agrees', async () => {
      const drill = await machineHarness({ flavour, replicas: 3 });
      answerWith(drill, [{ kinds: ['retirement'], approval: 'Required' }]);
      const stop = drill.start();
      const machine = drill.machines()[0]!;
      drill.cloud.announce(drill.instanceOf(machine), { kind: 'retirement', inSeconds: 14 * days });
      await drill.clock.advance(600_000);
      assert.equal(drill.phaseOf(nameOf(machine)), 'AwaitingApproval');
      assert.equal(usable(drill), 3);
      const object = drill.maintenanceOf(nameOf(machine))!;
      drill.writes.update(mm, {
        ...object,
        metadata: { ...object.metadata, annotations: { 'drydock.dev/approved': 'true' } },
      });
      await drill.until('the end', () => drill.phaseOf(nameOf(machine)) === 'Succeeded');
      await stop();
      drill.end();
    });

    test('several machines of one set go one after the other, the earliest deadline first', async () => {
      const drill = await machineHarness({ flavour, replicas: 4 });
      await workload(drill);
      const stop = drill.start();
      const [one, two, three] = drill.machines() as [Stored, Stored, Stored];
      let least = 4;
      drill.store.subscribe(() => {
        least = Math.min(least, usable(drill));
      });
      for (const [machine, inDays] of [
        [one, 3],
        [two, 1],
        [three, 2],
      ] as const) {
        drill.cloud.announce(drill.instanceOf(machine), {
          kind: 'retirement',
          inSeconds: inDays * days,
        });
      }
      await drill.until(
        'all to be replaced',
        () => [one, two, three].every(machine => drill.phaseOf(nameOf(machine)) === 'Succeeded'),
        7200,
      );
      const ends = [one, two, three].map(machine =>
        text(drill.maintenanceOf(nameOf(machine)), 'status', 'completionTime'),
      );
      assert.ok(ends[1]! < ends[2]! && ends[2]! < ends[0]!, ends.join(' '));
      assert.ok(least >= 3, `${least} of 4 machines were usable`);
      assertClean(drill);
      await stop();
      drill.end();
    });

    test('a machine that the cloud takes within a minute is drained at once, in time, and replaced', async () => {
      const drill = await machineHarness({ flavour, replicas: 3 });
      await workload(drill);
      drill.make('maintenancewindows.drydock.dev', {
        metadata: { name: 'never' },
        spec: { freezes: [{ from: '2025-01-01', to: '2030-01-01' }] },
      });
      const stop = drill.start();
      const machine = drill.machines()[0]!;
      drill.cloud.announce(drill.instanceOf(machine), { kind: 'preemption', inSeconds: 120 });
      await drill.until('the drain', () => drill.store.list(maintenances).length === 1, 61);
      const grace = at(drill.store.list(maintenances)[0], 'spec', 'drain', 'maxGracePeriodSeconds');
      assert.ok(
        typeof grace === 'number' && grace > 0 && grace <= 110,
        `${JSON.stringify(grace)} s`,
      );
      await drill.until('the end', () => drill.phaseOf(nameOf(machine)) === 'Succeeded');
      assert.equal(drill.machines().length, 3);
      assertClean(drill);
      await stop();
      drill.end();
    });
  });
}

test('a Machine without providerID is told, and the rest goes on', async () => {
  const drill = await machineHarness({ flavour: 'capi', replicas: 3 });
  for (const definition of machineDefinitions('openshift'))
    drill.make('customresourcedefinitions.apiextensions.k8s.io', definition);
  drill.make('machines.machine.openshift.io', {
    metadata: { name: 'silent', namespace: 'machines' },
    spec: {},
  });
  const stop = drill.start();
  const machine = drill.machines()[0]!;
  drill.cloud.announce(drill.instanceOf(machine), { kind: 'retirement', inSeconds: 14 * days });
  await drill.until('the end', () => drill.phaseOf(nameOf(machine)) === 'Succeeded');
  const source = drill.store.get(sources, '', 'cloud');
  assert.deepEqual(at(source, 'status', 'withoutProviderID'), ['machines/silent']);
  const known = objects(at(source, 'status', 'conditions')).find(
    ({ type }) => type === 'MachinesKnown',
  );
  assert.deepEqual(
    [known?.['status'], known?.['reason'], known?.['message']],
    ['False', 'NoProviderID', 'Machine machines/silent has no providerID'],
  );
  await stop();
  drill.end();
});

test('what the API server refuses is told where people look, and tried again', async () => {
  let refuses = true;
  const between = (api: Api): Api => ({
    call: async (call, signal) =>
      refuses && call.method === 'POST' && call.path.endsWith('/maintenances')
        ? { status: 403, headers: {}, body: { kind: 'Status', message: 'the quorum forbids it' } }
        : api.call(call, signal),
  });
  const drill = await machineHarness({ flavour: 'capi', replicas: 3, between });
  const stop = drill.start();
  const machine = drill.machines()[0]!;
  drill.cloud.announce(drill.instanceOf(machine), { kind: 'retirement', inSeconds: 14 * days });
  const message = (): string => text(drill.maintenanceOf(nameOf(machine)), 'status', 'message');
  await drill.until('the refusal', () =>
    /refused so far: the quorum forbids it \(HTTP 403\)/.test(message()),
  );
  refuses = false;
  await drill.until('the end', () => drill.phaseOf(nameOf(machine)) === 'Succeeded');
  assert.doesNotMatch(message(), /refused/);
  await stop();
  drill.end();
});

for (const atEnd of ['Pause', 'Release'] as const) {
  test(`a drain that is under way when its window closes: ${atEnd}, and on in the next opening`, async () => {
    const drill = await machineHarness({ flavour: 'capi', replicas: 3 });
    await workload(drill);
    const blocked = drill.store.get('poddisruptionbudgets.policy', 'shop', 'web')!;
    drill.writes.update('poddisruptionbudgets.policy', {
      ...blocked,
      spec: { ...part(blocked, 'spec'), maxUnavailable: 0 },
    });
    const at0 = drill.clock.now().epochMilliseconds;
    const moment = (seconds: number): string => new Date(at0 + seconds * 1000).toISOString();
    drill.make('maintenancewindows.drydock.dev', {
      metadata: { name: 'w' },
      spec: {
        atEnd,
        expectedDuration: '5m',
        openings: [
          { from: moment(0), to: moment(600) },
          { from: moment(3600), to: moment(7200) },
        ],
      },
    });
    const stop = drill.start();
    const machine = drill
      .machines()
      .find(({ metadata }) =>
        webPods(drill).some(pod => text(pod, 'spec', 'nodeName') === metadata.name),
      )!;
    drill.cloud.announce(drill.instanceOf(machine), { kind: 'retirement', inSeconds: 14 * days });
    await drill.until('the drain', () => drill.phaseOf(nameOf(machine)) === 'Draining', 300);
    await drill.until(
      'the end of the window',
      () =>
        text(drill.maintenanceOf(nameOf(machine)), 'status', 'waitingFor') ===
        (atEnd === 'Pause' ? 'WindowClosed' : 'MaintenanceWindow'),
      900,
    );
    await drill.clock.advance(60_000);
    assert.equal(usable(drill), atEnd === 'Pause' ? 2 : 3);
    const [child] = drill.store.list(maintenances);
    assert.equal(text(child, 'spec', 'level'), atEnd === 'Pause' ? 'Cordon' : '');
    const relaxed = drill.store.get('poddisruptionbudgets.policy', 'shop', 'web')!;
    drill.writes.update('poddisruptionbudgets.policy', {
      ...relaxed,
      spec: { ...part(relaxed, 'spec'), maxUnavailable: 1 },
    });
    await drill.clock.advance(600_000);
    assert.equal(
      drill.machines().some(one => nameOf(one) === nameOf(machine)),
      true,
      'nothing happens while it is closed',
    );
    await drill.until('the end', () => drill.phaseOf(nameOf(machine)) === 'Succeeded', 4000);
    assertClean(drill);
    await stop();
    drill.end();
  });
}

describe('ReplaceWithSurge, with the operator killed at every call', () => {
  const play = async (flavour: Flavour, killAt: number, effect: 'done' | 'lost') => {
    let calls = 0;
    let dead = false;
    let kill = (): void => {};
    const between = (api: Api): Api => ({
      call: async (call, signal) => {
        if (dead) throw new Error('the process is dead');
        if (call.method === 'GET' || /\/(events|evict)/.test(call.path))
          return api.call(call, signal);
        calls += 1;
        const isLast = calls === killAt;
        if (isLast && effect === 'lost') {
          dead = true;
          kill();
          throw new Error('the process is dead');
        }
        const answer = await api.call(call, signal);
        if (isLast) {
          dead = true;
          kill();
          throw new Error('the process is dead');
        }
        return answer;
      },
    });
    const drill = await machineHarness({ flavour, replicas: 3, between });
    await workload(drill);
    answerWith(drill, [{ kinds: ['retirement'], strategy: 'ReplaceWithSurge' }]);
    const machine = drill.machines()[0]!;
    let least = 3;
    let most = 3;
    drill.store.subscribe(() => {
      least = Math.min(least, usable(drill));
      most = Math.max(most, drill.machines().length);
    });
    const stop = drill.start();
    const killed = new Promise<void>(resolve => {
      kill = resolve;
    });
    drill.cloud.announce(drill.instanceOf(machine), { kind: 'retirement', inSeconds: 14 * days });
    const isOver = (): boolean => drill.phaseOf(nameOf(machine)) === 'Succeeded';
    await drill.until('the kill', () => dead || isOver());
    void killed;
    const wasKilled = dead;
    await stop();
    await drill.clock.advance(30_000);
    // Another process, which knows nothing of the first.
    const again = drill.start(drill.ports);
    await drill.until(`the end after call ${killAt} (${effect})`, isOver);
    await drill.clock.advance(120_000);
    assert.equal(drill.machines().length, 3, `call ${killAt}, ${effect}`);
    assert.equal(at(drill.set(), 'spec', 'replicas'), 3);
    assert.ok(
      !drill.machines().some(one => nameOf(one) === nameOf(machine)),
      'the marked machine is the one that went',
    );
    assert.equal(least, 3, `call ${killAt}, ${effect}: never a machine too few`);
    assert.ok(most <= 4, `call ${killAt}, ${effect}: ${most} machines`);
    assertClean(drill);
    await again();
    drill.end();
    return wasKilled;
  };

  for (const flavour of flavours) {
    for (const effect of ['done', 'lost'] as const) {
      test(`on ${flavour}, ${effect === 'done' ? 'after it took effect' : 'before it took effect'}`, async () => {
        let at = 1;
        while (await play(flavour, at, effect)) at += 1;
        assert.ok(at > 12, `${at} calls`);
      });
    }
  }
});

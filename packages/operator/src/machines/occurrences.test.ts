import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { type EventKind, eventKinds } from '@drydock/core';
import type { MachineEvent } from '@drydock/core/machine';
import { isOver, type MachinePhase } from '@drydock/core/machine';
import { announced, type Furniture, machineBench, paths } from '../testing/machine-bench.ts';

/**
 * An id is no occurrence: what was over and comes again under the same id is dealt with again, and
 * a copy that was late is not.
 */

const request = paths.request('mm-n1');
const now = Temporal.Instant.from('2026-01-01T00:00:00Z');
/** The next day: what lies between has no say. */
const day = 3600;

/** A node without a Machine, as instance groups of clouds make them. */
function furnished(furniture: Furniture): void {
  furniture.machineApi();
  furniture.node('n1', 'gce://p/z/i-1');
}

type Bench = ReturnType<typeof machineBench>;

function phase({ part }: Bench): unknown {
  return part(request, 'status')['phase'];
}
function eventsOf({ part }: Bench): readonly JsonObject[] {
  return part(request, 'spec')['events'] as unknown as readonly JsonObject[];
}
function drains({ cluster }: Bench): number {
  return cluster.written.filter(one => one.startsWith('POST') && one.includes('/maintenances'))
    .length;
}

function notice(...events: readonly Partial<MachineEvent>[]): JsonObject {
  return {
    metadata: { name: 'n1', uid: 'notice' },
    spec: {
      provider: 'gcp',
      instance: 'i-1',
      observedTime: now.toString(),
      events: events.map(event => ({
        provider: 'gcp',
        instance: 'i-1',
        state: 'Active',
        source: 'agent',
        ...event,
      })) as unknown as JsonObject[],
    },
  };
}

describe('what an agent tells again under the same id is drained for again', () => {
  const repeated: readonly (readonly [string, Partial<MachineEvent>])[] = [
    ['preempted', { id: 'preempted', kind: 'preemption' }],
    [
      'maintenance-event',
      {
        id: 'maintenance-event',
        kind: 'termination',
        state: 'Active',
        code: 'TERMINATE_ON_HOST_MAINTENANCE',
      },
    ],
    ['upcoming-maintenance', { id: 'upcoming-maintenance', kind: 'maintenance' }],
    ['spot-interruption', { id: 'spot-interruption', kind: 'preemption' }],
    ['taint/x', { id: 'taint/x', kind: 'stop' }],
  ];
  for (const [name, event] of repeated)
    test(`${name}, a day later`, async () => {
      const bench = machineBench((furniture, cluster) => {
        furnished(furniture);
        cluster.put(paths.notice('n1'), notice(event));
      });
      await bench.wait(5);
      assert.equal(drains(bench), 1);
      for (let occurrence = 2; occurrence <= 3; occurrence += 1) {
        bench.cluster.put(paths.notice('n1'), notice());
        await bench.wait(120);
        assert.equal(phase(bench), 'Succeeded', `before ${occurrence}`);
        await bench.wait(day);
        bench.cluster.put(paths.notice('n1'), notice(event));
        await bench.wait(5);
        assert.equal(drains(bench), occurrence, String(phase(bench)));
        assert.equal(eventsOf(bench)[0]?.['occurrence'], occurrence);
      }
      await bench.end();
    });

  test('and while it is told on, it is the same one: nothing begins anew', async () => {
    const event = { id: 'preempted', kind: 'preemption' } as const;
    const bench = machineBench((furniture, cluster) => {
      furnished(furniture);
      cluster.put(paths.notice('n1'), notice(event));
    });
    await bench.wait(5);
    bench.cluster.put(
      paths.notice('n1'),
      notice({ ...event, deadline: now.add({ seconds: 300 }) }),
    );
    await bench.wait(5);
    assert.deepEqual(
      [drains(bench), eventsOf(bench).map(({ occurrence }) => occurrence)],
      [1, [undefined]],
    );
    await bench.end();
  });
});

describe('what a sender tells', () => {
  const sent = (kind: EventKind, state: MachineEvent['state'], minute?: number): MachineEvent =>
    announced('i-1', {
      id: 'rack-7',
      provider: 'https://dc.example/racks',
      source: 'cloudevents',
      kind,
      state,
      ...(minute !== undefined && { announcedAt: now.add({ minutes: minute }) }),
    });
  /** Whether it is over, the state of its event, and how often its node was drained. */
  const after = async (
    ...events: readonly MachineEvent[]
  ): Promise<readonly [boolean, unknown, number]> => {
    const bench = machineBench(furnished);
    await bench.wait(1);
    for (const event of events) {
      assert.equal(await bench.manager.receive([event]), 'stored');
      await bench.wait(120);
    }
    const [event] = eventsOf(bench);
    const found = [isOver(phase(bench) as MachinePhase), event?.['state'], drains(bench)] as const;
    await bench.end();
    return found;
  };
  const acting = eventKinds.filter(kind => kind !== 'freeze' && kind !== 'rebalance');

  for (const kind of acting)
    test(`${kind}: postponed and announced again is followed, and a late copy of the first announcement is not`, async () => {
      const [first, postponed, anew] = [
        sent(kind, 'Scheduled', 0),
        sent(kind, 'Cancelled', 1),
        sent(kind, 'Active', 2),
      ];
      const once = await after(first, postponed);
      assert.deepEqual(once.slice(0, 2), [true, 'Cancelled']);
      assert.deepEqual(await after(first, postponed, first), once, 'the copy');
      const drained = once[2] + 1;
      assert.deepEqual(await after(first, postponed, anew), [false, 'Active', drained]);
      assert.deepEqual(
        await after(first, postponed, anew, first, postponed),
        [false, 'Active', drained],
        'both are older',
      );
      assert.deepEqual(
        await after(postponed, first),
        [true, 'Cancelled', 0],
        'its announcement comes after it',
      );
    });

  test('what does not say when it was written counts in the order of its arrival', async () => {
    const [first, postponed] = [sent('reboot', 'Active'), sent('reboot', 'Cancelled')];
    assert.deepEqual((await after(first, postponed)).slice(0, 2), [true, 'Cancelled']);
    assert.deepEqual(await after(first, postponed, first), [false, 'Active', 2]);
  });

  test('times of two senders are never compared', async () => {
    const early = { ...sent('reboot', 'Active', -600), provider: 'https://other.example' };
    const bench = machineBench(furnished);
    await bench.wait(1);
    for (const event of [sent('reboot', 'Cancelled', 5), early]) {
      await bench.manager.receive([event]);
      await bench.wait(5);
    }
    assert.deepEqual([phase(bench), eventsOf(bench).length], ['Drained', 2]);
    await bench.end();
  });
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { part } from '@drydock/kube-sim';
import { MemoryStore } from '@drydock/kube-sim/store';
import { type Judgement, judge } from './audit/judgement.ts';
import { play } from './play.ts';
import { generate } from './story/generate.ts';
import { type CallFaults, maintenanceResources, type Story } from './story/story.ts';
import { warps } from './warps.ts';

/**
 * The audit itself: an operator that breaks an invariant is found out, and nothing else is held
 * against it.
 */

const noFaults: CallFaults = { refused: 0, conflict: 0, lost: 0, unanswered: 0, slow: 0 };

/** Without anything that would excuse it. */
function calm(seed: number): Story {
  return {
    ...generate(seed),
    deeds: generate(seed).deeds.filter(({ kind }) => kind === 'machineOfOthers' || kind === 'halt'),
    ends: [],
    outages: [],
    clockSteps: [],
    windows: [],
    calls: noFaults,
    watches: { lagMs: 0, cutEveryMs: 0, expired: 0, stale: 0, hangs: false },
  };
}

/** Not every story has what a fault needs; one of so many has. */
const tries = 120;

/** Stories in which it can be seen. */
const fits: Readonly<Record<string, (story: Story) => boolean>> = {
  machines: ({ machines }) => machines !== undefined,
  VMs: ({ vms }) => vms.length > 2,
  plans: ({ plans }) => plans.length > 0,
  responders: ({ responders }) => responders?.hasControllers === true,
};

async function found(name: keyof typeof warps): Promise<readonly string[]> {
  const {
    invariant,
    says = /./,
    warp,
  }: (typeof warps)[typeof name] & { readonly says?: RegExp } = warps[name];
  const others: string[] = [];
  for (let seed = 1; seed <= tries; seed += 1) {
    const story = calm(seed);
    if (fits[invariant]?.(story) === false) continue;
    const { violation } = await play(story, warp);
    if (violation?.invariant === invariant && says.test(violation.message)) return [];
    if (violation !== undefined)
      others.push(`seed ${seed}: ${violation.invariant}: ${violation.message.slice(0, 300)}`);
  }
  return [`not found in ${tries} stories`, ...others];
}

describe('an operator that', () => {
  for (const name of Object.keys(warps) as readonly (keyof typeof warps)[]) {
    test(`${name} breaks "${warps[name].invariant}", and is found out`, async () =>
      assert.deepEqual(await found(name), []));
  }

  test('goes on without its lease breaks "fence", and is found out', async () => {
    const story = {
      ...calm(3),
      ends: [{ how: 'fenced', when: { atMs: 5000 }, pauseMs: 1000, lingersMs: 60_000 }],
    } as const;
    const { violation } = await play(story, (api, world) => ({
      call: async (call, signal) => {
        if (call.method === 'GET') return api.call(call, signal);
        await world.clock.sleep(10_000);
        return api.call(call, signal);
      },
    }));
    assert.equal(violation?.invariant, 'fence');
  });
});

test('the real one is not', async () => {
  for (let seed = 1; seed <= 10; seed += 1)
    assert.equal((await play(calm(seed))).violation, undefined);
});

describe('a pod that is terminating is waited for as long past its deletionTimestamp as the policy allows, as kubectl counts', () => {
  // Seconds past the deletionTimestamp; the policy's limit.
  const rows: readonly (readonly [past: number, wait: number, judgement: Judgement])[] = [
    [-3600, 5, 'goes'],
    [0, 5, 'goes'],
    [5.999, 5, 'goes'],
    [6, 5, 'stays'],
    [3600, 5, 'stays'],
    [1e6, 0, 'goes'],
  ];
  const deletedMs = Date.parse('2026-01-01T00:00:00Z');
  for (const [past, skipWaitForDeleteTimeoutSeconds, judgement] of rows)
    for (const deletionGracePeriodSeconds of [0, 30, 7200])
      test(`${past} s past it, after ${deletionGracePeriodSeconds} s of grace, with ${skipWaitForDeleteTimeoutSeconds}: ${judgement}`, () => {
        const metadata = {
          name: 'a',
          uid: 'a',
          resourceVersion: '1',
          creationTimestamp: '2025-01-01T00:00:00Z',
        };
        const pod = {
          metadata: {
            ...metadata,
            deletionTimestamp: '2026-01-01T00:00:00Z',
            deletionGracePeriodSeconds,
          },
        };
        const object = { metadata, spec: { drain: { skipWaitForDeleteTimeoutSeconds } } };
        const version = { resource: maintenanceResources.Maintenance, object };
        assert.equal(
          judge(pod, version, new MemoryStore({ indexes: {} }), deletedMs + past * 1000),
          judgement,
        );
      });
});

describe('the real one is not, where a rung deletes a pod shortly before the policy no longer waits for it, and', () => {
  const never: Story = { ...calm(439689), faultyMs: 400_000 };
  /**
   * Changes when m0 deletes the pod of n3 that never ends; m0 waits for it until two minutes after
   * its own start.
   */
  const deletingAfter = (afterSeconds: number): Story['maintenances'] =>
    never.maintenances.map(one => {
      const drain = {
        ...part(one.spec, 'drain'),
        ladder: [{ afterSeconds, action: 'Delete', gracePeriodSeconds: 2 }],
      };
      return one.name === 'm0' ? { ...one, spec: { ...one.spec, drain } } : one;
    });
  const rows: readonly (readonly [name: string, story: Story, onItsWayMs: number])[] = [
    ['the call is there at once', never, 0],
    ['the call is on its way for seconds', { ...never, maintenances: deletingAfter(119) }, 3000],
    [
      'its clock is minutes behind',
      { ...never, clockSteps: [{ atMs: 60_000, byMs: -120_000 }] },
      0,
    ],
  ];
  for (const [name, story, onItsWayMs] of rows) {
    test(name, async () => {
      let deletions = 0;
      const { violation } = await play(story, (api, world) => ({
        call: async (call, signal) => {
          const isDeletion = call.method === 'DELETE' && call.path.includes('/pods/w2-');
          if (isDeletion) await world.clock.sleep(onItsWayMs);
          if (isDeletion) deletions += 1;
          return api.call(call, signal);
        },
      }));
      assert.equal(violation, undefined);
      assert.ok(deletions > 0);
    });
  }
});

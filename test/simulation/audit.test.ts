import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { play } from './play.ts';
import { generate } from './story/generate.ts';
import type { CallFaults, Story } from './story/story.ts';
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

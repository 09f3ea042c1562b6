import { noMeter, WorkQueue } from '@drydock/operator';
import { PanicHandler, silentLog, systemClock } from '@drydock/utils';

/**
 * How the time to work off a queue grows with the keys in it, in one run: twenty times the keys are
 * to take about twenty times as long.
 */

async function workOff(keys: number): Promise<number> {
  const all = Promise.withResolvers<void>();
  let left = keys;
  const queue = new WorkQueue({
    clock: systemClock,
    defects: new PanicHandler({ log: silentLog, meter: noMeter }),
    controller: 'Node',
    atOnce: 16,
    rank: key => key.length,
    work: async () => {
      left -= 1;
      if (left === 0) all.resolve();
    },
  });
  const began = performance.now();
  for (let at = 0; at < keys; at += 1) queue.add(`node-${at}`);
  await all.promise;
  return performance.now() - began;
}

const rounds = 25;

function middle(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;
}

/**
 * The same number of keys in twenty queues, one after the other, and in one: by turns, for others
 * use this machine too.
 */
async function compare(): Promise<{
  readonly apart: number;
  readonly together: number;
  readonly ratio: number;
}> {
  const seen: { readonly apart: number; readonly together: number }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    let apart = 0;
    for (let queue = 0; queue < 20; queue += 1) apart += await workOff(1000);
    seen.push({ apart, together: await workOff(20_000) });
  }
  return {
    apart: middle(seen.map(one => one.apart)),
    together: middle(seen.map(one => one.together)),
    ratio: middle(seen.map(one => one.together / one.apart)),
  };
}

await compare();
const { apart, together, ratio } = await compare();
console.log(
  `1,000 keys twenty times over: ${apart.toFixed(0)} ms; 20,000 keys: ${together.toFixed(0)} ms, ${ratio.toFixed(2)} times as long`,
);

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { play } from './play.ts';
import { told } from './report.ts';
import { generate } from './story/generate.ts';

/**
 * Stories of the first seeds: on two cores together with more.test.ts, which plays the next ones.
 */

test('the same seed is the same story, call by call; another seed is another', async () => {
  const [first, again, other] = [
    await play(generate(7)),
    await play(generate(7)),
    await play(generate(8)),
  ];
  assert.equal(again.digest, first.digest);
  assert.notEqual(other.digest, first.digest);
});

test('500 maintenances while everything goes wrong', async () => {
  let maintenances = 0;
  for (let seed = 1; maintenances < 500; seed += 1) {
    const outcome = await play(generate(seed));
    assert.equal(outcome.violation, undefined, told(seed, outcome));
    maintenances += outcome.maintenances;
  }
});

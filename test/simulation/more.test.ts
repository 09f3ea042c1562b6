import assert from 'node:assert/strict';
import { test } from 'node:test';
import { play } from './play.ts';
import { told } from './report.ts';
import { generate } from './story/generate.ts';

test('500 more maintenances while everything goes wrong', async () => {
  let maintenances = 0;
  for (let seed = 101; maintenances < 500; seed += 1) {
    const outcome = await play(generate(seed));
    assert.equal(outcome.violation, undefined, told(seed, outcome));
    maintenances += outcome.maintenances;
  }
});

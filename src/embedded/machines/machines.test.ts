import assert from 'node:assert/strict';
import { test } from 'node:test';
import { machineDrill } from '../testing/machine-drill.ts';

for (const flavour of ['openshift', 'capi'] as const) {
  test(`${flavour}: a machine that is to be retired is replaced`, async () => {
    const drill = await machineDrill({ flavour, replicas: 3 });
    const stop = drill.start();
    const [first] = drill.machines();
    assert.ok(first);
    const { name } = first.metadata;
    drill.cloud.announce(drill.instanceOf(first), { kind: 'retirement', inSeconds: 14 * 86_400 });
    await drill.until('the end', () => drill.phaseOf(name) === 'Succeeded');
    console.log(drill.historyOf(name));
    assert.equal(drill.machines().length, 3);
    assert.ok(!drill.machines().some(({ metadata }) => metadata.name === name));
    await stop();
    drill.end();
  });
}

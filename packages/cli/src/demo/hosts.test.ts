import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, objects, text } from '@drydock/kube-sim';
import { machineHarness } from '@drydock/operator/testing';
import { hostsOf, startAgents } from './demo-objects.ts';

const notices = 'nodenotices.drydock.dev';

/** Three machines, with an agent on each of their nodes and the operator at work. */
async function furnished() {
  const drill = await machineHarness({ flavour: 'openshift', replicas: 3 });
  const endAgents = startAgents(drill);
  const stop = drill.start();
  await drill.clock.advance(1000);
  const name = drill.machines()[0]?.metadata.name ?? '';
  const end = async (): Promise<void> => {
    endAgents();
    await stop();
    drill.end();
    drill.cloud.stop();
  };
  return { drill, hosts: hostsOf(drill), name, end };
}

test('a retirement is noticed at once, one thing is announced at a time, and the notice goes with the node', async () => {
  const { drill, hosts, name, end } = await furnished();
  assert.equal(hosts.announce('nobody', 'reboot'), 'nobody is no machine of the simulated cloud');
  assert.equal(hosts.announce(name, 'retirement'), undefined);
  assert.equal(hosts.announce(name, 'reboot'), `something is announced for ${name} already`);
  assert.deepEqual(
    drill.store
      .list(notices)
      .map(one => [
        one.metadata.name,
        objects(at(one, 'spec', 'events')).map(event => text(event, 'code')),
      ]),
    [[name, ['instance-retirement']]],
  );
  await drill.clock.advance(1000);
  // There are no pods to wait for.
  assert.equal(drill.phaseOf(name), 'Replacing');
  await drill.until('the replacement', () => drill.phaseOf(name) === 'Succeeded');
  await drill.clock.advance(5000);
  assert.deepEqual([drill.machines().length, drill.store.list(notices).length], [3, 0]);
  await end();
});

test('a reboot comes a minute later; when the node is back, another one can be announced', async () => {
  const { drill, hosts, name, end } = await furnished();
  assert.equal(hosts.announce(name, 'reboot'), undefined);
  await drill.clock.advance(30_000);
  assert.equal(drill.phaseOf(name), 'Drained');
  await drill.until('the reboot', () => drill.phaseOf(name) === 'Succeeded', 180);
  assert.match(text(drill.maintenanceOf(name), 'status', 'message'), /rebooted/);
  assert.equal(hosts.announce(name, 'reboot'), undefined);
  await drill.until(
    'the next one',
    () => drill.phaseOf(name) === 'Draining' || drill.phaseOf(name) === 'Drained',
    10,
  );
  await end();
});

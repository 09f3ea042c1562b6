import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { create, nodesReady, podsOn } from '../control-plane/objects/cluster.ts';
import { namespace, node } from '../control-plane/objects/manifests.ts';
import { waitFor } from '../control-plane/wait.ts';
import { startBeside } from '../integrations/beside.ts';
import { skipOf } from '../integrations/builds.ts';
import { callers, contract } from './contract.ts';
import { startKubeVirt } from './kubevirt.ts';

const names = ['n1', 'n2', 'n3'] as const;

const started = await startBeside(
  await startControlPlane({ aggregation: true, users: callers }),
  startKubeVirt,
);

describe('KubeVirt itself', { skip: skipOf(started), timeout: 900_000 }, () => {
  if (started.kind === 'left-out') return;
  const { ground: controlPlane, neighbour: kubevirt } = started;
  const { api } = controlPlane;

  before(async () => {
    for (const name of names) await create(api, node(name));
    await nodesReady(api, names);
    await kubevirt.nodesKnown(...names);
  });
  after(async () => {
    await kubevirt.stop();
    await controlPlane.stop();
  });

  contract(() => ({
    api,
    vms: kubevirt,
    wait: waitFor,
    as: user => controlPlane.apiOf(user),
    pass: milliseconds => sleep(milliseconds),
    part: (name, isThere) => (isThere ? kubevirt.startPart(name) : kubevirt.stopPart(name)),
  }));

  test('kubectl drain asks again until the source pods have ended', {
    skip: controlPlane.lacksKubectl,
  }, async () => {
    await create(api, namespace('drained'));
    const wanted = ['d0', 'd1', 'd2'] as const;
    await kubevirt.makeInstances(
      ...wanted.map(name => ({ namespace: 'drained', name, on: 'n1', migration: '3s' }) as const),
    );
    const drain = [
      'drain',
      'n1',
      '--delete-emptydir-data',
      '--pod-selector',
      'kubevirt.io=virt-launcher',
      '--timeout=100s',
    ];
    const { code, stdout, stderr } = await controlPlane.kubectl(drain);
    assert.equal(code, 0, stdout + stderr);
    assert.match(
      stderr,
      /error when evicting pods\/"virt-launcher-d0-.*Eviction triggered evacuation of VMI "drained\/d0"/,
    );
    for (const name of wanted)
      assert.notEqual((await kubevirt.instance('drained', name)).status?.nodeName, 'n1');
    const left = (await podsOn(api, 'n1')).filter(
      ({ metadata }) => metadata.namespace === 'drained',
    );
    assert.deepEqual(left, []);
  });
});

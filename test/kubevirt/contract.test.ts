import { after, before, describe } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { create, nodesReady } from '../control-plane/cluster.ts';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { node } from '../control-plane/manifests.ts';
import { waitFor } from '../control-plane/wait.ts';
import { skipOf } from '../neighbours/builds.ts';
import { callers, contract } from './contract.ts';
import { startKubeVirt } from './kubevirt.ts';

const names = ['n1', 'n2', 'n3'] as const;

const start = async () => {
  const controlPlane = await startControlPlane({ aggregation: true, users: callers });
  if (controlPlane.kind === 'left-out') return controlPlane;
  try {
    const kubevirt = await startKubeVirt(controlPlane);
    if (kubevirt.kind === 'started') return { kind: 'started', controlPlane, kubevirt } as const;
    await controlPlane.stop();
    return kubevirt;
  } catch (error) {
    await controlPlane.stop();
    throw error;
  }
};

const started = await start();

describe('KubeVirt itself', { skip: skipOf(started), timeout: 900_000 }, () => {
  if (started.kind === 'left-out') return;
  const { controlPlane, kubevirt } = started;
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
});

import { after, describe } from 'node:test';
import { novaContract } from '../../src/nova/testing/contract.ts';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { otherCluster, skipOf } from '../neighbours/builds.ts';
import { startOpenStack } from './bed/bed.ts';
import { realSite } from './real-site.ts';

/** What the simulated Nova is held to, asked of a real one. */

const start = async () => {
  const elsewhere = otherCluster();
  if (elsewhere !== undefined) return elsewhere;
  const controlPlane = await startControlPlane({});
  if (controlPlane.kind === 'left-out') return controlPlane;
  try {
    const openStack = await startOpenStack(controlPlane, ['compute-1', 'compute-2', 'compute-3']);
    if (openStack.kind === 'started') return { kind: 'started', controlPlane, openStack } as const;
    await controlPlane.stop();
    return openStack;
  } catch (error) {
    await controlPlane.stop();
    throw error;
  }
};

const started = await start();

describe('Nova itself', { skip: skipOf(started), timeout: 900_000 }, () => {
  if (started.kind === 'left-out') return;
  after(async () => {
    await started.openStack.stop();
    await started.controlPlane.stop();
  });
  novaContract('real', () => realSite(started.openStack.environment));
});

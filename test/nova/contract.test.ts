import { after, describe } from 'node:test';
import { novaContract } from '@drydock/openstack/testing';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { startBeside } from '../integrations/beside.ts';
import { otherCluster, skipOf } from '../integrations/builds.ts';
import { startOpenStack } from './bed/bed.ts';
import { realSite } from './real-site.ts';

/** What the simulated Nova is held to, asked of a real one. */

const started = await startBeside(otherCluster() ?? (await startControlPlane({})), controlPlane =>
  startOpenStack(controlPlane, ['compute-1', 'compute-2', 'compute-3']),
);

describe('Nova itself', { skip: skipOf(started), timeout: 900_000 }, () => {
  if (started.kind === 'left-out') return;
  after(async () => {
    await started.neighbour.stop();
    await started.ground.stop();
  });
  novaContract('real', () => realSite(started.neighbour.environment));
});

import { after, before, describe } from 'node:test';
import { create, nodesReady } from '../control-plane/objects/cluster.ts';
import { node } from '../control-plane/objects/manifests.ts';
import { contract } from './contract.ts';
import { simulatedSite } from './in-process.ts';

const names = ['n1', 'n2', 'n3'] as const;

const site = await simulatedSite();

describe('a simulated KubeVirt', () => {
  before(async () => {
    for (const name of names) await create(site.api, node(name));
    await site.pass(5000);
    await nodesReady(site.api, names);
  });
  after(() => site.end());

  contract(() => site);
});

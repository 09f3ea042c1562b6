import { OpenStack, OpenStackApi, serveOpenStack } from '@drydock/kube-sim/nova';
import { quickClock } from '@drydock/utils/testing';
import { openNova } from './nova.ts';
import { type ContractSite, novaContract } from './testing/contract.ts';
import { makeHarness, simulatedConfig } from './testing/harness.ts';

function siteOf(cloud: OpenStack, nova: ContractSite['nova']): ContractSite {
  let made = 0;
  return {
    nova,
    clock: cloud.clock,
    hosts: [...cloud.hosts.keys()],
    make: async ({ host, project, state }) => {
      made += 1;
      return cloud.addServer({
        name: `server-${made}`,
        host,
        project: project === 'own' ? 'admin' : 'other',
        vmState: state,
      });
    },
    remove: async id => cloud.deleteServer(id),
  };
}

novaContract('simulated, in process', async () => {
  const harness = makeHarness();
  return siteOf(harness.cloud, harness.open());
});

novaContract('simulated, over HTTP', async () => {
  const cloud = new OpenStack({
    clock: quickClock(),
    hosts: ['compute-1', 'compute-2', 'compute-3'],
  });
  // The process ends with the last test; until then it is served.
  const { authUrl } = await serveOpenStack(new OpenStackApi(cloud), { unref: true });
  return siteOf(cloud, openNova(simulatedConfig(authUrl), cloud.clock));
});

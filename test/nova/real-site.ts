import { environmentConfig, openNova } from '@drydock/openstack';
import type { ContractSite } from '@drydock/openstack/testing';
import { systemClock } from '@drydock/utils';
import { Cloud, makeServer, removeServer } from './cloud.ts';

/** The site of the OS_* variables; its compute hosts are all that it has, in order. */
export async function realSite(
  env: Readonly<Record<string, string | undefined>>,
): Promise<ContractSite> {
  const cloud = new Cloud(env);
  await cloud.open();
  const nova = openNova({ ...environmentConfig(env), interface: 'public' }, systemClock);
  const services = await nova.services(new AbortController().signal);
  return {
    nova,
    clock: systemClock,
    hosts: (services.value ?? []).map(({ host }) => host).sort(),
    make: server => makeServer(cloud, server),
    remove: id => removeServer(cloud, id),
  };
}

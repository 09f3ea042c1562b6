import { OpenStack, OpenStackApi, simulatedEnvironment } from '@drydock/kube-sim/nova';
import { environmentConfig, openNova } from '@drydock/openstack';
import type { OpenStackTerms } from '@drydock/operator';
import type { Clock } from '@drydock/utils';

/**
 * Two workers of the demo are hypervisors of an OpenStack as well, whose servers are not pods of
 * the cluster.
 */

const hosts = ['worker-1', 'worker-2', 'worker-3'] as const;

/** Milliseconds that a server takes to migrate, by its memory: long enough to be seen. */
function migrationMs(speed: number) {
  return ({ memoryMiB }: { readonly memoryMiB: number }): number => (3000 + memoryMiB) / speed;
}

/** Starts an OpenStack in this process with servers that migrate `speed` times as fast as usual. */
export function startServers(clock: Clock, speed: number): OpenStackTerms {
  const cloud = new OpenStack({ clock, hosts, migrationMs: migrationMs(speed) });
  for (const [index, host] of hosts.entries()) {
    for (const name of ['web', 'batch', 'archive']) {
      const state = name === 'archive' ? { vmState: 'stopped' } : {};
      cloud.addServer({
        name: `${name}-${index + 1}`,
        host,
        memoryMiB: name === 'batch' ? 4096 : 1024,
        volumeBacked: name !== 'batch',
        ...state,
      });
    }
  }
  const api = new OpenStackApi(cloud);
  const config = environmentConfig(simulatedEnvironment('http://openstack.example/identity/v3'));
  const nova = openNova(config, clock, api.exchange);
  return { nova, limits: {} };
}

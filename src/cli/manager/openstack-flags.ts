import type { Command } from 'commander';
import { defaultLimits } from '../../core/hypervisor/snapshot.ts';

/** As the command line of the operator gives them. */
export type OpenStackFlags = {
  readonly openstack?: boolean;
  readonly openstackCloud?: string;
  readonly openstackConfigPath?: string;
  readonly openstackRegion?: string;
  readonly openstackInterface?: string;
  readonly openstackCaFile?: string;
  readonly openstackMigrationsPerHost: string;
  readonly openstackMigrations: string;
};

/** Adds the flags. */
export const openStackFlags = (command: Command): Command =>
  command
    .option('--openstack', 'nodes are hypervisors of the OpenStack that OS_CLOUD or the OS_* variables name: their servers are moved too')
    .option('--openstack-cloud <name>', 'the same, of a cloud in clouds.yaml')
    .option('--openstack-config-path <file>', 'the same, of a configuration file of nova-kubernetes-drain')
    .option('--openstack-region <name>', 'needed where its catalog has several')
    .option('--openstack-interface <name>', 'of the endpoint: internal, public or admin')
    .option('--openstack-ca-file <file>', 'the authorities to trust')
    .option('--openstack-migrations-per-host <n>', 'asked for at a time, those that wait in Nova included', String(defaultLimits.perHost))
    .option('--openstack-migrations <n>', 'asked for at a time off all hosts', String(defaultLimits.total));

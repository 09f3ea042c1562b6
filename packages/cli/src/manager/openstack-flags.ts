import { defaultLimits } from '@drydock/core/hypervisor';
import type { Command } from 'commander';

/** Flags of the operator's command line. */
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
export function openStackFlags(command: Command): Command {
  return command
    .option(
      '--openstack',
      'treat nodes as hypervisors of the OpenStack named by OS_CLOUD or the OS_* variables, and move their servers',
    )
    .option('--openstack-cloud <name>', 'as --openstack, with this cloud of clouds.yaml')
    .option(
      '--openstack-config-path <file>',
      'as --openstack, with a configuration file of nova-kubernetes-drain',
    )
    .option('--openstack-region <name>', 'region to use; required if the catalog has several')
    .option('--openstack-interface <name>', 'interface of the endpoint: internal, public or admin')
    .option('--openstack-ca-file <file>', 'path of the CA certificates to trust')
    .option(
      '--openstack-migrations-per-host <n>',
      'maximum migrations off one host at a time, including those queued in Nova',
      String(defaultLimits.perHost),
    )
    .option(
      '--openstack-migrations <n>',
      'maximum migrations off all hosts at a time',
      String(defaultLimits.total),
    );
}

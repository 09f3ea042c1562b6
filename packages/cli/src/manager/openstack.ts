import type { NovaWhere } from '@drydock/openstack';
import type { OpenStackTerms } from '@drydock/operator';
import type { Clock } from '@drydock/utils';
import { novaOf } from '../nova/open.ts';
import { positive } from '../shared/go-values.ts';
import type { OpenStackFlags } from './openstack-flags.ts';

function whereOf(flags: OpenStackFlags): NovaWhere {
  return {
    cloud: flags.openstackCloud,
    configPath: flags.openstackConfigPath,
    region: flags.openstackRegion,
    interface: flags.openstackInterface,
    caFile: flags.openstackCaFile,
  };
}

/**
 * Returns the OpenStack of the flags; undefined where they name none. Throws a UsageError that
 * names what to correct.
 */
export function openStackOf(
  flags: OpenStackFlags,
  env: Readonly<Record<string, string | undefined>>,
  clock: Clock,
): OpenStackTerms | undefined {
  if (
    flags.openstack !== true &&
    flags.openstackCloud === undefined &&
    flags.openstackConfigPath === undefined
  )
    return undefined;
  const limits = {
    perHost: positive('--openstack-migrations-per-host', flags.openstackMigrationsPerHost),
    total: positive('--openstack-migrations', flags.openstackMigrations),
  };
  return { nova: novaOf(whereOf(flags), env, clock), limits };
}

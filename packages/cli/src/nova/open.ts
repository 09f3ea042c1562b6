import {
  findNovaConfig,
  type Nova,
  NovaConfigError,
  type NovaWhere,
  openNova,
} from '@drydock/openstack';
import type { Clock } from '@drydock/utils';
import { UsageError } from '@drydock/utils';

/**
 * Returns the OpenStack that flags and environment name. Throws a UsageError that names what to
 * correct.
 */
export function novaOf(
  where: NovaWhere,
  env: Readonly<Record<string, string | undefined>>,
  clock: Clock,
): Nova {
  try {
    return openNova(findNovaConfig(where, env), clock);
  } catch (error) {
    if (error instanceof NovaConfigError) throw new UsageError(error.message, { cause: error });
    throw error;
  }
}

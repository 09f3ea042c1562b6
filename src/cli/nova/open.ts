import { NovaConfigError } from '../../nova/config/config.ts';
import { findNovaConfig, type NovaWhere } from '../../nova/config/find.ts';
import { type Nova, openNova } from '../../nova/nova.ts';
import type { Clock } from '../../support/clock.ts';
import { UsageError } from '../../support/usage-error.ts';

/**
 * Returns the OpenStack that flags and environment name. Throws a UsageError that names what to
 * correct.
 */
export const novaOf = (where: NovaWhere, env: Readonly<Record<string, string | undefined>>, clock: Clock): Nova => {
  try {
    return openNova(findNovaConfig(where, env), clock);
  } catch (error) {
    if (error instanceof NovaConfigError) throw new UsageError(error.message, { cause: error });
    throw error;
  }
};

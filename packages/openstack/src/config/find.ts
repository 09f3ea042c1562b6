import { existsSync } from 'node:fs';
import type { Env } from '@drydock/utils';
import { cloudConfig } from './clouds-yaml.ts';
import { interfaceOf, type NovaConfig, NovaConfigError } from './config.ts';
import { environmentConfig } from './environment.ts';
import { seedConfig } from './seed-file.ts';

/** Options of a command line for the OpenStack. */
export type NovaWhere = {
  /** Path of a file of nova-kubernetes-drain. */
  readonly configPath?: string | undefined;
  /** Name of a cloud in clouds.yaml. */
  readonly cloud?: string | undefined;
  readonly region?: string | undefined;
  readonly interface?: string | undefined;
  readonly caFile?: string | undefined;
  readonly insecure?: boolean | undefined;
};

const defaultFile = 'config.yaml';

function base({ configPath, cloud }: NovaWhere, env: Env): NovaConfig {
  if (configPath !== undefined) return seedConfig(configPath);
  const chosen = cloud ?? env['OS_CLOUD'];
  if (chosen !== undefined && chosen !== '') return cloudConfig(chosen, env);
  if ((env['OS_AUTH_URL'] ?? '') !== '') return environmentConfig(env);
  if (existsSync(defaultFile)) return seedConfig(defaultFile);
  throw new NovaConfigError(
    `no OpenStack is configured: there is no --config-path, no --cloud, no OS_CLOUD or OS_AUTH_URL in the environment, and no ${defaultFile} here`,
  );
}

/**
 * Returns the configuration: `--config-path`; else `--cloud` or OS_CLOUD in clouds.yaml; else the
 * OS_* variables; else config.yaml in the current folder, as nova-kubernetes-drain had it. Flags
 * override it. Throws a NovaConfigError that names what to correct.
 */
export function findNovaConfig(where: NovaWhere, env: Env): NovaConfig {
  const found = base(where, env);
  const { region, caFile, insecure } = where;
  return {
    ...found,
    ...(region !== undefined && { region }),
    ...(where.interface !== undefined && {
      interface: interfaceOf(where.interface, '--interface', 'the command line'),
    }),
    ...(caFile !== undefined && { caFile }),
    ...(insecure === true && { insecure }),
  };
}

import type { Env } from '@drydock/utils';
import { Command, Option } from 'commander';
import { connectionFlags } from '../shared/connection-flags.ts';
import type { CheckFlags } from './checks.ts';
import type { SupportBundleFlags } from './support-bundle.ts';
import type { VersionFlags } from './version-command.ts';

function checkCommand(env: Env): Command {
  return connectionFlags(new Command('check'))
    .description(
      'check the installation: kinds, operator, webhook, rights, clocks; what is missing or wrong, and how to fix it',
    )
    .addOption(
      new Option('-o, --output <format>', 'output format')
        .choices(['text', 'json'])
        .default('text'),
    )
    .addHelpText(
      'after',
      '\nReads the cluster and changes nothing. Exit code 0: no errors found. 1: errors found. 2: the command line is invalid.',
    )
    .action(async (flags: CheckFlags) => (await import('./checks.ts')).check(flags, env));
}

function supportBundleCommand(env: Env): Command {
  return connectionFlags(new Command('support-bundle'))
    .description(
      'save versions, objects, events and logs in one archive for a support request; no Secrets, no ConfigMaps',
    )
    .argument(
      '[file]',
      'archive to write, ending in .tar.gz (default: drydock-support-TIME.tar.gz)',
    )
    .action(async (file: string | undefined, flags: SupportBundleFlags) =>
      (await import('./support-bundle.ts')).supportBundle(file, flags, env),
    );
}

function versionOf(env: Env): Command {
  return connectionFlags(new Command('version'))
    .description('print the versions of this command, of the operator and of the API server')
    .option('--client', 'only the version of this command; contacts no cluster')
    .addOption(
      new Option('-o, --output <format>', 'output format')
        .choices(['text', 'json'])
        .default('text'),
    )
    .action(async (flags: VersionFlags) =>
      (await import('./version-command.ts')).versionCommand(flags, env),
    );
}

/** Returns the commands for administrators of an installation. */
export function diagnoseCommands(env: Env): readonly Command[] {
  return [checkCommand(env), supportBundleCommand(env), versionOf(env)];
}

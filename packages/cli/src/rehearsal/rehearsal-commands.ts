import type { Env } from '@drydock/utils';
import { Command, Option } from 'commander';
import { connectionFlags, policyFlags } from '../shared/connection-flags.ts';
import { copyFlags } from './copy-options.ts';
import type { RehearseFlags } from './rehearse.ts';
import type { SnapshotFlags } from './snapshot.ts';

const afterRehearse = `
Nothing is written to the cluster: it is read once, and the operator works on the copy, in this process and in simulated time.
Exit code 0: every node is drained in every run. 1: some are not. 2: the call is wrong.`;

function rehearseCommand(env: Env): Command {
  return copyFlags(
    policyFlags(
      connectionFlags(new Command('rehearse'))
        .description(
          'forecast a maintenance: whether it finishes, when, in which order, and what blocks it; read-only',
        )
        .argument('[node...]', 'names of nodes')
        .option(
          '-l, --selector <selector>',
          'select nodes by label instead of name, for example pool=blue,!gpu',
        )
        .option('--all', 'select every node of the cluster')
        .option(
          '-f, --filename <file>',
          'read maintenances from a YAML file instead of naming nodes (-: standard input)',
        )
        .option(
          '--parallel <n>',
          'drain N nodes at a time, releasing each once drained (default: all at once, kept held)',
        ),
    ),
  )
    .addOption(
      new Option('-o, --output <format>', 'output format')
        .choices(['text', 'json', 'svg'])
        .default('text'),
    )
    .addHelpText('after', afterRehearse)
    .action(async (nodes: readonly string[], flags: RehearseFlags) =>
      (await import('./rehearse.ts')).rehearseCommand(nodes, flags, env),
    );
}

function snapshotCommand(env: Env): Command {
  return connectionFlags(new Command('snapshot'))
    .description(
      'save what a rehearsal needs of the cluster: no Secrets, no ConfigMaps, no values of environment variables',
    )
    .argument('<dir>', 'folder to create')
    .action(async (folder: string, flags: SnapshotFlags) =>
      (await import('./snapshot.ts')).snapshot(folder, flags, env),
    );
}

/** Returns the commands for rehearsals. */
export function rehearsalCommands(env: Env): readonly Command[] {
  return [rehearseCommand(env), snapshotCommand(env)];
}

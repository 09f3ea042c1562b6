import { Command, Option } from 'commander';
import { connectionFlags } from '../shared/connection-flags.ts';
import { policyFlags } from '../shared/policy-flags.ts';
import type { RehearseFlags } from './rehearse.ts';
import type { SnapshotFlags } from './snapshot.ts';

type Env = Readonly<Record<string, string | undefined>>;

const afterRehearse = `
Nothing is written to the cluster: it is read once, and the operator works on the copy, in this process and in made-up time.
Exit code 0: every node is drained in every run. 1: some are not. 2: the call is wrong.`;

const rehearseCommand = (env: Env): Command =>
  policyFlags(
    connectionFlags(new Command('rehearse'))
      .description('how a maintenance would go: whether it finishes, when, in which order, and what keeps it; nothing is changed')
      .argument('[node...]', 'names of nodes')
      .option('-l, --selector <selector>', 'nodes by label, for example pool=blue,!gpu, in place of names')
      .option('--all', 'every node of the cluster, in place of names')
      .option('-f, --filename <file>', 'YAML with maintenances, in place of names; - is the standard input')
      .option('--snapshot <dir>', 'a copy that drydock snapshot or kubectl get -o json has written; the cluster as it is when left out')
      .option('--parallel <n>', 'so many nodes at a time, each given back as soon as it is drained; all at once, and held, when left out')
      .addOption(
        new Option(
          '--seeds <n>',
          'how often it is played, each time with other times of pods; 5, or fewer for very many pods, when left out',
        ),
      ),
  )
    .addOption(new Option('--start-time <duration>', 'how long pods take to become ready, where nothing tells it').default('5s'))
    .addOption(new Option('--stop-time <duration>', 'how long pods take to end, where nothing tells it').default('2s'))
    .addOption(new Option('--horizon <duration>', 'how far is looked ahead').default('336h'))
    .addOption(new Option('-o, --output <format>', 'output format').choices(['text', 'json', 'svg']).default('text'))
    .addHelpText('after', afterRehearse)
    .action(async (nodes: readonly string[], flags: RehearseFlags) => (await import('./rehearse.ts')).rehearseCommand(nodes, flags, env));

const snapshotCommand = (env: Env): Command =>
  connectionFlags(new Command('snapshot'))
    .description('write into a folder what a rehearsal needs of the cluster: no secrets, no config maps, no values of variables')
    .argument('<dir>', 'the folder, which is made')
    .action(async (folder: string, flags: SnapshotFlags) => (await import('./snapshot.ts')).snapshot(folder, flags, env));

/** The commands about what would be. */
export const rehearsalCommands = (env: Env): readonly Command[] => [rehearseCommand(env), snapshotCommand(env)];

import { parseSelector } from '@drydock/apimachinery';
import { type DrainPolicy, seedPolicy } from '@drydock/core/drain';
import { plainVmPolicy, type VmPolicy } from '@drydock/core/vm';
import { type Env, UsageError } from '@drydock/utils';
import { Command, Option } from 'commander';
import { type ConnectionFlags, connectionFlags } from '../shared/connection-flags.ts';
import { integer, plainBooleans, seconds } from '../shared/fail.ts';
import { type NodeChoice, nodeChoice } from '../shared/nodes.ts';
import { type CordonFlags, type DryRun, dryRunOf } from './cordon.ts';

/** Flags of the command line, with the names of kubectl drain. */
export type DrainFlags = ConnectionFlags & {
  readonly force?: boolean;
  readonly ignoreDaemonsets?: boolean;
  readonly deleteEmptydirData?: boolean;
  readonly deleteLocalData?: boolean;
  readonly disableEviction?: boolean;
  readonly gracePeriod: string;
  readonly timeout: string;
  readonly podSelector?: string;
  readonly selector?: string;
  readonly skipWaitForDeleteTimeout: string;
  readonly chunkSize: string;
  readonly dryRun: string;
  /** Handling of VMs that cannot migrate; not a flag of kubectl, which waits, and evicts. */
  readonly vmNotMigratable: string;
  readonly vmNotMigrated: string;
};

/** Checked options of the drain command. */
export type DrainOptions = {
  readonly choice: NodeChoice;
  readonly policy: DrainPolicy;
  /** Timeout for each node from the start of its drain; undefined means no limit. */
  readonly timeoutSeconds: number | undefined;
  /** Timeout as given, for kubectl's messages. */
  readonly timeoutText: string;
  readonly dryRun: DryRun;
  readonly pageSize: number;
};

function podSelectorOf(text: string | undefined): Pick<DrainPolicy, 'podSelector'> {
  if (text === undefined || text === '') return {};
  const podSelector = parseSelector(text);
  if (podSelector === undefined)
    throw new UsageError('--pod-selector=<pod_selector> must be a valid label selector');
  return { podSelector };
}

function wordOf<Word extends string>(flag: string, given: string, words: readonly Word[]): Word {
  const word = words.find(one => one.toLowerCase() === given.toLowerCase());
  if (word === undefined)
    throw new UsageError(`invalid value "${given}" for ${flag}: expected ${words.join(', ')}`);
  return word;
}

function vmPolicyOf({ vmNotMigratable, vmNotMigrated }: DrainFlags): VmPolicy {
  return {
    ...plainVmPolicy,
    notMigratable: wordOf('--vm-not-migratable', vmNotMigratable, ['Wait', 'ShutDown', 'Refuse']),
    notMigrated: wordOf('--vm-not-migrated', vmNotMigrated, ['Evict', 'Wait', 'Refuse']),
  };
}

/** Checks the flags. Throws a UsageError that names the flag and its valid values. */
export function drainOptionsFrom(names: readonly string[], flags: DrainFlags): DrainOptions {
  const timeout = seconds('--timeout', flags.timeout);
  return {
    choice: nodeChoice('drain', names, flags.selector),
    policy: {
      ...seedPolicy,
      ...podSelectorOf(flags.podSelector),
      gracePeriodSeconds: Math.max(-1, integer('--grace-period', flags.gracePeriod)),
      deleteEmptyDirData: flags.deleteEmptydirData === true || flags.deleteLocalData === true,
      force: flags.force === true,
      ignoreDaemonSets: flags.ignoreDaemonsets === true,
      disableEviction: flags.disableEviction === true,
      skipWaitForDeleteTimeoutSeconds: integer(
        '--skip-wait-for-delete-timeout',
        flags.skipWaitForDeleteTimeout,
      ),
      waitForVolumeDetach: false,
      virtualMachines: vmPolicyOf(flags),
    },
    timeoutSeconds: timeout > 0 ? timeout : undefined,
    timeoutText: flags.timeout,
    dryRun: dryRunOf(flags.dryRun),
    pageSize: integer('--chunk-size', flags.chunkSize),
  };
}

function choosing(command: Command): Command {
  return connectionFlags(command)
    .argument('[node...]', 'names of nodes')
    .addOption(
      new Option(
        '-n, --namespace <name>',
        'accepted as kubectl accepts it; nodes have no namespace',
      ).hideHelp(),
    )
    .option(
      '-l, --selector <selector>',
      'select nodes by label instead of name, for example pool=blue,!gpu',
    )
    .addOption(
      new Option(
        '--dry-run <strategy>',
        'none, server or client: print what would be done',
      ).default('none'),
    )
    .addOption(
      new Option('--chunk-size <n>', 'list nodes in pages of this size (0: all at once)').default(
        '500',
      ),
    );
}

function cordonCommand(wanted: boolean, env: Env): Command {
  return choosing(new Command(wanted ? 'cordon' : 'uncordon'))
    .description(
      wanted
        ? 'mark nodes as unschedulable, as kubectl cordon does'
        : 'mark nodes as schedulable, as kubectl uncordon does',
    )
    .action(async (names: readonly string[], flags: CordonFlags) =>
      (await import('./cordon.ts')).cordon(wanted, names, flags, env),
    );
}

/** Boolean flags of drain. */
const switches = [
  ['--force', 'go on even if there are pods that declare no controller'],
  ['--ignore-daemonsets', 'ignore pods that are managed by a DaemonSet'],
  [
    '--delete-emptydir-data',
    'go on even if there are pods with emptyDir volumes: their data is lost',
  ],
  ['--disable-eviction', 'delete pods instead of evicting them, ignoring disruption budgets'],
] as const;

const afterDrain = `
kubectl drain's flags, lines and exit codes; several nodes are drained at once, budgets are waited for and not polled.
No operator is needed, and nothing holds the node but its cordon: see drydock maintain for that.`;

function drainCommand(env: Env): Command {
  const command = choosing(new Command('drain')).description(
    'cordon nodes and evict their pods, as kubectl drain does',
  );
  for (const [flag, text] of switches) command.option(flag, text);
  return command
    .addOption(
      new Option('--delete-local-data', 'deprecated name of --delete-emptydir-data').hideHelp(),
    )
    .addOption(
      new Option(
        '--grace-period <seconds>',
        "seconds each pod gets to terminate (negative: the pod's own grace period)",
      ).default('-1'),
    )
    .addOption(
      new Option(
        '--timeout <duration>',
        'stop draining after this long, for example 10m (0: no limit)',
      ).default('0s'),
    )
    .option('--pod-selector <selector>', 'drain only pods with these labels')
    .addOption(
      new Option(
        '--skip-wait-for-delete-timeout <seconds>',
        'do not wait for pods that have been terminating for longer than this (0: wait for all)',
      ).default('0'),
    )
    .addOption(
      new Option(
        '--vm-not-migratable <what>',
        'what to do with KubeVirt VMs that cannot be migrated: Wait, ShutDown or Refuse',
      ).default('Wait'),
    )
    .addOption(
      new Option(
        '--vm-not-migrated <what>',
        'what to do with VMs that an eviction shuts down: Evict, Wait or Refuse',
      ).default('Evict'),
    )
    .addHelpText('after', afterDrain)
    .action(async (names: readonly string[], flags: DrainFlags) =>
      (await import('./drain.ts')).drain(names, flags, env),
    );
}

/** Returns `drain`, `cordon` and `uncordon`: kubectl's commands of the same names. */
export function nodeCommands(env: Env): readonly Command[] {
  return [drainCommand(env), cordonCommand(true, env), cordonCommand(false, env)];
}

/**
 * Converts arguments in the style of Go programs to the style of these commands. Arguments after
 * `--` are not flags.
 */
export function nodeArguments(args: readonly string[]): readonly string[] {
  const plain = plainBooleans(args, [
    ...switches.map(([flag]) => flag),
    '--delete-local-data',
    '--insecure-skip-tls-verify',
  ]);
  const end = plain.includes('--') ? plain.indexOf('--') : plain.length;
  const flags = plain.slice(0, end).map(arg => {
    // A bare --dry-run means the client's dry run in kubectl; the next word is a node.
    if (arg === '--dry-run') return '--dry-run=client';
    return arg.startsWith('-l=') ? `--selector=${arg.slice('-l='.length)}` : arg;
  });
  return [...flags, ...plain.slice(end)];
}

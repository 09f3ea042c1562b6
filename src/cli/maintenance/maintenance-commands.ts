import { Command, Option } from 'commander';
import { connectionFlags } from '../shared/connection-flags.ts';
import { policyFlags } from '../shared/policy-flags.ts';
import type { MaintainFlags } from './maintain.ts';
import type { ReleaseFlags } from './release.ts';
import type { StatusFlags } from './status.ts';
import type { WhyFlags } from './why.ts';
import type { WindowsFlags } from './windows.ts';

type Env = Readonly<Record<string, string | undefined>>;

const maintainCommand = (env: Env): Command =>
  policyFlags(
    connectionFlags(new Command('maintain'))
      .description('take a node out of service: make a Maintenance for it, which the operator carries out')
      .argument('<node>', 'name of the node')
      .option('--reason <text>', 'why, for people')
      .option('--requester <name>', 'who asks, as a domain-prefixed name')
      .option('--name <name>', "of the object; the node's when left out")
      .addOption(new Option('--stage <stage>', 'how far it goes: Announce, Cordon or Drain').default('Drain')),
  )
    .option('--wait', 'follow it until the node is drained; exit code 1 when that fails')
    .action(async (node: string, flags: MaintainFlags) => (await import('./maintain.ts')).maintain(node, flags, env));

const releaseCommand = (env: Env): Command =>
  connectionFlags(new Command('release'))
    .description('give a node back: delete its maintenance, of whatever kind, and wait until the node is as it was')
    .argument('<node>', 'name of the node')
    .option('--name <name>', 'which maintenance, when there are several')
    .option('--all', 'every maintenance of the node')
    .option('--no-wait', 'do not wait until the node has been given back')
    .action(async (node: string, flags: ReleaseFlags) => (await import('./release.ts')).release(node, flags, env));

const statusCommand = (env: Env): Command =>
  connectionFlags(new Command('status'))
    .description('who holds which node, what blocks it, since when, and what would help')
    .argument('[node]', 'only this node')
    .addOption(new Option('-o, --output <format>', 'output format').choices(['table', 'wide', 'json', 'yaml']).default('table'))
    .action(async (node: string | undefined, flags: StatusFlags) => (await import('./status.ts')).status(node, flags, env));

const whyCommand = (env: Env): Command =>
  connectionFlags(new Command('why'))
    .description('what keeps a pod or a node, and what would help, in one paragraph')
    .argument('<pod-or-node>', 'NODE, POD, NAMESPACE/POD, node/NODE or pod/POD')
    .option('-n, --namespace <name>', "of the pod; the context's when left out")
    .action(async (target: string, flags: WhyFlags) => (await import('./why.ts')).why(target, flags, env));

const windowsCommand = (env: Env): Command =>
  connectionFlags(new Command('windows'))
    .description('when maintenances may begin: the next openings of each MaintenanceWindow, or of all that have a say about a node')
    .argument('[node]', 'only what concerns this node')
    .addOption(new Option('--count <n>', 'openings that are shown').default('3'))
    .addOption(new Option('--kind <kind>', 'of maintenance').choices(['Maintenance', 'MachineMaintenance']).default('Maintenance'))
    .addOption(new Option('-o, --output <format>', 'output format').choices(['table', 'json']).default('table'))
    .action(async (node: string | undefined, flags: WindowsFlags) => (await import('./windows.ts')).windows(node, flags, env));

/** The commands about maintenance objects. */
export const maintenanceCommands = (env: Env): readonly Command[] => [
  maintainCommand(env),
  releaseCommand(env),
  statusCommand(env),
  whyCommand(env),
  windowsCommand(env),
];

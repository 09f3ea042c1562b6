import type { Env } from '@drydock/utils';
import { Command, Option } from 'commander';
import { defaultNamespace } from '../install/rollout.ts';
import { connectionFlags, policyFlags } from '../shared/connection-flags.ts';
import type { MaintainFlags } from './maintain.ts';
import type { ReleaseFlags } from './release.ts';
import type { StatusFlags } from './status.ts';
import type { WhyFlags } from './why.ts';
import type { WindowsFlags } from './windows.ts';

function maintainCommand(env: Env): Command {
  return policyFlags(
    connectionFlags(new Command('maintain'))
      .description('take a node out of service: create a Maintenance for the operator to carry out')
      .argument('<node>', 'name of the node')
      .option('--reason <text>', 'reason, for people')
      .option('--requester <name>', 'name of the requester, domain-prefixed')
      .option('--name <name>', "name of the object (default: the node's)")
      .addOption(
        new Option('--level <level>', 'how far to go: Announce, Cordon or Drain').default('Drain'),
      ),
  )
    .option('--wait', 'wait until the node is drained; exit code 1 if that fails')
    .action(async (node: string, flags: MaintainFlags) =>
      (await import('./maintain.ts')).maintain(node, flags, env),
    );
}

function releaseCommand(env: Env): Command {
  return connectionFlags(new Command('release'))
    .description(
      'release a node: delete its maintenance, of whatever kind, and wait until the node is as it was',
    )
    .argument('<node>', 'name of the node')
    .option('--name <name>', 'maintenance to delete, if the node has several')
    .option('--all', 'delete every maintenance of the node')
    .option('--no-wait', 'do not wait until the node is released')
    .action(async (node: string, flags: ReleaseFlags) =>
      (await import('./release.ts')).release(node, flags, env),
    );
}

function statusCommand(env: Env): Command {
  return connectionFlags(new Command('status'))
    .description(
      'show which nodes are held and by whom, what blocks them, since when, and how to fix it',
    )
    .argument('[node]', 'only this node')
    .option(
      '-n, --namespace <name>',
      `namespace of the MachineMaintenances to show (default: ${defaultNamespace}, where the operator works on them)`,
    )
    .option(
      '-A, --all-namespaces',
      'show the MachineMaintenances of every namespace, whoever made them',
    )
    .addOption(
      new Option('-o, --output <format>', 'output format')
        .choices(['table', 'wide', 'json', 'yaml'])
        .default('table'),
    )
    .action(async (node: string | undefined, flags: StatusFlags) =>
      (await import('./status.ts')).status(node, flags, env),
    );
}

function whyCommand(env: Env): Command {
  return connectionFlags(new Command('why'))
    .description('explain what blocks a pod or a node and how to fix it, in one paragraph')
    .argument('<pod-or-node>', 'NODE, POD, NAMESPACE/POD, node/NODE or pod/POD')
    .option('-n, --namespace <name>', "namespace of the pod (default: the context's)")
    .action(async (target: string, flags: WhyFlags) =>
      (await import('./why.ts')).why(target, flags, env),
    );
}

function windowsCommand(env: Env): Command {
  return connectionFlags(new Command('windows'))
    .description(
      'show when maintenances may begin: the next openings of each MaintenanceWindow, or of those that apply to a node',
    )
    .argument('[node]', 'only windows that apply to this node')
    .addOption(new Option('--count <n>', 'number of openings to show').default('3'))
    .addOption(
      new Option('--kind <kind>', 'kind of maintenance')
        .choices(['Maintenance', 'MachineMaintenance'])
        .default('Maintenance'),
    )
    .addOption(
      new Option('-o, --output <format>', 'output format')
        .choices(['table', 'json'])
        .default('table'),
    )
    .action(async (node: string | undefined, flags: WindowsFlags) =>
      (await import('./windows.ts')).windows(node, flags, env),
    );
}

/** Returns the commands for maintenance objects. */
export function maintenanceCommands(env: Env): readonly Command[] {
  return [
    maintainCommand(env),
    releaseCommand(env),
    statusCommand(env),
    whyCommand(env),
    windowsCommand(env),
  ];
}

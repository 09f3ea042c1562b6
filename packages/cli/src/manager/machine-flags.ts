import { type Command, Option } from 'commander';

/** Collects values of flags that may be repeated, or contain several values separated by commas. */
function list(text: string, before: readonly string[]): readonly string[] {
  return [...before, ...text.split(',')];
}

/** Adds the flags of machine maintenances to `drydock operator`. */
export function machineFlags(command: Command): Command {
  return command
    .option(
      '--machine-maintenance-namespace <name>',
      "namespace to create MachineMaintenances in (default: the operator's own)",
    )
    .addOption(
      new Option(
        '--machine-maintenance-watch-namespaces <name,...>',
        'further namespaces to reconcile MachineMaintenances (and namespaced NodeMaintenances) in, * for all; anybody who may write there can take any machine out of service',
      )
        .default([], 'none')
        .argParser(list),
    )
    .addOption(
      new Option(
        '--allowed-aws-endpoint <url>',
        'further EC2 endpoint that MachineEventSources may name; may be repeated',
      )
        .default([], 'none')
        .argParser((text: string, before: readonly string[]) => [...before, text]),
    )
    .addOption(
      new Option(
        '--machines-per-set <n>',
        'maximum machines of one set in maintenance at a time (0: no limit)',
      ).default('1'),
    )
    .addOption(
      new Option(
        '--machines-per-zone <n>',
        'maximum machines of one zone in maintenance at a time (0: no limit)',
      ).default('0'),
    )
    .addOption(
      new Option(
        '--nodes-unavailable <n>',
        'maximum nodes, with Machines and without, out of service at a time in response to announcements that are not yet due, as a number or a percentage of all nodes (0: no limit)',
      ).default('1'),
    )
    .addOption(
      new Option(
        '--drain-lead-seconds <n>',
        'seconds to begin draining before the time the cloud announced, unless a window says otherwise',
      ).default('1800'),
    );
}

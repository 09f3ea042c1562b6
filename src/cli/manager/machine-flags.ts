import { type Command, Option } from 'commander';

/** Flags that may be repeated, and take several values with commas between them. */
const list = (text: string, before: readonly string[]): readonly string[] => [...before, ...text.split(',')];

/** The flags of machine maintenances, for `drydock operator`. */
export const machineFlags = (command: Command): Command =>
  command
    .option('--machine-maintenance-namespace <name>', "where MachineMaintenances are made; the operator's own when left out")
    .addOption(
      new Option(
        '--machine-maintenance-watch-namespaces <name,...>',
        'further namespaces whose MachineMaintenances (and namespaced NodeMaintenances) are worked on, * for all; whoever may write there takes any machine out of service',
      )
        .default([], 'none')
        .argParser(list),
    )
    .addOption(
      new Option('--allowed-aws-endpoint <url>', "an EC2 endpoint beside Amazon's own that MachineEventSources may name; may be repeated")
        .default([], 'none')
        .argParser((text: string, before: readonly string[]) => [...before, text]),
    )
    .addOption(new Option('--machines-per-set <n>', 'machines of one set that are worked on at a time; 0 is no limit').default('1'))
    .addOption(new Option('--machines-per-zone <n>', 'machines of one zone that are worked on at a time; 0 is no limit').default('0'))
    .addOption(
      new Option(
        '--drain-lead-seconds <n>',
        'a node is drained this long before its cloud may begin, where no window says otherwise',
      ).default('1800'),
    );

import { type Command, Option } from 'commander';

/** Adds the flags for the drain policy, as `drydock maintain` has them. */
export function policyFlags(command: Command): Command {
  return command
    .option('--force', 'also evict pods that declare no controller')
    .option('--delete-emptydir-data', 'also evict pods with emptyDir volumes; their data is lost')
    .option(
      '--disable-eviction',
      'delete pods instead of evicting them, ignoring disruption budgets',
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
        'stop draining after this long and keep the node held (0: no limit)',
      ).default('0s'),
    );
}

import { type Command, Option } from 'commander';

/** Adds the common flags of rehearsals of maintenances and of plans. */
export function copyFlags(command: Command): Command {
  return command
    .option(
      '--snapshot <dir>',
      'folder written by drydock snapshot or kubectl get -o json (default: the cluster as it is)',
    )
    .option(
      '--seeds <n>',
      'number of simulated runs, each with other pod timings (default: 5, fewer for very many pods)',
    )
    .addOption(
      new Option(
        '--start-time <duration>',
        'time pods take to become Ready, where the cluster does not show it',
      ).default('5s'),
    )
    .addOption(
      new Option(
        '--stop-time <duration>',
        'time pods take to terminate, where the cluster does not show it',
      ).default('2s'),
    )
    .option(
      '--kube-api-qps <n>',
      'requests a second that kube-controller-manager allows each of its controllers (default: 20, unless pods came faster)',
    )
    .option(
      '--kube-api-burst <n>',
      'requests at once, after a rest (default: one and a half times --kube-api-qps)',
    )
    .addOption(
      new Option('--horizon <duration>', 'simulated time after which a run ends').default('336h'),
    );
}

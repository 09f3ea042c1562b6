import { type Command, Option } from 'commander';

/** Adds the flags that say how a node is emptied, as `drydock maintain` has them. */
export const policyFlags = (command: Command): Command =>
  command
    .option('--force', 'evict pods too that declare no controller')
    .option('--delete-emptydir-data', 'evict pods with emptyDir volumes too: their data is lost')
    .option('--disable-eviction', 'delete pods in place of evicting them: disruption budgets are not asked')
    .addOption(new Option('--grace-period <seconds>', "time that each pod is given to end; negative: the pod's own").default('-1'))
    .addOption(new Option('--timeout <duration>', 'give the drain up after this time and keep the node held; 0 never').default('0s'));

import { parseSelector } from '@drydock/apimachinery';
import { type DrainPolicy, seedPolicy } from '@drydock/core/drain';
import { plainVmPolicy, type VmPolicy } from '@drydock/core/vm';
import { UsageError } from '@drydock/utils';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { integer, seconds } from '../shared/go-values.ts';
import { type NodeChoice, nodeChoice } from '../shared/nodes.ts';
import { type DryRun, dryRunOf } from './cordon.ts';

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

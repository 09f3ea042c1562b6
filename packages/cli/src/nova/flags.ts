import { hostname } from 'node:os';
import { defaultLimits, type MigrationLimits } from '@drydock/core/hypervisor';
import { defaultServerPolicy, type ServerPolicy } from '@drydock/core/vm';
import type { NovaWhere } from '@drydock/openstack';
import type { LogFormat } from '@drydock/utils/pino-log';
import { type Command, Option } from 'commander';
import { type ConnectionFlags, connectionFlags } from '../shared/connection-flags.ts';
import { positive } from '../shared/go-values.ts';

export type NovaFlags = ConnectionFlags &
  NovaWhere & {
    readonly daemon?: boolean;
    readonly runOnce?: boolean;
    readonly release?: boolean;
    readonly timeOut: string;
    readonly host?: string;
    readonly nodeName?: string;
    readonly reason?: string;
    readonly maxMigrations: string;
    readonly active: ServerPolicy['active'];
    readonly paused: ServerPolicy['paused'];
    readonly stopped: ServerPolicy['stopped'];
    readonly failed: ServerPolicy['failed'];
    readonly localDisk: ServerPolicy['localDisk'];
    readonly output: 'text' | 'json';
    readonly logFormat?: LogFormat;
  };

/** Boolean flags of `drydock nova`, bare or with a Go boolean after `=`. */
export const novaBooleans = ['--daemon', '--run-once', '--release', '--insecure'] as const;

/** Adds the flags that choose the OpenStack. */
function whereFlags(command: Command): Command {
  return command
    .option(
      '--config-path <file>',
      'path of a nova-kubernetes-drain file with IdentityEndpoint, Username, Password, TenantName and DomainID',
    )
    .option(
      '--cloud <name>',
      'cloud of clouds.yaml to use (default: OS_CLOUD, else the OS_* variables, else config.yaml in this folder)',
    )
    .option('--region <name>', 'region to use; required if the catalog has several')
    .option(
      '--interface <name>',
      'interface of the endpoint: internal, public or admin (default: internal)',
    )
    .option(
      '--ca-file <file>',
      'path of the CA certificates to trust (default: those of the system)',
    )
    .option('--insecure', 'trust any certificate');
}

function choice(flags: string, text: string, choices: readonly string[]): Option {
  return new Option(flags, text).choices(choices).default(choices[0]);
}

function policyFlags(command: Command): Command {
  return command
    .addOption(
      choice('--active <policy>', 'what to do with running servers', [
        defaultServerPolicy.active,
        'Leave',
      ]),
    )
    .addOption(
      choice('--paused <policy>', 'what to do with paused servers', [
        defaultServerPolicy.paused,
        'Leave',
      ]),
    )
    .addOption(
      choice('--stopped <policy>', 'what to do with servers that are shut off', [
        defaultServerPolicy.stopped,
        'Leave',
      ]),
    )
    .addOption(
      choice('--failed <policy>', 'what to do with servers in error', [
        defaultServerPolicy.failed,
        'Leave',
      ]),
    )
    .addOption(
      choice(
        '--local-disk <policy>',
        "what to do with servers whose disks are on the host's own storage",
        [defaultServerPolicy.localDisk, 'Leave'],
      ),
    );
}

/** Adds the flags of `drydock nova`. */
export function novaFlags(command: Command): Command {
  command
    .option(
      '--daemon',
      "watch this machine's node and empty the hypervisor while the node is cordoned or held by Drydock",
    )
    .option('--run-once', 'empty the hypervisor once and exit (default without --daemon)')
    .option('--release', 'enable the compute service of a hypervisor again, if drydock disabled it')
    .option(
      '--time-out <minutes>',
      'minutes after which to stop emptying the hypervisor once',
      '30',
    )
    .option('--host <name>', 'host of its nova-compute service (default: the name of this machine)')
    .option(
      '--node-name <name>',
      'node that --daemon watches (default: NODE_NAME, else the name of this machine)',
    )
    .option('--reason <text>', 'text for the disabled_reason of the compute service')
    .option(
      '--max-migrations <n>',
      'maximum migrations off one host at a time, including those queued in Nova',
      String(defaultLimits.perHost),
    );
  policyFlags(whereFlags(command))
    .addOption(
      new Option('--output <format>', 'format of the list at the end')
        .choices(['text', 'json'])
        .default('text'),
    )
    .addOption(
      new Option(
        '--log-format <name>',
        'log format: json or text (default: text on a terminal, else json)',
      ).choices(['json', 'text']),
    );
  return connectionFlags(command);
}

export function policyOf({ active, paused, stopped, failed, localDisk }: NovaFlags): ServerPolicy {
  return {
    active,
    paused,
    stopped,
    failed,
    localDisk,
  };
}

export function limitsOf({ maxMigrations }: NovaFlags): Partial<MigrationLimits> {
  return {
    perHost: positive('--max-migrations', maxMigrations),
  };
}

export function timeOutMs({ timeOut }: NovaFlags): number {
  return positive('--time-out', timeOut) * 60_000;
}

/** Returns the host of this machine's nova-compute. */
export function hostOf({ host }: NovaFlags): string {
  return host === undefined || host === '' ? hostname() : host;
}

import { hostname } from 'node:os';
import { type Command, Option } from 'commander';
import { defaultLimits, type MigrationLimits } from '../../core/hypervisor/snapshot.ts';
import { defaultServerPolicy, type ServerPolicy } from '../../core/vm/server-policy.ts';
import type { NovaWhere } from '../../nova/config/find.ts';
import type { LogFormat } from '../../support/pino-log.ts';
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

/** Flags of `drydock nova` that stand alone, or have a Go boolean behind `=`. */
export const novaBooleans = ['--daemon', '--run-once', '--release', '--insecure'] as const;

/** Adds the flags that say which OpenStack it is. */
const whereFlags = (command: Command): Command =>
  command
    .option('--config-path <file>', 'a file of nova-kubernetes-drain with IdentityEndpoint, Username, Password, TenantName and DomainID')
    .option('--cloud <name>', 'a cloud of clouds.yaml; OS_CLOUD when left out, else the OS_* variables, else config.yaml here')
    .option('--region <name>', 'needed where the catalog has several')
    .option('--interface <name>', 'of the endpoint: internal, public or admin; internal where nothing says otherwise')
    .option('--ca-file <file>', 'the authorities to trust, in place of those of the system')
    .option('--insecure', 'trust any certificate');

const choice = (flags: string, text: string, choices: readonly string[]): Option =>
  new Option(flags, text).choices(choices).default(choices[0]);

const policyFlags = (command: Command): Command =>
  command
    .addOption(choice('--active <policy>', 'what becomes of running servers', [defaultServerPolicy.active, 'Leave']))
    .addOption(choice('--paused <policy>', 'of paused ones', [defaultServerPolicy.paused, 'Leave']))
    .addOption(choice('--stopped <policy>', 'of shut off ones', [defaultServerPolicy.stopped, 'Leave']))
    .addOption(choice('--failed <policy>', 'of those in error', [defaultServerPolicy.failed, 'Leave']))
    .addOption(choice('--local-disk <policy>', "of those whose disks are on the host's own", [defaultServerPolicy.localDisk, 'Leave']));

/** Adds the flags of `drydock nova`. */
export const novaFlags = (command: Command): Command => {
  command
    .option('--daemon', 'follow the node that this machine is: empty the hypervisor while it is cordoned or held by Drydock')
    .option('--run-once', 'empty the hypervisor once, and end; so it is without --daemon')
    .option('--release', 'give a hypervisor that was emptied once back: enable its service, if drydock disabled it')
    .option('--time-out <minutes>', 'how long emptying it once may take', '30')
    .option('--host <name>', 'the host of its nova-compute; the name of this machine when left out')
    .option('--node-name <name>', 'the node that --daemon follows; NODE_NAME, or the one called as this machine, when left out')
    .option('--reason <text>', 'for the disabled_reason of the service')
    .option('--max-migrations <n>', 'off one host at a time, those that wait in Nova included', String(defaultLimits.perHost));
  policyFlags(whereFlags(command))
    .addOption(new Option('--output <format>', 'of the list at the end').choices(['text', 'json']).default('text'))
    .addOption(new Option('--log-format <name>', 'json, or text for people; text on a terminal').choices(['json', 'text']));
  return connectionFlags(command);
};

export const policyOf = ({ active, paused, stopped, failed, localDisk }: NovaFlags): ServerPolicy => ({
  active,
  paused,
  stopped,
  failed,
  localDisk,
});

export const limitsOf = ({ maxMigrations }: NovaFlags): Partial<MigrationLimits> => ({
  perHost: positive('--max-migrations', maxMigrations),
});

export const timeOutMs = ({ timeOut }: NovaFlags): number => positive('--time-out', timeOut) * 60_000;

/** The host of the nova-compute of this machine. */
export const hostOf = ({ host }: NovaFlags): string => (host === undefined || host === '' ? hostname() : host);

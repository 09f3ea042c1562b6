import { hostname } from 'node:os';
import { printableJson } from '@drydock/apimachinery';
import {
  type ComputeService,
  defaultLimits,
  isMarked,
  type MigrationLimits,
  matchHosts,
} from '@drydock/core/hypervisor';
import {
  type DesiredHostState,
  defaultServerPolicy,
  type HostView,
  isOnItsWay,
  type ServerPolicy,
  type VmStatus,
} from '@drydock/core/vm';
import {
  HypervisorReconciler,
  type HypervisorReconcilerOptions,
  type Nova,
  type NovaFailure,
  type NovaWhere,
} from '@drydock/openstack';
import { type Clock, type Log, UsageError } from '@drydock/utils';
import type { LogFormat } from '@drydock/utils/pino-log';
import { type Command, Option } from 'commander';
import { type ConnectionFlags, connectionFlags } from '../shared/connection-flags.ts';
import { positive } from '../shared/fail.ts';
import { MigrationLog } from './open.ts';

type Emptying = Pick<HypervisorReconcilerOptions, 'nova' | 'clock' | 'log' | 'limits'> & {
  readonly host: string;
  readonly desired: DesiredHostState;
  readonly timeOutMs: number;
  readonly line: (text: string) => void;
};

/** Outcome. `late`: the time limit passed. */
type Emptied = {
  readonly end: 'empty' | 'stuck' | 'late' | 'stopped';
  readonly view: HostView;
};

/** Returns whether no progress is possible without help. */
function isStuck({ vms, problem }: HostView): boolean {
  return (
    problem === undefined && vms.some(({ state }) => state === 'Cannot') && !vms.some(isOnItsWay)
  );
}

const noView: HostView = { vms: [], empty: false };

/**
 * Empties one hypervisor, with a line for every change, until no server is left that has to leave,
 * only servers remain that cannot migrate, the time limit passes, or the signal is aborted. The
 * service stays disabled.
 */
async function emptyOnce(emptying: Emptying, signal: AbortSignal): Promise<Emptied> {
  const { nova, clock, log, limits = {}, host, desired, timeOutMs, line } = emptying;
  const over = new AbortController();
  const stop = (): void => over.abort();
  const journal = new MigrationLog(line);
  let view = noView;
  let end: Emptied['end'] = 'late';
  const seen = (): void => {
    const now = reconciler.of(host);
    if (typeof now !== 'object') return;
    view = now;
    journal.seen(view);
    if (!view.empty && !isStuck(view)) return;
    end = view.empty ? 'empty' : 'stuck';
    stop();
  };
  const held = new Set([host]);
  const nodes = [{ name: host }];
  const options = { nova, clock, log, limits, touched: seen, held: () => held, nodes: () => nodes };
  const reconciler = new HypervisorReconciler({
    ...options,
    marker: 'drydock nova: ',
    isAnew: true,
  });
  reconciler.want(host, desired);
  const cancel = clock.after(timeOutMs, stop);
  signal.addEventListener('abort', stop);
  if (!signal.aborted) await reconciler.run(over.signal);
  signal.removeEventListener('abort', stop);
  cancel();
  return { end: end === 'late' && signal.aborted ? 'stopped' : end, view };
}

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

export type RunOnceContext = {
  readonly nova: Nova;
  readonly clock: Clock;
  readonly log: Log;
  /** Printer of results. */
  readonly line: (text: string) => void;
  /** Printer of the full result, for programs. */
  readonly document: (text: string) => void;
  /** Printer of progress. */
  readonly note: (text: string) => void;
  readonly signal: AbortSignal;
};

function isForPeople({ kind }: NovaFailure): boolean {
  return kind === 'credentials' || kind === 'unfit' || kind === 'forbidden';
}

function bounded(names: readonly string[], most = 10): string {
  const sorted = [...names].sort();
  return sorted.length <= most
    ? sorted.join(', ')
    : `${sorted.slice(0, most).join(', ')} and ${sorted.length - most} more`;
}

/**
 * Returns the service of the host. Throws a UsageError where the login is refused or the host does
 * not exist.
 */
async function find({ nova, signal }: RunOnceContext, wanted: string): Promise<ComputeService> {
  const { value: services, failure } = await nova.services(signal);
  if (failure !== undefined)
    throw isForPeople(failure) ? new UsageError(failure.message) : new Error(failure.message);
  const hosts = services.map(({ host }) => ({ host }));
  const match = matchHosts([{ name: wanted }], hosts).get(wanted);
  if (match !== undefined && 'problem' in match)
    throw new UsageError(`${wanted}: ${match.problem}`);
  const found = services.find(({ host }) => host === match?.host);
  if (found !== undefined) return found;
  const known =
    services.length === 0
      ? 'Nova has no nova-compute at all'
      : `Nova has ${bounded(hosts.map(({ host }) => host))}`;
  throw new UsageError(
    `Cannot find nova-service with hostname: ${wanted}; ${known}. Name one with --host`,
  );
}

function staying({ id, name, state, message, remedy }: VmStatus): readonly string[] {
  return [
    `  ${name} (${id}) ${state}${message === undefined ? '' : `: ${message}`}`,
    ...(remedy === undefined ? [] : [`    ${remedy}`]),
  ];
}

function report(
  { end, view }: Emptied,
  host: string,
  flags: NovaFlags,
  { line, document, note }: RunOnceContext,
): void {
  const moved = view.vms.filter(({ state }) => state === 'Moved' || state === 'Stopped');
  const others = view.vms.filter(vm => !moved.includes(vm));
  if (end === 'late') note('Time out waiting for live-migration.');
  if (flags.output === 'json')
    document(
      printableJson(
        JSON.stringify({ host, empty: view.empty, end, vms: view.vms, problem: view.problem }),
      ),
    );
  else if (view.empty && others.length === 0) line('All VMs migrated');
  else if (view.empty)
    for (const row of [
      `${moved.length} VMs migrated; these stay, as the policy says:`,
      ...others.flatMap(staying),
    ])
      line(row);
  else {
    const trouble = view.problem === undefined ? [] : [`  ${view.problem}`];
    const head = `${moved.length} of ${view.vms.length} VMs migrated; these are left on ${host}:`;
    for (const row of [head, ...others.flatMap(staying), ...trouble]) line(row);
  }
}

/**
 * Empties the hypervisor of this machine, or the one that `--host` names. Returns whether all
 * servers that had to leave have left.
 */
export async function runOnce(flags: NovaFlags, surroundings: RunOnceContext): Promise<boolean> {
  const { nova, clock, log, note, signal } = surroundings;
  const timeOut = timeOutMs(flags);
  const limits = limitsOf(flags);
  const { host } = await find(surroundings, hostOf(flags));
  const desired = { why: flags.reason ?? 'emptied by hand', policy: policyOf(flags) };
  const emptied = await emptyOnce(
    { nova, clock, log, limits, host, desired, timeOutMs: timeOut, line: note },
    signal,
  );
  report(emptied, host, flags, surroundings);
  return emptied.view.empty;
}

/** Enables the service again, if `drydock nova` disabled it. Returns whether it is enabled now. */
export async function release(flags: NovaFlags, surroundings: RunOnceContext): Promise<boolean> {
  const { nova, log, line, signal } = surroundings;
  const service = await find(surroundings, hostOf(flags));
  if (service.isEnabled) {
    line(`${service.host} is enabled`);
    return true;
  }
  if (!isMarked('drydock nova: ', service.disabledReason)) {
    line(
      `${service.host} was disabled by somebody else, and stays so: ${service.disabledReason ?? 'no reason is given'}`,
    );
    return false;
  }
  log.info('Enabling hypervisor.', { host: service.host });
  const { failure } = await nova.perform({ kind: 'enable' }, service.id, signal);
  if (failure !== undefined) throw new Error(failure.message);
  line(`${service.host} is enabled`);
  return true;
}

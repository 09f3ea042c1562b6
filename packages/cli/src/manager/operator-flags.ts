import { type IntOrPercent, resolveAmount } from '@drydock/apimachinery';
import { leaseNamespaces } from '@drydock/apis';
import { type EventKind, eventKinds } from '@drydock/core';
import type { NovaWhere } from '@drydock/openstack';
import type { OpenStackTerms } from '@drydock/operator';
import { everyNamespace } from '@drydock/operator/cache';
import type { IntakeSettings, ManagerSettings } from '@drydock/operator/manager';
import { type Address, parseAddress } from '@drydock/operator/serving';
import { type Clock, type Env, systemClock, UsageError } from '@drydock/utils';
import type { LogFormat } from '@drydock/utils/pino-log';
import { type Command, Option } from 'commander';
import { novaOf } from '../nova/open.ts';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { positive } from '../shared/fail.ts';
import { type OpenStackFlags, type WebhookFlags, webhookSettings } from './webhook-flags.ts';

/** Flags of the command line. */
type IntakeFlags = {
  readonly eventIntakeBindAddress?: string;
  readonly eventIntakeTokenFile?: string;
  readonly eventIntakeCertDir?: string;
  readonly eventIntakeType?: readonly string[];
};

function typeOf(text: string): readonly [string, EventKind] {
  const [type = '', word = ''] = text.split('=');
  const kind = eventKinds.find(one => one === word);
  if (type === '' || kind === undefined) {
    throw new UsageError(
      `invalid value "${text}" for --event-intake-type: expected TYPE=KIND, where KIND is one of ${eventKinds.join(', ')}`,
    );
  }
  return [type, kind];
}

/** Checks the flags; returns undefined when the intake is disabled. */
function intakeSettings(
  flags: IntakeFlags,
  address: Address | undefined,
): IntakeSettings | undefined {
  const {
    eventIntakeTokenFile: tokenFile = '',
    eventIntakeType: types = [],
    eventIntakeCertDir: certDir,
  } = flags;
  if (address === undefined) return undefined;
  if (tokenFile === '')
    throw new UsageError(
      '--event-intake-token-file is required: it holds the tokens that senders must present',
    );
  return { address, tokenFile, certDir, types: Object.fromEntries(types.map(typeOf)) };
}

function whereOf(flags: OpenStackFlags): NovaWhere {
  return {
    cloud: flags.openstackCloud,
    configPath: flags.openstackConfigPath,
    region: flags.openstackRegion,
    interface: flags.openstackInterface,
    caFile: flags.openstackCaFile,
  };
}

/**
 * Returns the OpenStack of the flags; undefined where they name none. Throws a UsageError that
 * names what to correct.
 */
function openStackOf(
  flags: OpenStackFlags,
  env: Readonly<Record<string, string | undefined>>,
  clock: Clock,
): OpenStackTerms | undefined {
  if (
    flags.openstack !== true &&
    flags.openstackCloud === undefined &&
    flags.openstackConfigPath === undefined
  )
    return undefined;
  const limits = {
    perHost: positive('--openstack-migrations-per-host', flags.openstackMigrationsPerHost),
    total: positive('--openstack-migrations', flags.openstackMigrations),
  };
  return { nova: novaOf(whereOf(flags), env, clock), limits };
}

/** Flags of the command line. */
export type OperatorFlags = WebhookFlags &
  OpenStackFlags &
  IntakeFlags &
  ConnectionFlags & {
    readonly metricsBindAddress: string;
    readonly metricsSecure: boolean | string;
    readonly metricsCertDir?: string;
    readonly healthProbeBindAddress: string;
    readonly dashboardBindAddress?: string;
    readonly leaderElect: boolean | string;
    readonly leaderElectionNamespace?: string;
    readonly zapLogLevel?: string;
    readonly zapEncoder?: 'json' | 'console';
    readonly logFormat?: LogFormat;
    readonly nodeLeaseDurationSeconds: string;
    readonly evictionRequests: 'Auto' | 'Never';
    readonly machineMaintenanceNamespace?: string;
    readonly machineMaintenanceWatchNamespaces: readonly string[];
    readonly allowedAwsEndpoint: readonly string[];
    readonly machinesPerSet: string;
    readonly machinesPerZone: string;
    readonly nodesUnavailable: string;
    readonly drainLeadSeconds: string;
    readonly monitoringConfig?: string;
    readonly notificationConfig?: string;
  };

/** Checked settings of the command: those of the process, and those of what the command adds. */
export type OperatorSettings = ManagerSettings & {
  /** Address of the dashboard, on the loopback interface: everyone who reaches it may read. */
  readonly dashboardAddress: Address | undefined;
  readonly logFormat: LogFormat;
  readonly logLevel: string;
};

function addressOf(flag: string, text: string): Address | undefined {
  if (text === '0' || text === '') return undefined;
  const address = parseAddress(text);
  if (address === undefined)
    throw new UsageError(
      `invalid value "${text}" for ${flag}: expected host:port or :port, or 0 to switch it off`,
    );
  return address;
}

/**
 * Returns a loopback address. Kubernetes decides who may read a cluster: the page is reached
 * through `kubectl port-forward`, never from a network.
 */
function loopbackOf(flag: string, text: string): Address | undefined {
  const address = addressOf(flag, text);
  if (address === undefined) return undefined;
  const { host = '' } = address;
  if (host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)) return address;
  throw new UsageError(
    `${flag} is "${text}"; the dashboard is served on loopback addresses only, for example 127.0.0.1:8721`,
  );
}

function booleanOf(flag: string, value: boolean | string): boolean {
  if (typeof value === 'boolean') return value;
  if (['true', 't', '1', 'True', 'TRUE', 'T'].includes(value)) return true;
  if (['false', 'f', '0', 'False', 'FALSE', 'F'].includes(value)) return false;
  throw new UsageError(`invalid value "${value}" for ${flag}: expected true or false`);
}

function ownPodOf(env: Env): string | undefined {
  const { POD_NAMESPACE: namespace = '', POD_NAME: name = '' } = env;
  return namespace === '' || name === '' ? undefined : `${namespace}/${name}`;
}

/** Returns the log level for zap's: a name, or a number of steps below info. */
function levelOf(text = 'info'): string {
  if (['debug', 'info', 'warn', 'error'].includes(text)) return text;
  if (/^\d+$/.test(text)) return text === '0' ? 'info' : 'debug';
  if (text === 'panic') return 'error';
  throw new UsageError(
    `invalid value "${text}" for --zap-log-level: expected debug, info, warn, error or a number`,
  );
}

function secondsOf(flag: string, text: string): number {
  const seconds = Number(text);
  if (!Number.isInteger(seconds) || seconds < 4)
    throw new UsageError(
      `invalid value "${text}" for ${flag}: expected a whole number of seconds, 4 or more`,
    );
  return seconds;
}

function countOf(flag: string, text: string): number {
  const count = Number(text);
  if (text === '' || !Number.isInteger(count) || count < 0)
    throw new UsageError(`invalid value "${text}" for ${flag}: expected a whole number, 0 or more`);
  return count;
}

/** Parses a number or a percentage. */
function amountOf(flag: string, text: string): IntOrPercent {
  const amount: IntOrPercent = text.endsWith('%') ? text : countOrNaN(text);
  if (resolveAmount(amount, 100) === undefined)
    throw new UsageError(
      `invalid value "${text}" for ${flag}: expected a whole number, 0 or more, or a percentage from 1% to 100%`,
    );
  return amount;
}

function countOrNaN(text: string): number {
  return text === '' ? Number.NaN : Number(text);
}

function namespaceNames(names: readonly string[]): readonly string[] {
  const odd = names.find(
    name => name !== everyNamespace && !/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name),
  );
  if (odd !== undefined)
    throw new UsageError(
      `invalid value "${odd}" for --machine-maintenance-watch-namespaces: expected comma-separated names of namespaces, or *`,
    );
  return names;
}

function endpoints(urls: readonly string[]): readonly string[] {
  const odd = urls.find(url => !/^https?:\/\//.test(url) || !URL.canParse(url));
  if (odd !== undefined)
    throw new UsageError(
      `invalid value "${odd}" for --allowed-aws-endpoint: expected a URL, for example https://ec2.cloud.example.com`,
    );
  return urls;
}

/**
 * Checks the flags; throws a UsageError that names the flag and its valid values. An empty
 * LEASE_NAMESPACE means the default.
 */
export function operatorSettings(
  flags: OperatorFlags,
  env: Env,
  terminal: boolean,
): OperatorSettings {
  const chosen =
    flags.logFormat ??
    (flags.zapEncoder === undefined ? undefined : flags.zapEncoder === 'json' ? 'json' : 'text');
  return {
    metrics: {
      address: addressOf('--metrics-bind-address', flags.metricsBindAddress),
      secure: booleanOf('--metrics-secure', flags.metricsSecure),
      certDir: flags.metricsCertDir === '' ? undefined : flags.metricsCertDir,
    },
    healthAddress: addressOf('--health-probe-bind-address', flags.healthProbeBindAddress),
    dashboardAddress: loopbackOf('--dashboard-bind-address', flags.dashboardBindAddress ?? '0'),
    leaderElect: booleanOf('--leader-elect', flags.leaderElect),
    leaderNamespace: flags.leaderElectionNamespace,
    ...leaseNamespaces(env),
    ownPod: ownPodOf(env),
    podUid: env['POD_UID'] === '' ? undefined : env['POD_UID'],
    ownNode: env['NODE_NAME'] === '' ? undefined : env['NODE_NAME'],
    leaseSeconds: secondsOf('--node-lease-duration-seconds', flags.nodeLeaseDurationSeconds),
    evictionRequests: flags.evictionRequests,
    machineNamespace:
      flags.machineMaintenanceNamespace === '' ? undefined : flags.machineMaintenanceNamespace,
    machines: {
      awsEndpoints: endpoints(flags.allowedAwsEndpoint),
      watchNamespaces: namespaceNames(flags.machineMaintenanceWatchNamespaces),
      limits: {
        perSet: countOf('--machines-per-set', flags.machinesPerSet),
        perZone: countOf('--machines-per-zone', flags.machinesPerZone),
        nodes: amountOf('--nodes-unavailable', flags.nodesUnavailable),
      },
      region: env['AWS_REGION'],
      drainLeadSeconds: countOf('--drain-lead-seconds', flags.drainLeadSeconds),
    },
    logFormat: chosen ?? (terminal ? 'text' : 'json'),
    logLevel: levelOf(flags.zapLogLevel),
    eventIntake: intakeSettings(
      flags,
      addressOf('--event-intake-bind-address', flags.eventIntakeBindAddress ?? '0'),
    ),
    openStack: openStackOf(flags, env, systemClock),
    monitoringConfig: flags.monitoringConfig === '' ? undefined : flags.monitoringConfig,
    notificationConfig: flags.notificationConfig === '' ? undefined : flags.notificationConfig,
    webhook: webhookSettings(flags, env),
  };
}

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

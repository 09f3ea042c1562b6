import { defaultLimits } from '@drydock/core/hypervisor';
import type { WebhookSettings } from '@drydock/operator/manager';
import { type Env, UsageError } from '@drydock/utils';
import type { Command } from 'commander';
import { seconds } from '../shared/fail.ts';

/** Flags of the command line. */
export type WebhookFlags = {
  readonly webhookPort?: string;
  readonly webhookCertDir?: string;
  readonly webhookServiceName?: string;
  readonly webhookConfigurationName?: string;
  readonly webhookExtraName?: readonly string[];
  readonly webhookClientCaFile?: string;
  readonly shutdownDelayDuration?: string;
};

/**
 * Port of controller-runtime's webhook servers, to which the Services of the replaced operators
 * lead.
 */
const defaultPort = '9443';

/**
 * Delay after which kube-proxies know that a pod terminates; it leaves most of a grace period of 30
 * s.
 */
const defaultDelay = '5s';

/** Adds the flags of the webhook to `drydock operator`. */
export function webhookFlags(command: Command): Command {
  return command
    .option(
      '--webhook-port <n>',
      `port to serve the validating webhook on, over TLS (0: off). Default: in a pod that knows its namespace ${defaultPort}, elsewhere 0`,
    )
    .option(
      '--webhook-cert-dir <folder>',
      "folder with tls.crt and tls.key for the webhook (default: OLM's certificate, else a self-managed one)",
    )
    .option(
      '--webhook-client-ca-file <file>',
      'path of the CA certificates that API servers must present a certificate of',
    )
    .option('--webhook-service-name <name>', 'Service in front of the webhook', 'drydock-webhook')
    .option(
      '--webhook-configuration-name <name>',
      'ValidatingWebhookConfiguration to inject the caBundle into',
      'drydock',
    )
    .option(
      '--shutdown-delay-duration <duration>',
      `time to keep serving the webhook after SIGTERM, until API servers use other replicas (default: ${defaultDelay} in a pod, else 0s)`,
    )
    .option(
      '--webhook-extra-name <name...>',
      'further host names or IP addresses for the self-managed certificate',
    );
}

function filled(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

function portOf(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new UsageError(
      `invalid value "${text}" for --webhook-port: expected a port number, or 0 to switch it off`,
    );
  return port;
}

function delayOf(text: string): number {
  const delay = seconds('--shutdown-delay-duration', text);
  if (delay < 0 || delay > 3600)
    throw new UsageError(
      `invalid value "${text}" for --shutdown-delay-duration: expected a duration from 0s to 1h`,
    );
  return delay * 1000;
}

/**
 * Returns the settings; undefined without a webhook. The webhook is served where a port is given,
 * and in a pod that knows its namespace (POD_NAMESPACE, or OPERATOR_NAMESPACE as in the manifests
 * of the replaced operator), because a Service may lead to it there. Throws a UsageError.
 */
export function webhookSettings(flags: WebhookFlags, env: Env): WebhookSettings | undefined {
  const namespace = filled(env['POD_NAMESPACE']) ?? filled(env['OPERATOR_NAMESPACE']);
  const isPod = filled(env['KUBERNETES_SERVICE_HOST']) !== undefined && namespace !== undefined;
  const port = portOf(flags.webhookPort ?? (isPod ? defaultPort : '0'));
  const shutdownDelayMs = delayOf(flags.shutdownDelayDuration ?? (isPod ? defaultDelay : '0s'));
  if (port === 0) return undefined;
  const certDir = filled(flags.webhookCertDir);
  const clientCaFile = filled(flags.webhookClientCaFile);
  return {
    port,
    ...(namespace !== undefined && { namespace }),
    ...(certDir !== undefined && { certDir }),
    service: filled(flags.webhookServiceName) ?? 'drydock-webhook',
    configuration: filled(flags.webhookConfigurationName) ?? 'drydock',
    extraNames: flags.webhookExtraName ?? [],
    ...(clientCaFile !== undefined && { clientCaFile }),
    shutdownDelayMs,
  };
}

/** Flags of the operator's command line. */
export type OpenStackFlags = {
  readonly openstack?: boolean;
  readonly openstackCloud?: string;
  readonly openstackConfigPath?: string;
  readonly openstackRegion?: string;
  readonly openstackInterface?: string;
  readonly openstackCaFile?: string;
  readonly openstackMigrationsPerHost: string;
  readonly openstackMigrations: string;
};

/** Adds the flags. */
export function openStackFlags(command: Command): Command {
  return command
    .option(
      '--openstack',
      'treat nodes as hypervisors of the OpenStack named by OS_CLOUD or the OS_* variables, and move their servers',
    )
    .option('--openstack-cloud <name>', 'as --openstack, with this cloud of clouds.yaml')
    .option(
      '--openstack-config-path <file>',
      'as --openstack, with a configuration file of nova-kubernetes-drain',
    )
    .option('--openstack-region <name>', 'region to use; required if the catalog has several')
    .option('--openstack-interface <name>', 'interface of the endpoint: internal, public or admin')
    .option('--openstack-ca-file <file>', 'path of the CA certificates to trust')
    .option(
      '--openstack-migrations-per-host <n>',
      'maximum migrations off one host at a time, including those queued in Nova',
      String(defaultLimits.perHost),
    )
    .option(
      '--openstack-migrations <n>',
      'maximum migrations off all hosts at a time',
      String(defaultLimits.total),
    );
}

import { type Env, environmentProxies } from '@drydock/utils';

/** The part of EC2's API that the scan needs, with EC2's own names. */

/** A scheduled event of an instance, from DescribeInstanceStatus. */
export type Ec2Event = {
  readonly InstanceEventId?: string | undefined;
  readonly Code?: string | undefined;
  readonly Description?: string | undefined;
  readonly NotBefore?: Date | undefined;
  readonly NotAfter?: Date | undefined;
  readonly NotBeforeDeadline?: Date | undefined;
};

export type Ec2Status = {
  readonly InstanceId?: string | undefined;
  readonly Events?: readonly Ec2Event[] | undefined;
};

/**
 * An error of EC2, or of the connection to it. `code` is the operating system's, for example
 * ECONNREFUSED.
 */
export type Ec2Failure = {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly status?: number;
};

export type Ec2Answer =
  | { readonly statuses: readonly Ec2Status[]; readonly failure?: undefined }
  | { readonly statuses?: undefined; readonly failure: Ec2Failure };

/** Client of EC2 in one region. */
export interface Ec2 {
  /**
   * Requests the statuses of at most 100 instances, including stopped ones; the result need only
   * contain those with events. Returns failures as values; rejects only with the signal's reason.
   */
  describe(ids: readonly string[], signal: AbortSignal): Promise<Ec2Answer>;
}

/** EC2's limit of ids in one call. */
export const idsPerCall = 100;

/** Codes of events that EC2 can schedule (EC2 API reference, InstanceStatusEvent.code). */
export const ec2Codes = [
  'instance-reboot',
  'system-reboot',
  'system-maintenance',
  'instance-retirement',
  'instance-stop',
] as const;

export type Ec2Options = {
  /** Region, for example `eu-central-1`. */
  readonly region: string;
  /**
   * Credentials; without them, the SDK's own chain finds (environment, shared files, web identity,
   * container, instance role) and renews them.
   */
  readonly credentials?: {
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
    readonly sessionToken?: string;
  };
  /** URL instead of the region's own: a VPC endpoint, or a test's server. */
  readonly endpoint?: string;
  /**
   * Environment with the proxies, which apply to the SDK's requests for credentials too; this
   * process's own when left out.
   */
  readonly env?: Env;
};

function failureOf(error: unknown): Ec2Failure {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) };
  const { code, $metadata } = error as {
    readonly code?: unknown;
    readonly $metadata?: { readonly httpStatusCode?: number };
  };
  const status = $metadata?.httpStatusCode;
  return {
    name: error.name,
    message: error.message,
    ...(typeof code === 'string' && { code }),
    ...(status !== undefined && { status }),
  };
}

/**
 * Opens a client for EC2 in one region; the first call loads the SDK. Sends no request before
 * `describe`, so wrong credentials show there. Keeps at most two connections alive; dispose of the
 * client to close them. The SDK itself tries a call three times, 10 s each.
 */
export async function openEc2({
  region,
  credentials,
  endpoint,
  env = process.env,
}: Ec2Options): Promise<Ec2 & Disposable> {
  const { EC2Client, DescribeInstanceStatusCommand } = await import('./sdk.ts');
  const agent = { keepAlive: true, maxSockets: 2, ...environmentProxies(env) };
  const client = new EC2Client({
    region,
    maxAttempts: 3,
    requestHandler: {
      connectionTimeout: 5000,
      requestTimeout: 10_000,
      throwOnRequestTimeout: true,
      httpAgent: agent,
      httpsAgent: agent,
    },
    ...(credentials !== undefined && { credentials }),
    ...(endpoint !== undefined && { endpoint }),
  });
  const filters = [{ Name: 'event.code', Values: [...ec2Codes] }];
  return {
    describe: async (ids, signal) => {
      try {
        const command = new DescribeInstanceStatusCommand({
          InstanceIds: [...ids],
          IncludeAllInstances: true,
          Filters: filters,
        });
        const { InstanceStatuses = [] } = await client.send(command, { abortSignal: signal });
        return { statuses: InstanceStatuses };
      } catch (error) {
        signal.throwIfAborted();
        return { failure: failureOf(error) };
      }
    },
    [Symbol.dispose]: () => client.destroy(),
  };
}

/**
 * Returns whether a MachineEventSource may name this endpoint. Otherwise, authors of sources could
 * have signed requests, with the session token of the operator, sent to any address, and forge
 * announcements from there. Amazon's own endpoints over https are allowed
 * (docs.aws.amazon.com/general/latest/gr/rande.html), others where the operator's flags name them.
 */
export function mayAsk(endpoint: string, allowed: readonly string[]): boolean {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url === undefined || url.username !== '' || url.password !== '') return false;
  if (allowed.some(one => URL.canParse(one) && new URL(one).href === url.href)) return true;
  return (
    url.protocol === 'https:' &&
    url.port === '' &&
    /\.(amazonaws\.com|amazonaws\.com\.cn|api\.aws)$/.test(url.hostname)
  );
}

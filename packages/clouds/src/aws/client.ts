import type { Env } from '@drydock/utils';
import { environmentProxies } from '@drydock/utils';
import { type Ec2, type Ec2Failure, ec2Codes } from './ec2.ts';

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

import type { Env } from '../../support/env.ts';
import { environmentProxies } from '../../support/proxy.ts';
import { type Ec2, type Ec2Failure, ec2Codes } from './ec2.ts';

export type Ec2Options = {
  /** For example `eu-central-1`. */
  readonly region: string;
  /** Left out: the SDK's own chain finds them (environment, shared files, web identity, container, instance role) and renews them. */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string; readonly sessionToken?: string };
  /** Another URL than the region's own: a VPC endpoint, or a test. */
  readonly endpoint?: string;
  /** Of which the proxies count, for the SDK's questions about credentials too; this process's own when left out. */
  readonly env?: Env;
};

const failureOf = (error: unknown): Ec2Failure => {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) };
  const { code, $metadata } = error as { readonly code?: unknown; readonly $metadata?: { readonly httpStatusCode?: number } };
  const status = $metadata?.httpStatusCode;
  return {
    name: error.name,
    message: error.message,
    ...(typeof code === 'string' && { code }),
    ...(status !== undefined && { status }),
  };
};

/**
 * Opens EC2 of one region; the SDK is loaded with the first of them. Nothing is asked until `describe` is, so wrong credentials show there.
 * Connections are kept, at most two; dispose of it to close them. The SDK itself tries a call three times, 10 s each.
 */
export const openEc2 = async ({ region, credentials, endpoint, env = process.env }: Ec2Options): Promise<Ec2 & Disposable> => {
  const { EC2Client, DescribeInstanceStatusCommand } = await import('./sdk.ts');
  const agent = { keepAlive: true, maxSockets: 2, ...environmentProxies(env) };
  const client = new EC2Client({
    region,
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 5000, requestTimeout: 10_000, throwOnRequestTimeout: true, httpAgent: agent, httpsAgent: agent },
    ...(credentials !== undefined && { credentials }),
    ...(endpoint !== undefined && { endpoint }),
  });
  const filters = [{ Name: 'event.code', Values: [...ec2Codes] }];
  return {
    describe: async (ids, signal) => {
      try {
        const command = new DescribeInstanceStatusCommand({ InstanceIds: [...ids], IncludeAllInstances: true, Filters: filters });
        const { InstanceStatuses = [] } = await client.send(command, { abortSignal: signal });
        return { statuses: InstanceStatuses };
      } catch (error) {
        signal.throwIfAborted();
        return { failure: failureOf(error) };
      }
    },
    [Symbol.dispose]: () => client.destroy(),
  };
};

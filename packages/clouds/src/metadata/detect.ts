import { isObject } from '@drydock/apimachinery';
import type { Clock } from '@drydock/utils';
import type { Fetched } from '../source-error.ts';
import { askMetadata, type MetadataRequest, type MetadataResponse, parsed } from './http.ts';

export type MetadataProvider = 'aws' | 'azure' | 'gcp';

type Probe = {
  readonly provider: MetadataProvider;
  readonly question: MetadataRequest;
  readonly is: (reply: MetadataResponse) => boolean;
};

/** Probes, the most reliable first: other clouds imitate EC2's paths. */
const probes: readonly Probe[] = [
  {
    provider: 'gcp',
    question: { path: '/computeMetadata/v1/instance/id', headers: { 'Metadata-Flavor': 'Google' } },
    is: reply => reply.headers['metadata-flavor']?.toLowerCase() === 'google',
  },
  {
    provider: 'azure',
    question: {
      path: '/metadata/instance/compute?api-version=2021-02-01',
      headers: { Metadata: 'true' },
    },
    is: reply => {
      const document = parsed('', reply).told;
      return isObject(document) && typeof document['vmId'] === 'string';
    },
  },
  {
    provider: 'aws',
    question: {
      path: '/latest/api/token',
      method: 'PUT',
      headers: { 'X-aws-ec2-metadata-token-ttl-seconds': '60' },
    },
    is: reply => /^\S+$/.test(reply.text.trim()),
  },
];

/**
 * Detects the cloud of this machine by three requests to the metadata service at once. Returns
 * undefined when none matches, or none responds within the time limit (2 s when left out): that is
 * a result, not an error.
 */
export async function detectCloud(options: {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly base?: string;
  readonly timeoutMs?: number;
}): Promise<MetadataProvider | undefined> {
  const { signal, timeoutMs = 2000, ...rest } = options;
  const asked = probes.map(async ({ question, is }): Promise<boolean> => {
    const { told }: Fetched<MetadataResponse> = await askMetadata(
      { ...rest, source: '' },
      { ...question, timeoutMs },
      signal,
    );
    return told !== undefined && told.status === 200 && is(told);
  });
  const answers = await Promise.all(asked);
  return probes[answers.indexOf(true)]?.provider;
}

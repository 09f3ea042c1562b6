import { isObject } from '@drydock/apimachinery';
import type { MachineEvent } from '@drydock/core/machine';
import {
  AnswerTooLarge,
  type Clock,
  createTransport,
  Deadline,
  direct,
  errorText,
  type HttpResponse,
  isDefect,
} from '@drydock/utils';
import type { Fetched, SourceError } from '../signals.ts';

/** Address of the metadata service in every cloud. */
const metadataBase = 'http://169.254.169.254';

/** Options for access to the metadata service. */
export type MetadataAccess = {
  /** Base URL; `http://169.254.169.254` when left out. */
  readonly base?: string;
  readonly clock: Clock;
  /** Source of every event. */
  readonly source: string;
};

export type MetadataRequest = {
  readonly path: string;
  readonly method?: 'GET' | 'PUT' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly timeoutMs?: number;
};

export type MetadataResponse = HttpResponse;

/**
 * Reader of a metadata service. `urgent` is called every few seconds, `scheduled` every half
 * minute. They reject only for an aborted signal.
 */
export interface MetadataReader {
  /** Returns the machine's id in the cloud: the last part of its providerID. */
  identity(signal: AbortSignal): Promise<Fetched<string>>;
  urgent(signal: AbortSignal): Promise<Fetched<readonly MachineEvent[]>>;
  scheduled(signal: AbortSignal): Promise<Fetched<readonly MachineEvent[]>>;
}

const maxReplyLength = 1 << 20;

/**
 * Transport without keep-alive: requests are seconds apart. Not fetch, whose own client costs every
 * node another 10 MiB.
 */
const exchange = createTransport({ mostBytes: maxReplyLength, keepAlive: false, proxyFor: direct });

/**
 * Sends one request to the metadata service. Returns a response of any status; without one within
 * the time limit (5 s when left out), the failure Unreachable. Rejects with the signal's reason,
 * and for defects. Redirects are not followed: a metadata service sends none.
 */
export async function askMetadata(
  access: MetadataAccess,
  question: MetadataRequest,
  signal: AbortSignal,
): Promise<Fetched<MetadataResponse>> {
  const { path, method = 'GET', headers = {}, body, timeoutMs = 5000 } = question;
  const url = `${access.base ?? metadataBase}${path}`;
  signal.throwIfAborted();
  using deadline = new Deadline(access.clock, timeoutMs, [signal]);
  try {
    const asking = { method, url, headers, ...(body !== undefined && { body }) };
    return { value: await exchange(asking, deadline.signal) };
  } catch (error) {
    signal.throwIfAborted();
    if (isDefect(error)) throw error;
    if (error instanceof AnswerTooLarge) {
      return {
        trouble: {
          reason: 'Failed',
          message: `${method} ${url}: its answer is longer than ${maxReplyLength} bytes; it is asked again.`,
        },
      };
    }
    const why = deadline.expired ? `no answer within ${timeoutMs / 1000} s` : errorText(error);
    const message = `${method} ${url}: ${why}.`;
    return {
      trouble: {
        reason: 'Unreachable',
        message: `${message} Run the agent on a cloud's machine, with hostNetwork.`,
      },
    };
  }
}

/** Returns the failure for an unexpected response. */
export function unexpected(
  path: string,
  { status, text }: MetadataResponse,
  help = 'It is asked again.',
): SourceError {
  const body = text.trim().replace(/\s+/g, ' ').slice(0, 100);
  return {
    reason: 'Failed',
    message: `The metadata service answered ${path} with HTTP ${status}${body === '' ? '' : `: ${body}`}. ${help}`,
  };
}

/** Parses JSON; returns a failure when it is invalid. */
export function parsed(path: string, reply: MetadataResponse): Fetched<unknown> {
  try {
    return { value: JSON.parse(reply.text) as unknown };
  } catch {
    return { trouble: unexpected(path, reply, 'That is not JSON; it is asked again.') };
  }
}

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
      const document = parsed('', reply).value;
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
    const { value }: Fetched<MetadataResponse> = await askMetadata(
      { ...rest, source: '' },
      { ...question, timeoutMs },
      signal,
    );
    return value !== undefined && value.status === 200 && is(value);
  });
  const responses = await Promise.all(asked);
  return probes[responses.indexOf(true)]?.provider;
}

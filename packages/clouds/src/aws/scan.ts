import type { MachineEvent, SourceObservation, TroubleReason } from '@drydock/core/machine';
import { Backoff, type Clock } from '@drydock/utils';
import type { SourceError } from '../signals.ts';
import { type Ec2, type Ec2Answer, type Ec2Failure, type Ec2Status, idsPerCall } from './client.ts';
import { fromEc2, machineEvents } from './events.ts';

type Class = {
  readonly reason: TroubleReason;
  readonly help: string;
  readonly is: (failure: Ec2Failure) => boolean;
};

function named(...names: readonly string[]) {
  return ({ name }: Ec2Failure): boolean => names.includes(name);
}

const network =
  /^(E(CONN(REFUSED|RESET|ABORTED)|NOTFOUND|AI_AGAIN|TIMEDOUT|HOSTUNREACH|NETUNREACH|PIPE|PROTO)|UND_ERR_.*|.*CERT.*)$/;

/**
 * Classes of errors; the first match counts. Names are those of EC2 (API reference, "Error codes"),
 * of STS and of the SDK.
 */
const classes: readonly Class[] = [
  {
    reason: 'Throttled',
    is: named(
      'RequestLimitExceeded',
      'Throttling',
      'ThrottlingException',
      'ThrottledException',
      'EC2ThrottledException',
      'TooManyRequestsException',
      'RequestThrottled',
      'RequestThrottledException',
      'SlowDown',
      'BandwidthLimitExceeded',
    ),
    help: 'It is asked again at the next scan; scan less often, or ask AWS for a higher limit for DescribeInstanceStatus.',
  },
  {
    reason: 'ClockSkew',
    is: failure =>
      named('RequestTimeTooSkewed', 'RequestInTheFuture')(failure) ||
      /signature (not yet current|expired)/i.test(failure.message),
    help: 'The clock of this machine differs from that of AWS: set it, for example with chrony.',
  },
  {
    reason: 'CredentialsExpired',
    is: named('RequestExpired', 'ExpiredToken', 'ExpiredTokenException'),
    help: 'Renew the credentials. If they are fresh, compare the clock of this machine with that of AWS.',
  },
  {
    reason: 'NotAuthorized',
    is: failure =>
      named('UnauthorizedOperation')(failure) ||
      (named('AccessDenied', 'AccessDeniedException')(failure) &&
        !/sts:|assume/i.test(failure.message)),
    help: 'Give the role or user of these credentials the IAM permission ec2:DescribeInstanceStatus on resource "*".',
  },
  {
    reason: 'CredentialsRefused',
    is: named(
      'AuthFailure',
      'InvalidClientTokenId',
      'SignatureDoesNotMatch',
      'UnrecognizedClientException',
      'InvalidAccessKeyId',
      'Blocked',
    ),
    help: 'AWS does not know the access key, or the secret does not belong to it: check both, and that the key is active and of this partition.',
  },
  {
    reason: 'CredentialsRefused',
    is: named(
      'AccessDenied',
      'AccessDeniedException',
      'InvalidIdentityToken',
      'InvalidIdentityTokenException',
      'IDPRejectedClaim',
    ),
    help: 'The role may not be assumed with this identity: check its trust policy and the annotation of the ServiceAccount.',
  },
  {
    reason: 'CredentialsMissing',
    is: failure =>
      named(
        'CredentialsProviderError',
        'TokenProviderError',
        'ProviderError',
        'MissingAuthenticationToken',
      )(failure) ||
      /could not load credentials|resolved credential object is not valid/i.test(failure.message),
    help: 'Name a Secret with aws_access_key_id and aws_secret_access_key, or give the pod a role (web identity, or that of its instance).',
  },
  {
    reason: 'RegionUnknown',
    is: ({ message }) =>
      /region is missing|invalid hostname|region not (accepted|found)/i.test(message),
    help: 'Name the region in the source.',
  },
  {
    reason: 'Unreachable',
    is: failure =>
      network.test(failure.code ?? '') ||
      network.test(failure.name) ||
      named('TimeoutError', 'NetworkingError', 'RequestTimeout')(failure),
    help: 'Check the region, DNS, the proxy of the environment (HTTPS_PROXY, NO_PROXY) and the egress rules between this pod and EC2.',
  },
];

function words({ name, message, status }: Ec2Failure): string {
  const detail = message.trim().replace(/\.$/, '');
  const what =
    name === 'Error' || detail.startsWith(name)
      ? detail
      : `${name}${detail === '' ? '' : `: ${detail}`}`;
  return what === '' ? `HTTP ${status ?? 'failure'}` : what;
}

/**
 * Returns why a request to EC2 failed: the reason as a word, and the error and a remedy as a
 * sentence.
 */
export function toSourceError(failure: Ec2Failure): SourceError {
  const { reason, help } = classes.find(({ is }) => is(failure)) ?? {
    reason: 'Failed',
    help: 'It is asked again at the next scan; if it stays, look the error up in the EC2 API reference.',
  };
  return { reason, message: `EC2 DescribeInstanceStatus failed: ${words(failure)}. ${help}` };
}

export type Ec2Scan = {
  /** Instance ids in any order; duplicates are requested once. */
  readonly instances: readonly string[];
  readonly client: Ec2;
  /** Name of the source in the observation. */
  readonly source: string;
  readonly clock: Clock;
  /** Random source, uniform in [0, 1), for the jitter of the backoff. */
  readonly random?: () => number;
  readonly signal: AbortSignal;
};

/** Pattern of the only two valid forms of ids: EC2 refuses a call with any other. */
const instanceId = /^i-([0-9a-f]{8}|[0-9a-f]{17})$/;

/** Limit of calls for one batch that EC2 throttles; the SDK retries each of them too. */
const throttledCalls = 5;

/** Returns whether a failure concerns every batch, so that further calls would only repeat it. */
function isFinal({ reason }: SourceError): boolean {
  return reason !== 'Failed';
}

type Work = Pick<Ec2Scan, 'client' | 'clock' | 'signal'> & { readonly random: () => number };
type Seen = {
  readonly looked: Set<string>;
  readonly unknown: Set<string>;
  readonly statuses: Ec2Status[];
  trouble?: SourceError;
};

async function ask(
  { client, clock, signal, random }: Work,
  ids: readonly string[],
): Promise<Ec2Answer> {
  const backoff = new Backoff({ firstMs: 2000, longestMs: 20_000, random });
  for (let call = 1; ; call += 1) {
    signal.throwIfAborted();
    const answer = await client.describe(ids, signal);
    if (
      answer.failure === undefined ||
      toSourceError(answer.failure).reason !== 'Throttled' ||
      call === throttledCalls
    )
      return answer;
    await clock.sleep(backoff.next(), signal);
  }
}

/** Returns the ids that an error names; the single id of a batch of one. */
function blamed(ids: readonly string[], message: string): readonly string[] {
  if (ids.length === 1) return ids;
  const named = new Set(message.match(/\bi-[0-9a-f]+\b/g));
  return ids.filter(id => named.has(id));
}

/**
 * Returns the batches that replace one that was refused because of some ids: without them, or in
 * halves when the error does not name them.
 */
function withoutBlamed(
  ids: readonly string[],
  bad: readonly string[],
): readonly (readonly string[])[] {
  if (bad.length === 0) return [ids.slice(0, ids.length / 2), ids.slice(ids.length / 2)];
  const rest = ids.filter(id => !bad.includes(id));
  return rest.length === 0 ? [] : [rest];
}

async function scanBatches(
  work: Work,
  batches: readonly (readonly string[])[],
  seen: Seen,
): Promise<void> {
  const queue = [...batches];
  for (let ids = queue.shift(); ids !== undefined; ids = queue.shift()) {
    const { statuses, failure } = await ask(work, ids);
    if (failure === undefined) {
      for (const id of ids) seen.looked.add(id);
      seen.statuses.push(...statuses);
    } else if (
      failure.name === 'InvalidInstanceID.NotFound' ||
      failure.name === 'InvalidInstanceID.Malformed'
    ) {
      const bad = blamed(ids, failure.message);
      for (const id of bad) seen.unknown.add(id);
      queue.unshift(...withoutBlamed(ids, bad));
    } else {
      const trouble = toSourceError(failure);
      // A failure that ends the scan takes precedence over one of a batch, and of the latter the
      // first is reported.
      if (seen.trouble === undefined || isFinal(trouble)) seen.trouble = trouble;
      if (isFinal(trouble)) return;
    }
  }
}

function eventsOf(
  { statuses, looked }: Seen,
  source: string,
  now: Temporal.Instant,
): readonly MachineEvent[] {
  const found = statuses.flatMap(({ InstanceId = '', Events = [] }) =>
    looked.has(InstanceId) ? machineEvents(Events.map(fromEc2), InstanceId, source, now) : [],
  );
  const order = ({ instance = '', id }: MachineEvent): string => `${instance}/${id}`;
  return found.sort((one, other) => (order(one) < order(other) ? -1 : 1));
}

/**
 * Requests the scheduled events of these instances from EC2, 100 in a call. Ids that are unknown to
 * EC2 (or invalid) are set aside and never affect the others. Throttled calls are retried with
 * growing waits, at most five calls for a batch; after any other failure that concerns all
 * instances the scan ends, and keeps the results so far. The order of the instances makes no
 * difference.
 *
 * Rejects with the signal's reason; every other failure is the observation's `trouble`. EC2: at
 * most 100 ids a call, never together with MaxResults; one unknown id fails the whole call
 * (InvalidInstanceID.NotFound).
 */
export async function scanEc2({
  instances,
  source,
  random = Math.random,
  ...work
}: Ec2Scan): Promise<SourceObservation> {
  const all = [...new Set(instances)].sort();
  const ids = all.filter(id => instanceId.test(id));
  const batches = Array.from({ length: Math.ceil(ids.length / idsPerCall) }, (_, n) =>
    ids.slice(n * idsPerCall, (n + 1) * idsPerCall),
  );
  const seen: Seen = {
    looked: new Set(),
    unknown: new Set(all.filter(id => !instanceId.test(id))),
    statuses: [],
  };
  await scanBatches({ ...work, random }, batches, seen);
  return {
    source,
    looked: seen.looked,
    events: eventsOf(seen, source, work.clock.now()),
    unknown: [...seen.unknown].sort(),
    ...(seen.trouble !== undefined && { trouble: seen.trouble }),
  };
}

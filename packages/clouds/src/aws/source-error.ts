import type { TroubleReason } from '@drydock/core/machine';
import type { SourceError } from '../source-error.ts';
import type { Ec2Failure } from './ec2.ts';

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
  const said = message.trim().replace(/\.$/, '');
  const what =
    name === 'Error' || said.startsWith(name) ? said : `${name}${said === '' ? '' : `: ${said}`}`;
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

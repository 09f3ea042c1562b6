import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TroubleReason } from '@drydock/core/machine';
import type { Ec2Failure } from './client.ts';
import { toSourceError } from './scan.ts';

const failures: readonly (readonly [Ec2Failure, TroubleReason, RegExp])[] = [
  [
    { name: 'CredentialsProviderError', message: 'Could not load credentials from any providers' },
    'CredentialsMissing',
    /Secret/,
  ],
  [
    { name: 'Error', message: 'Could not load credentials from any providers' },
    'CredentialsMissing',
    /Secret/,
  ],
  [{ name: 'RequestExpired', message: 'Request has expired.' }, 'CredentialsExpired', /Renew/],
  [
    { name: 'ExpiredToken', message: 'The security token included in the request is expired' },
    'CredentialsExpired',
    /Renew/,
  ],
  [{ name: 'ExpiredTokenException', message: 'Token expired' }, 'CredentialsExpired', /Renew/],
  [
    {
      name: 'AuthFailure',
      message: 'AWS was not able to validate the provided access credentials',
    },
    'CredentialsRefused',
    /access key/,
  ],
  [
    {
      name: 'InvalidClientTokenId',
      message: 'The security token included in the request is invalid',
    },
    'CredentialsRefused',
    /access key/,
  ],
  [
    {
      name: 'SignatureDoesNotMatch',
      message: 'The request signature we calculated does not match',
    },
    'CredentialsRefused',
    /secret/,
  ],
  [
    {
      name: 'SignatureDoesNotMatch',
      message: 'Signature expired: 20300101T000000Z is now earlier than',
    },
    'ClockSkew',
    /clock/,
  ],
  [
    { name: 'SignatureDoesNotMatch', message: 'Signature not yet current: 20300101T000000Z' },
    'ClockSkew',
    /clock/,
  ],
  [{ name: 'RequestTimeTooSkewed', message: 'The difference is too large' }, 'ClockSkew', /clock/],
  [
    { name: 'UnauthorizedOperation', message: 'You are not authorized', status: 403 },
    'NotAuthorized',
    /ec2:DescribeInstanceStatus/,
  ],
  [
    { name: 'AccessDenied', message: 'User is not authorized' },
    'NotAuthorized',
    /ec2:DescribeInstanceStatus/,
  ],
  [
    { name: 'AccessDenied', message: 'Not authorized to perform sts:AssumeRoleWithWebIdentity' },
    'CredentialsRefused',
    /trust policy.*ServiceAccount/,
  ],
  [
    { name: 'RequestLimitExceeded', message: 'Request limit exceeded.', status: 503 },
    'Throttled',
    /scan less often/,
  ],
  [
    { name: 'Error', message: 'connect ECONNREFUSED 127.0.0.1:9', code: 'ECONNREFUSED' },
    'Unreachable',
    /ECONNREFUSED.*egress/,
  ],
  [
    { name: 'Error', message: 'getaddrinfo ENOTFOUND ec2.mars-1.amazonaws.com', code: 'ENOTFOUND' },
    'Unreachable',
    /mars-1.*region/,
  ],
  [{ name: 'TimeoutError', message: 'Connection timed out' }, 'Unreachable', /timed out/],
  [{ name: 'Error', message: 'Region is missing' }, 'RegionUnknown', /Name the region/],
  [
    { name: 'InternalError', message: 'An internal error has occurred', status: 500 },
    'Failed',
    /InternalError: An internal error/,
  ],
  [{ name: 'Error', message: '', status: 502 }, 'Failed', /HTTP 502/],
];
for (const [failure, reason, help] of failures) {
  test(`${failure.name}, "${failure.message}", is ${reason}`, () => {
    const trouble = toSourceError(failure);
    assert.equal(trouble.reason, reason);
    assert.match(trouble.message, help);
    assert.match(trouble.message, /^EC2 DescribeInstanceStatus failed: .*[^.]\. [A-Z].*\.$/);
  });
}

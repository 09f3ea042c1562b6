import { createSecureContext } from 'node:tls';
import type { CredentialFields } from '../http/credentials.ts';

/** Credentials from a credential program. */
export type ExecCredential = {
  readonly part: CredentialFields;
  /**
   * Time of expiry in epoch milliseconds. Infinity when the program gives none: valid until the
   * server rejects them or the process ends.
   */
  readonly expiresAtMs: number;
};

type Raw = {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly status?: {
    readonly token?: string;
    readonly clientCertificateData?: string;
    readonly clientKeyData?: string;
    readonly expirationTimestamp?: string;
  };
};

/**
 * Reads the ExecCredential on a program's standard output. Throws, with a text for users, when the
 * output is not an ExecCredential or has another version.
 */
export function readExecCredential(output: string, apiVersion: string): ExecCredential {
  const raw = parse(output);
  if (raw.kind !== 'ExecCredential')
    throw new Error(`it printed kind ${String(raw.kind)}, not ExecCredential`);
  if (raw.apiVersion !== apiVersion)
    throw new Error(
      `it printed ${String(raw.apiVersion)} where the kubeconfig asks for ${apiVersion}`,
    );
  const {
    token,
    clientCertificateData: cert,
    clientKeyData: key,
    expirationTimestamp,
  } = raw.status ?? {};
  if (token === undefined && cert === undefined)
    throw new Error('it printed neither a token nor a client certificate');
  if ((cert === undefined) !== (key === undefined))
    throw new Error('it printed a client certificate without its key, or a key alone');
  if (cert !== undefined && key !== undefined) createSecureContext({ cert, key });
  return {
    part: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(cert === undefined || key === undefined ? {} : { cert, key }),
    },
    expiresAtMs:
      expirationTimestamp === undefined
        ? Number.POSITIVE_INFINITY
        : Temporal.Instant.from(expirationTimestamp).epochMilliseconds,
  };
}

function parse(output: string): Raw {
  try {
    return JSON.parse(output) as Raw;
  } catch (error) {
    throw new Error('it did not print JSON', { cause: error });
  }
}

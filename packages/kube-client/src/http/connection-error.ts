import { errorText } from '@drydock/utils';
/**
 * Reason why no response arrived.
 * - `unreachable` no connection could be opened
 * - `tls` one side did not trust the other's certificate
 * - `timeout` the call's time limit passed
 * - `reset` the connection broke during the call
 * - `garbled` the response is not HTTP, or not the JSON that its content type claims
 * - `credentials` no credentials could be obtained, so no request was sent
 * - `closed` this client was closed
 */
export type FailureReason =
  | 'unreachable'
  | 'tls'
  | 'timeout'
  | 'reset'
  | 'garbled'
  | 'credentials'
  | 'closed';

const advice: Readonly<Record<FailureReason, string>> = {
  unreachable: 'Check the address and that the API server runs and can be reached from here.',
  tls: 'Check the certificate authority, the client certificate and the server name of the connection.',
  timeout: 'The API server or the way to it is slow or dead.',
  reset: 'The connection broke; it is safe to ask again what only reads.',
  garbled: 'Something between here and the API server may have changed the answer.',
  credentials: 'Check the user of the kubeconfig, or the service account of the pod.',
  closed: 'The connection was closed on this side.',
};

/**
 * Hint for writes: the server calls admission webhooks before it stores an object, and waits for
 * them.
 */
const slowWrite =
  'The API server, the way to it, or an admission webhook that it asks is slow or dead.';

/** Method, path and server of a failed call. */
export type FailedCall = {
  readonly method: string;
  readonly path: string;
  readonly server: string;
};

/** A call for which no response of the API server arrived. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  readonly reason: FailureReason;
  /**
   * Whether bytes of the request may have reached the server: a change may have been made without a
   * response.
   */
  readonly mayHaveHappened: boolean;
  readonly method: string;
  readonly path: string;
  readonly server: string;

  constructor(
    attempt: FailedCall,
    reason: FailureReason,
    mayHaveHappened: boolean,
    cause: unknown,
  ) {
    const isSlowWrite = reason === 'timeout' && attempt.method !== 'GET';
    super(
      `${attempt.method} ${attempt.path} at ${attempt.server}: ${textOf(cause)}. ${isSlowWrite ? slowWrite : advice[reason]}`,
      {
        cause,
      },
    );
    this.reason = reason;
    this.mayHaveHappened = mayHaveHappened;
    this.method = attempt.method;
    this.path = attempt.path;
    this.server = attempt.server;
  }
}

/** Returns an error's text without a final full stop, so that another sentence can follow. */
export function textOf(error: unknown): string {
  return withoutStop(errorText(error));
}

/** Returns a sentence without its final full stop. */
export function withoutStop(sentence: string): string {
  return sentence.replace(/\.$/, '');
}

const unreachable =
  /^(ECONNREFUSED|ENOTFOUND|EAI_|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|ENOENT|ERR_PROXY)/;
const distrusted =
  /^(ERR_TLS|ERR_SSL|ERR_OSSL|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|EPROTO|HOSTNAME_MISMATCH|INVALID_CA)/;

/**
 * Classifies an error of node:http, node:https, node:net or node:tls. `established`: whether the
 * connection was up, TLS included.
 */
export function reasonOf(error: unknown, established: boolean): FailureReason {
  const code = codeOf(error);
  if (distrusted.test(code)) return 'tls';
  if (unreachable.test(code)) return 'unreachable';
  if (code.startsWith('HPE_')) return 'garbled';
  if (code === 'ETIMEDOUT' && established) return 'timeout';
  return established ? 'reset' : 'unreachable';
}

function codeOf(error: unknown): string {
  return typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    typeof error.code === 'string'
    ? error.code
    : '';
}

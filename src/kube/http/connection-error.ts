import { errorText } from '../../support/error-text.ts';
/**
 * Why there was no answer.
 * - `unreachable` no connection could be made
 * - `tls` the other side could not be trusted, or did not trust us
 * - `timeout` the call's time was up
 * - `reset` the connection broke under the call
 * - `garbled` what came back is not HTTP, or not the JSON it says it is
 * - `credentials` none could be had, so nothing was asked
 * - `closed` this client was closed
 */
export type FailureReason = 'unreachable' | 'tls' | 'timeout' | 'reset' | 'garbled' | 'credentials' | 'closed';

const advice: Readonly<Record<FailureReason, string>> = {
  unreachable: 'Check the address and that the API server runs and can be reached from here.',
  tls: 'Check the certificate authority, the client certificate and the server name of the connection.',
  timeout: 'The API server or the way to it is slow or dead.',
  reset: 'The connection broke; it is safe to ask again what only reads.',
  garbled: 'Something between here and the API server may have changed the answer.',
  credentials: 'Check the user of the kubeconfig, or the service account of the pod.',
  closed: 'The connection was closed on this side.',
};

/** The server asks admission webhooks before it stores anything, and waits for them. */
const slowWrite = 'The API server, the way to it, or an admission webhook that it asks is slow or dead.';

/** What a failed call was. */
export type FailedCall = { readonly method: string; readonly path: string; readonly server: string };

/** There was no answer from the API server. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  readonly reason: FailureReason;
  /** Bytes of the request may have reached the server: a change may have been made although nobody said so. */
  readonly mayHaveHappened: boolean;
  readonly method: string;
  readonly path: string;
  readonly server: string;

  constructor(attempt: FailedCall, reason: FailureReason, mayHaveHappened: boolean, cause: unknown) {
    const isSlowWrite = reason === 'timeout' && attempt.method !== 'GET';
    super(`${attempt.method} ${attempt.path} at ${attempt.server}: ${textOf(cause)}. ${isSlowWrite ? slowWrite : advice[reason]}`, {
      cause,
    });
    this.reason = reason;
    this.mayHaveHappened = mayHaveHappened;
    this.method = attempt.method;
    this.path = attempt.path;
    this.server = attempt.server;
  }
}

/** What an error says, to be followed by another sentence or by nothing. */
export const textOf = (error: unknown): string => withoutStop(errorText(error));

/** A sentence that others are appended to. */
export const withoutStop = (sentence: string): string => sentence.replace(/\.$/, '');

const unreachable = /^(ECONNREFUSED|ENOTFOUND|EAI_|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|ENOENT|ERR_PROXY)/;
const distrusted = /^(ERR_TLS|ERR_SSL|ERR_OSSL|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|EPROTO|HOSTNAME_MISMATCH|INVALID_CA)/;

/** Sorts an error of node:http, node:https, node:net or node:tls. `established` = the connection stood, TLS included. */
export const reasonOf = (error: unknown, established: boolean): FailureReason => {
  const code = codeOf(error);
  if (distrusted.test(code)) return 'tls';
  if (unreachable.test(code)) return 'unreachable';
  if (code.startsWith('HPE_')) return 'garbled';
  if (code === 'ETIMEDOUT' && established) return 'timeout';
  return established ? 'reset' : 'unreachable';
};

const codeOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string' ? error.code : '';

import { createSecureContext, type SecureContext } from 'node:tls';
import { errorText } from '@drydock/utils';
import type { RequestHeaders } from './exchange.ts';

/** TLS material. The same object as long as nothing changes: a new object means new connections. */
export type TlsMaterial = {
  readonly ca?: string | readonly string[];
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
};

/**
 * OpenSSL's context for the certificates, created on first use. All connections share it: separate
 * contexts for 200 connections took 5 MiB.
 */
export class TlsContext {
  readonly #material: TlsMaterial;
  #context: SecureContext | undefined;

  constructor(material: TlsMaterial) {
    this.#material = material;
  }

  /** Returns the context. Throws when OpenSSL refuses the material. */
  get context(): SecureContext {
    const { ca, cert, key } = this.#material;
    this.#context ??= createSecureContext({
      ...(ca !== undefined && { ca: [ca].flat() }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
    });
    return this.#context;
  }

  /** Returns the other TLS options of a connection. */
  get options(): Pick<TlsMaterial, 'servername' | 'rejectUnauthorized'> {
    const { servername, rejectUnauthorized } = this.#material;
    return {
      ...(servername !== undefined && { servername }),
      ...(rejectUnauthorized !== undefined && { rejectUnauthorized }),
    };
  }
}

/** Credentials for one request. The same object is returned as long as nothing changes. */
export type RequestAuth = { readonly headers: RequestHeaders; readonly tls: TlsMaterial };

/** Fields that one source of credentials contributes. */
export type CredentialFields = {
  readonly authorization?: string;
  readonly ca?: string | readonly string[];
  readonly cert?: string;
  readonly key?: string;
};

/** A source of a part of the credentials: the kubeconfig itself, a file, or a program. */
export interface CredentialSource {
  /**
   * Returns the credentials that are valid now; cheap when no renewal is due. Rejects, with a text
   * for users, when there are none.
   */
  read(): Promise<CredentialFields>;
  /** Marks the last read credentials as rejected by the server: the next read renews them. */
  renew(): void;
}

/** Headers and TLS settings that never change. */
export type Fixed = {
  readonly headers: RequestHeaders;
  readonly tls: Pick<TlsMaterial, 'servername' | 'rejectUnauthorized'>;
};

/** Combines all sources of one connection. */
export class Credentials {
  readonly #sources: readonly CredentialSource[];
  readonly #fixed: Fixed;
  #last: RequestAuth | undefined;

  constructor(sources: readonly CredentialSource[], fixed: Fixed) {
    this.#sources = sources;
    this.#fixed = fixed;
  }

  /** Returns the credentials to present now. */
  async auth(): Promise<RequestAuth> {
    const parts = await Promise.all(this.#sources.map(source => source.read()));
    const { authorization, ...certificates }: CredentialFields = Object.assign({}, ...parts);
    const headers: RequestHeaders = {
      ...this.#fixed.headers,
      ...(authorization === undefined ? {} : { authorization }),
    };
    return this.#keep({ headers, tls: { ...certificates, ...this.#fixed.tls } });
  }

  /**
   * Renews after the server has rejected these credentials. Has no effect when they have already
   * been replaced.
   */
  renew(refused: RequestAuth): void {
    if (this.#last === refused) for (const source of this.#sources) source.renew();
  }

  #keep(fresh: RequestAuth): RequestAuth {
    const last = this.#last;
    if (last === undefined) this.#last = fresh;
    else {
      const tls = isSame(last.tls, fresh.tls) ? last.tls : fresh.tls;
      if (tls !== last.tls || last.headers['authorization'] !== fresh.headers['authorization'])
        this.#last = { headers: fresh.headers, tls };
    }
    return this.#last ?? fresh;
  }
}

function isSame(a: TlsMaterial, b: TlsMaterial): boolean {
  return a.ca === b.ca && a.cert === b.cert && a.key === b.key;
}

/** Returns a source with a constant value. */
export function constant(part: CredentialFields): CredentialSource {
  return { read: () => Promise.resolve(part), renew: () => {} };
}

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

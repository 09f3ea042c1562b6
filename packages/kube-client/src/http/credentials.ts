import type { RequestHeaders } from './exchange.ts';
import type { TlsMaterial } from './tls.ts';

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

import type { RequestHeaders } from './exchange.ts';
import type { TlsMaterial } from './tls.ts';

/** What one request needs to be let in. The same object for as long as nothing changes. */
export type RequestAuth = { readonly headers: RequestHeaders; readonly tls: TlsMaterial };

/** What one source of credentials has to give. */
export type CredentialFields = {
  readonly authorization?: string;
  readonly ca?: string | readonly string[];
  readonly cert?: string;
  readonly key?: string;
};

/** Where a part of the credentials comes from: the kubeconfig itself, a file, a program. */
export interface CredentialSource {
  /** What is good at the moment. Cheap when nothing is due. Rejects, with a text for people, when there is nothing to give. */
  read(): Promise<CredentialFields>;
  /** The server refused what was read last: the next read gets it anew. */
  renew(): void;
}

/** What never changes. */
export type Fixed = { readonly headers: RequestHeaders; readonly tls: Pick<TlsMaterial, 'servername' | 'rejectUnauthorized'> };

/** All sources of one connection as one. */
export class Credentials {
  readonly #sources: readonly CredentialSource[];
  readonly #fixed: Fixed;
  #last: RequestAuth | undefined;

  constructor(sources: readonly CredentialSource[], fixed: Fixed) {
    this.#sources = sources;
    this.#fixed = fixed;
  }

  /** What to present now. */
  async auth(): Promise<RequestAuth> {
    const parts = await Promise.all(this.#sources.map(source => source.read()));
    const { authorization, ...certificates }: CredentialFields = Object.assign({}, ...parts);
    const headers: RequestHeaders = { ...this.#fixed.headers, ...(authorization === undefined ? {} : { authorization }) };
    return this.#keep({ headers, tls: { ...certificates, ...this.#fixed.tls } });
  }

  /** The server refused this grant. Whoever comes with one that has been replaced already changes nothing. */
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

const isSame = (a: TlsMaterial, b: TlsMaterial): boolean => a.ca === b.ca && a.cert === b.cert && a.key === b.key;

/** A source that is known from the start. */
export const constant = (part: CredentialFields): CredentialSource => ({ read: () => Promise.resolve(part), renew: () => {} });

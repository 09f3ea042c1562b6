import { createSecureContext, type SecureContext } from 'node:tls';

/** What TLS needs. The same object for as long as nothing of it changes: a new one means new connections. */
export type TlsMaterial = {
  readonly ca?: string | readonly string[];
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
};

/** What OpenSSL makes of the certificates, made when it is asked for first. All connections share it: one for each of 200 took 5 MiB. */
export class TlsContext {
  readonly #material: TlsMaterial;
  #context: SecureContext | undefined;

  constructor(material: TlsMaterial) {
    this.#material = material;
  }

  /** Throws when OpenSSL refuses the material. */
  get context(): SecureContext {
    const { ca, cert, key } = this.#material;
    this.#context ??= createSecureContext({
      ...(ca !== undefined && { ca: [ca].flat() }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
    });
    return this.#context;
  }

  /** The rest of what a connection needs. */
  get options(): Pick<TlsMaterial, 'servername' | 'rejectUnauthorized'> {
    const { servername, rejectUnauthorized } = this.#material;
    return { ...(servername !== undefined && { servername }), ...(rejectUnauthorized !== undefined && { rejectUnauthorized }) };
  }
}

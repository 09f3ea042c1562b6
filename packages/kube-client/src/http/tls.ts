import { createSecureContext, type SecureContext } from 'node:tls';

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

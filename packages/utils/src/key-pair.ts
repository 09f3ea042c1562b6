/** A certificate and its key, in PEM. */
export type KeyPair = { readonly cert: string; readonly key: string };

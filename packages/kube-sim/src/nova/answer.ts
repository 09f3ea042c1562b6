import type { Json } from '@drydock/apimachinery';

/** One call over HTTP, and its response. */
export type NovaCall = {
  readonly method: string;
  /** Path without query, below the service. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Json | undefined;
  /** Minor number of the microversion. */
  readonly minor: number;
  /** Host and path at the start of links. */
  readonly base: string;
};

export type NovaReply = {
  readonly status: number;
  readonly body?: Json;
  readonly headers?: Readonly<Record<string, string>>;
};

const names: Readonly<Record<number, string>> = {
  400: 'badRequest',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'itemNotFound',
  409: 'conflictingRequest',
};

/** Returns an error response of Nova. */
export function refuse(code: number, message: string): NovaReply {
  return {
    status: code,
    body: { [names[code] ?? 'computeFault']: { code, message } },
  };
}

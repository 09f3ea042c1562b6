import type { IncomingMessage, ServerResponse } from 'node:http';
import type { MachineEvent } from '@drydock/core/machine';
import type { KeyPair, PanicHandler } from '@drydock/utils';
import { boundedServer, boundedTlsServer, connectionLimits } from '@drydock/utils';
import { type Listening, listening } from './server.ts';

/** Result for received events. */
export type Received =
  /** All events are stored: the sender may discard them. */
  | 'stored'
  /** Number of stored events, and why the others never will be stored. */
  | { readonly stored: number; readonly refused: string }
  /** Temporary failure: the sender should retry. */
  | { readonly later: string }
  /** Permanent refusal: for example because the machine is unknown. */
  | { readonly refused: string };

export type EventIntake = {
  /** Returns the owner of this token; undefined rejects the request before its body is read. */
  readonly ownerOf: (token: string) => string | undefined;
  /** Parses one request; names of headers are in lower case. */
  readonly read: (request: {
    readonly headers: Readonly<Record<string, string | undefined>>;
    readonly body: string;
  }) =>
    | { readonly events: readonly MachineEvent[]; readonly unread: readonly string[] }
    | { readonly refused: string; readonly status: 400 | 413 | 415 };
  readonly received: (events: readonly MachineEvent[]) => Promise<Received>;
  readonly defects: PanicHandler;
};

const maxBodyLength = 256 * 1024;

function respond(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-store',
    ...headers,
  });
  response.end(`${text}\n`);
}

function isAuthorized({ headers }: IncomingMessage, { ownerOf }: EventIntake): boolean {
  const given = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
  return given !== undefined && ownerOf(given) !== undefined;
}

/** Limit in bytes of an oversized body that is read and discarded. */
const patience = 16 * maxBodyLength;

/**
 * Returns the body as text; undefined when it is too long: then the rest is discarded, so that the
 * sender reads the response.
 */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  let chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBodyLength) chunks = [];
    else chunks.push(chunk);
    if (length > patience) break;
  }
  return length > maxBodyLength ? undefined : Buffer.concat(chunks).toString('utf8');
}

function headersOf({ headers }: IncomingMessage): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : value,
    ]),
  );
}

function storedText(count: number): string {
  return `${count} ${count === 1 ? 'event' : 'events'} stored`;
}

/** Limit of reported faults; the sender of a thousand wrong events needs no more. */
const maxTold = 5;

function toldOf(unread: readonly string[]): readonly string[] {
  return unread.length <= maxTold
    ? unread
    : [...unread.slice(0, maxTold), `and ${unread.length - maxTold} more that cannot be read`];
}

async function pass(
  {
    events,
    unread,
  }: { readonly events: readonly MachineEvent[]; readonly unread: readonly string[] },
  intake: EventIntake,
  response: ServerResponse,
): Promise<void> {
  const became = await intake.received(events);
  if (became !== 'stored' && 'later' in became)
    return respond(response, 503, became.later, { 'retry-after': '10' });
  const left = [...(became === 'stored' ? [] : [became.refused]), ...toldOf(unread)].join('; ');
  // A sender that sees a failure retries all events, or discards all of them.
  const stored = became === 'stored' ? events.length : 'stored' in became ? became.stored : 0;
  if (became !== 'stored' && stored === 0) return respond(response, 422, left);
  respond(
    response,
    202,
    left === '' ? storedText(stored) : `${storedText(stored)}; not stored: ${left}`,
  );
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  intake: EventIntake,
): Promise<void> {
  // A request that is refused before its body is read has its connection closed.
  const closing = { connection: 'close' };
  if (request.method !== 'POST')
    return respond(response, 405, 'only POST is allowed', { allow: 'POST', ...closing });
  if (!isAuthorized(request, intake)) {
    return respond(response, 401, 'send the token as Authorization: Bearer <token>', {
      'www-authenticate': 'Bearer',
      ...closing,
    });
  }
  const body = await bodyOf(request);
  if (body === undefined)
    return respond(
      response,
      413,
      `the body is longer than ${maxBodyLength / 1024} KiB: send fewer events at once`,
      closing,
    );
  const read = intake.read({ headers: headersOf(request), body });
  if ('refused' in read) return respond(response, read.status, read.refused);
  await pass(read, intake, response);
}

/**
 * Serves the intake of machine events for senders with a token; over plain HTTP, or over TLS 1.2
 * and newer, where handshakes fail until a certificate is set. Resolves once it listens; rejects
 * when the address is not available. Responses are one line: 202 stored, 400 and 415 not parsable,
 * 401 without the token, 405 other than POST, 413 longer than 256 KiB, 422 refused, 503 retry
 * later, 500 a fault.
 */
export async function serveEvents(
  address: { readonly host: string | undefined; readonly port: number },
  intake: EventIntake,
  secure = false,
): Promise<Listening & { readonly show: (pair: KeyPair) => void }> {
  const heard = (request: IncomingMessage, response: ServerResponse): void => {
    serve(request, response, intake).catch((error: unknown) => {
      if (response.headersSent || response.destroyed) response.destroy();
      else
        respond(response, 500, intake.defects.textOf('Process', 'event intake', error), {
          connection: 'close',
        });
    });
  };
  const limits = { connections: connectionLimits.pages };
  if (!secure)
    return { ...(await listening(boundedServer(limits, heard), address)), show: () => {} };
  const server = boundedTlsServer(limits, heard);
  return {
    ...(await listening(server, address)),
    show: ({ cert, key }) => server.setSecureContext({ cert, key, minVersion: 'TLSv1.2' }),
  };
}

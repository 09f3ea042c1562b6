import type { ClientHttp2Stream, IncomingHttpHeaders, IncomingHttpStatusHeader } from 'node:http2';
import type { Sent, WireInfo } from './exchange.ts';
import type { StreamCapacity } from './http2-session.ts';

/** Error code CANCEL (RFC 9113 7): the stream is no longer needed. */
const cancel = 8;

/**
 * Sends one request as `send` in `exchange.ts` does, as a stream of a shared HTTP/2 connection. For
 * requests without a body.
 */
export function sendAsStream(
  { method, path, headers }: WireInfo,
  room: StreamCapacity,
  signal: AbortSignal,
): Promise<Sent> {
  return new Promise(resolve => {
    const { session, reused, giveBack } = room;
    const fail = (error: unknown, sent: boolean): void =>
      resolve({ kind: 'failed', error, established: true, sent, reused });
    if (signal.aborted) {
      giveBack();
      return fail(signal.reason, false);
    }
    let stream: ClientHttp2Stream;
    try {
      stream = session.request(
        { ...(headers as Record<string, string | string[]>), ':method': method, ':path': path },
        { endStream: true },
      );
    } catch (error) {
      // The connection was closed at this moment, or a header cannot be sent.
      giveBack();
      return fail(error, false);
    }
    const abort = (): void => {
      stream.close(cancel);
      stream.destroy(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
    };
    signal.addEventListener('abort', abort);
    // Both sides have ended the stream: the server no longer counts it.
    stream.once('end', giveBack);
    stream.once('close', () => {
      signal.removeEventListener('abort', abort);
      giveBack();
      fail(new Error('the stream was closed before its answer'), true);
    });
    stream.once('response', (answer: IncomingHttpHeaders & IncomingHttpStatusHeader) => {
      const { ':status': status = 0, ...rest } = answer;
      resolve({ kind: 'answered', response: { status, headers: rest, body: stream } });
    });
    // Stays attached, as in `send`.
    stream.on('error', error => fail(error, true));
  });
}

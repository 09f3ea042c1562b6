import type { IncomingMessage } from 'node:http';
import { errorText } from '@drydock/utils';
import { type ActionResult, reply } from '../actions/maintenances.ts';

/** Limit of a body in bytes; no order is nearly as long. */
const maxBytes = 16_384;

/** Reads a JSON body; returns its value, or an error. Rejects when the connection breaks. */
export async function readBody(
  request: IncomingMessage,
): Promise<{ readonly value: unknown } | ActionResult> {
  const type = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
  // Forms of other sites cannot send this type without a CORS preflight.
  if (type !== 'application/json') return reply(415, 'the body must be application/json');
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Ending the loop must not close the connection: the response still has to be sent.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) return reply(413, `the body is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  try {
    return { value: JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown };
  } catch (error) {
    return reply(400, `the body is not JSON: ${errorText(error)}`);
  }
}

import { identify, type RawObject, versionOf } from './raw-object.ts';
import { type StatusError, statusErrorOf } from './status-error.ts';

/** One line of a watch. */
export type WatchLine =
  | { readonly kind: 'put' | 'removed'; readonly identity: RawObject; readonly raw: unknown }
  | { readonly kind: 'bookmark'; readonly version: string }
  | { readonly kind: 'refused'; readonly statusError: StatusError }
  /** An invalid event. Its content is lost, so the stream cannot be trusted from here on. */
  | { readonly kind: 'garbled'; readonly why: string };

/** Limit of a line in bytes. etcd takes objects of 1.5 MB, so a longer line is not an object. */
const maxLineLength = 64 * 1024 * 1024;
const newline = 0x0a;

/**
 * Splits a stream into lines. A line may come in many chunks and a chunk may hold many lines; a
 * byte 0x0a is always a newline in UTF-8, so lines are split before decoding. Text after the last
 * newline at the end of the stream was cut off, and is dropped. Throws for a line that is longer
 * than `longest` bytes, whether it has ended or not.
 */
export async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
  longest = maxLineLength,
): AsyncGenerator<readonly string[]> {
  let pieces: Buffer[] = [];
  let length = 0;
  const grow = (by: number): void => {
    length += by;
    if (length > longest) throw new Error(`a line of the watch is longer than ${longest} bytes`);
  };
  for await (const bytes of chunks) {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const lines: string[] = [];
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      grow(end - start);
      const tail = chunk.subarray(start, end);
      lines.push((pieces.length === 0 ? tail : Buffer.concat([...pieces, tail])).toString('utf8'));
      pieces = [];
      length = 0;
      start = end + 1;
    }
    if (start < chunk.length) pieces.push(chunk.subarray(start));
    grow(chunk.length - start);
    yield lines;
  }
}

/**
 * Reads one line: `{"type": "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR", "object": …}`
 * (meta/v1 WatchEvent).
 */
export function readLine(line: string): WatchLine {
  const event = parse(line);
  if (event === undefined) return garbled('it is not JSON', line);
  const { type, object } = event;
  if (type === 'ERROR') return { kind: 'refused', statusError: statusErrorOf(undefined, object) };
  if (type === 'BOOKMARK') {
    const version = versionOf(object);
    return version === undefined
      ? garbled('a bookmark without resourceVersion', line)
      : { kind: 'bookmark', version };
  }
  const identity = identify(object);
  if (identity === undefined)
    return garbled('there is no object with a name, a uid and a resourceVersion in it', line);
  if (type === 'ADDED' || type === 'MODIFIED') return { kind: 'put', identity, raw: object };
  return type === 'DELETED'
    ? { kind: 'removed', identity, raw: object }
    : garbled('its type is unknown', line);
}

function garbled(why: string, line: string): WatchLine {
  return { kind: 'garbled', why: `${why}: ${line.slice(0, 200)}` };
}

function parse(line: string): { readonly type?: unknown; readonly object?: unknown } | undefined {
  try {
    const event: unknown = JSON.parse(line);
    return typeof event === 'object' && event !== null ? event : undefined;
  } catch {
    return undefined;
  }
}

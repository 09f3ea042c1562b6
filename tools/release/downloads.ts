import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { errorText } from '@drydock/utils';

/** A file of which the hash is known before it is fetched. */
export type Download = {
  /** Below each of the places. */
  readonly path: string;
  readonly sha256: string;
  /** Addresses of folders, in the order in which they are tried. */
  readonly places: () => readonly string[];
  /** Where its hash stands, for messages. */
  readonly list: string;
  /** Where it is kept. */
  readonly folder: string;
};

type Fetched =
  | { readonly kind: 'kept'; readonly file: string }
  | { readonly kind: 'unreachable'; readonly why: string };

/** Hash of these bytes, in hexadecimal. */
export function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Of a failed fetch, the cause names the address or the host. */
function reasonOf(error: unknown): string {
  return errorText(error instanceof Error && error.cause !== undefined ? error.cause : error);
}

type Answer = { readonly address: string; readonly bytes: Buffer };

/** The file from the first place that has it, or why none has. */
async function fetched(path: string, places: readonly string[]): Promise<Answer | string> {
  const failures: string[] = [];
  for (const place of places) {
    try {
      const address = new URL(path, place.endsWith('/') ? place : `${place}/`).href;
      const response = await fetch(address, { signal: AbortSignal.timeout(600_000) });
      if (response.ok) return { address, bytes: Buffer.from(await response.arrayBuffer()) };
      failures.push(`${place}: ${response.status}`);
    } catch (error) {
      failures.push(`${place}: ${reasonOf(error)}`);
    }
  }
  return failures.join(', ');
}

/**
 * Fetches a file once, checks it against its hash, and keeps it. Throws where a place has another
 * file under its name.
 */
export async function kept({ path, sha256, places, list, folder }: Download): Promise<Fetched> {
  const file = join(folder, `${sha256}-${basename(path)}`);
  if (existsSync(file) && sha256Of(readFileSync(file)) === sha256) return { kind: 'kept', file };
  const answer = await fetched(path, places());
  if (typeof answer === 'string') return { kind: 'unreachable', why: answer };
  const hash = sha256Of(answer.bytes);
  if (hash !== sha256)
    throw new Error(
      `${answer.address} is not what ${list} names: its hash is ${hash}. Find out what answers there before anything is made of it`,
    );
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${file}.${process.pid}`, answer.bytes);
  renameSync(`${file}.${process.pid}`, file);
  return { kind: 'kept', file };
}

import { createHash, timingSafeEqual } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../support/clock.ts';
import { errorText } from '../../support/error-text.ts';
import type { Log } from '../../support/log.ts';
import { UsageError } from '../shared/fail.ts';

/** A mounted Secret is read again this often: who takes a token away waits for no restart. */
const againAfterMs = 10_000;

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Each token with the name of whoever has it: that of its file in a folder, as a Secret is mounted; of a single file, `default`. */
const read = (path: string): ReadonlyMap<string, Buffer> => {
  const files = statSync(path).isDirectory()
    ? readdirSync(path)
        .filter(name => !name.startsWith('.'))
        .map(name => [name, join(path, name)] as const)
    : [['default', path] as const];
  const tokens = files.map(([name, file]) => [name, readFileSync(file, 'utf8').trim()] as const);
  return new Map(tokens.filter(([, token]) => token !== '').map(([name, token]) => [name, digest(token)]));
};

/** The tokens that senders of events show. One that is taken out of its file counts no more within seconds; files that cannot be read any more let nobody in. */
export class EventTokens {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #log: Log;
  #tokens: ReadonlyMap<string, Buffer>;
  #readAtMs: number;

  /** `path`: a file with one token, or a folder with one in each file. Throws a UsageError when there is none. */
  constructor(path: string, clock: Clock, log: Log) {
    this.#path = path;
    this.#clock = clock;
    this.#log = log;
    this.#readAtMs = clock.now().epochMilliseconds;
    try {
      this.#tokens = read(path);
    } catch (error) {
      throw new UsageError(`--event-intake-token-file ${path} cannot be read: ${errorText(error)}`, { cause: error });
    }
    if (this.#tokens.size === 0) throw new UsageError(`--event-intake-token-file ${path} is empty: it would admit everybody`);
  }

  /** Whose token it is; undefined for nobody's. In a time that does not depend on how much of it is right. */
  ownerOf(token: string): string | undefined {
    this.#refresh();
    const given = digest(token);
    const owners = [...this.#tokens].filter(([, wanted]) => timingSafeEqual(given, wanted));
    return owners[0]?.[0];
  }

  #refresh(): void {
    const now = this.#clock.now().epochMilliseconds;
    if (now - this.#readAtMs < againAfterMs) return;
    this.#readAtMs = now;
    try {
      this.#tokens = read(this.#path);
    } catch (error) {
      this.#tokens = new Map();
      this.#log.warn('failed to read the tokens of the event intake: all senders are refused', {
        path: this.#path,
        error: errorText(error),
      });
    }
  }
}

import type { Clock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import { ConfigFileError } from './config-reader.ts';

/** A file is read again this often at most: a mounted Secret is swapped by the kubelet, within a minute. */
const againAfterMs = 10_000;

type ReloadedFileOptions<T> = {
  readonly file: string;
  /** The flag that names it, for the log. */
  readonly flag: string;
  /** What does not happen while it is wrong, for the log. */
  readonly consequence: string;
  /** Throws a ConfigFileError. */
  readonly read: (file: string) => T;
  readonly clock: Clock;
  readonly log: Log;
};

/**
 * What a file of configuration says, which is read again while it is used. A file that is wrong says nothing until it is mended: it may have been meant to shut somebody out. It is
 * logged once, and whatever else the operator does goes on.
 */
export class ReloadedFile<T> {
  readonly #options: ReloadedFileOptions<T>;
  #content: T | undefined;
  #problem: string | undefined;
  #seen: string | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: ReloadedFileOptions<T>) {
    this.#options = options;
  }

  /** What it says now, the same object for as long as that is the same; or what is wrong with it. */
  get current(): { readonly content: T } | { readonly problem: string } {
    this.#refresh();
    if (this.#problem !== undefined) return { problem: this.#problem };
    return { content: this.#content as T };
  }

  #refresh(): void {
    const { clock, log, file, flag, consequence } = this.#options;
    const nowMs = clock.now().epochMilliseconds;
    if (nowMs - this.#readAtMs < againAfterMs) return;
    this.#readAtMs = nowMs;
    try {
      this.#read();
      if (this.#problem !== undefined) log.info(`the file of ${flag} can be read again`, { file });
      this.#problem = undefined;
    } catch (error) {
      if (!(error instanceof ConfigFileError)) throw error;
      if (this.#problem === undefined) log.warn(`failed to read the file of ${flag}: ${consequence}`, { error: error.message });
      this.#problem = error.message;
    }
  }

  #read(): void {
    const content = this.#options.read(this.#options.file);
    const seen = JSON.stringify(content);
    if (seen === this.#seen) return;
    this.#seen = seen;
    this.#content = content;
  }
}

import type { Clock, Log } from '@drydock/utils';
import { ConfigFileError } from './config-reader.ts';

/**
 * Minimum time between reads of the file, in milliseconds; the kubelet replaces a mounted Secret
 * within a minute.
 */
const againAfterMs = 10_000;

type ReloadedFileOptions<T> = {
  readonly file: string;
  /** Flag that names the file, for the log. */
  readonly flag: string;
  /** Consequence of an invalid file, for the log. */
  readonly consequence: string;
  /** Reads the file. Throws a ConfigFileError. */
  readonly read: (file: string) => T;
  readonly clock: Clock;
  readonly log: Log;
};

/**
 * A configuration file that is read again while it is used. An invalid file has no content until it
 * is corrected: the change may have been meant to exclude a receiver. The error is logged once, and
 * the operator's other work continues.
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

  /** Returns the current content, the same object as long as it is unchanged; or the error. */
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
      if (this.#problem === undefined)
        log.warn(`failed to read the file of ${flag}: ${consequence}`, { error: error.message });
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

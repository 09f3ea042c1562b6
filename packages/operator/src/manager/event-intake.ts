import { createHash, timingSafeEqual } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readCloudEvents } from '@drydock/clouds';
import type { EventKind } from '@drydock/core';
import type { MachineEvent } from '@drydock/core/machine';
import {
  type Clock,
  errorText,
  type Log,
  type PanicHandler,
  systemClock,
  UsageError,
} from '@drydock/utils';
import type { ActiveManager } from '../controller-manager.ts';
import { serveEvents } from '../serving/event-intake.ts';
import type { Address } from '../serving/server.ts';
import { showMounted } from './metrics-server.ts';

/** Milliseconds between reads of a mounted Secret: removing a token needs no restart. */
const againAfterMs = 10_000;

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/**
 * Returns each token with its owner: the file's name in a folder, as a Secret is mounted; `default`
 * for a single file.
 */
function read(path: string): ReadonlyMap<string, Buffer> {
  const files = statSync(path).isDirectory()
    ? readdirSync(path)
        .filter(name => !name.startsWith('.'))
        .map(name => [name, join(path, name)] as const)
    : [['default', path] as const];
  const tokens = files.map(([name, file]) => [name, readFileSync(file, 'utf8').trim()] as const);
  return new Map(
    tokens.filter(([, token]) => token !== '').map(([name, token]) => [name, digest(token)]),
  );
}

/**
 * Tokens of event senders. A token that is removed from its file becomes invalid within seconds;
 * unreadable files reject every sender.
 */
export class EventTokens {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #log: Log;
  #tokens: ReadonlyMap<string, Buffer>;
  #readAtMs: number;

  /**
   * Creates the tokens from `path`: a file with one token, or a folder with one in each file.
   * Throws a UsageError when there is none.
   */
  constructor(path: string, clock: Clock, log: Log) {
    this.#path = path;
    this.#clock = clock;
    this.#log = log;
    this.#readAtMs = clock.now().epochMilliseconds;
    try {
      this.#tokens = read(path);
    } catch (error) {
      throw new UsageError(
        `--event-intake-token-file ${path} cannot be read: ${errorText(error)}`,
        { cause: error },
      );
    }
    if (this.#tokens.size === 0)
      throw new UsageError(`--event-intake-token-file ${path} is empty: it would admit everybody`);
  }

  /** Returns the owner of the token; undefined for an unknown one. Compares in constant time. */
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

/** Settings of the intake of CloudEvents about machines. */
export type IntakeSettings = {
  readonly address: Address;
  readonly tokenFile: string;
  /** Folder with tls.crt and tls.key; plain HTTP when left out. */
  readonly certDir: string | undefined;
  readonly types: Readonly<Record<string, EventKind>>;
};

/**
 * Accepts CloudEvents until the returned function is called; while another replica leads, senders
 * receive an error that makes them retry. Throws a UsageError.
 */
export async function openEventIntake(
  settings: IntakeSettings | undefined,
  activeManager: ActiveManager,
  { log, defects }: { readonly log: Log; readonly defects: PanicHandler },
): Promise<() => void> {
  if (settings === undefined) return () => {};
  const { address, tokenFile, certDir, types } = settings;
  const tokens = new EventTokens(tokenFile, systemClock, log);
  try {
    const read = (request: Parameters<typeof readCloudEvents>[0]) =>
      readCloudEvents(request, { types });
    const ownerOf = (token: string): string | undefined => tokens.ownerOf(token);
    const intake = {
      ownerOf,
      read,
      received: (events: readonly MachineEvent[]) => activeManager.receive(events),
      defects,
    };
    const { port, close, show } = await serveEvents(address, intake, certDir !== undefined);
    const stop =
      certDir === undefined
        ? () => {}
        : await showMounted('--event-intake-cert-dir', certDir, show, { log, defects });
    log.info('serving the event intake', { port, secure: certDir !== undefined });
    return () => (stop(), close());
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const cause = errorText(error);
    throw new UsageError(
      `failed to serve the event intake on ${address.host ?? ''}:${address.port}: ${cause}`,
      { cause: error },
    );
  }
}

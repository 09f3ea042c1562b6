import { readCloudEvents } from '@drydock/clouds';
import type { EventKind } from '@drydock/core';
import type { MachineEvent } from '@drydock/core/machine';
import type { Log, PanicHandler } from '@drydock/utils';
import { errorText, systemClock, UsageError } from '@drydock/utils';
import type { ActiveManager } from '../controller-manager.ts';
import { serveEvents } from '../serving/event-intake.ts';
import type { Address } from '../serving/server.ts';
import { EventTokens } from './event-tokens.ts';
import { showMounted } from './mounted-certificate.ts';

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

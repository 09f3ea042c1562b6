import { readFileSync } from 'node:fs';
import { readCloudEvents } from '../clouds/cloudevents.ts';
import { type EventKind, eventKinds } from '../core/machine/event.ts';
import type { Log } from '../support/log.ts';
import { serveEvents } from '../web/event-intake.ts';
import type { Duty } from './crew.ts';
import { UsageError } from './fail.ts';
import type { Address } from './operator-flags.ts';

export type IntakeFlags = {
  readonly eventIntakeBindAddress?: string;
  readonly eventIntakeTokenFile?: string;
  readonly eventIntakeType?: readonly string[];
};

/** Where CloudEvents about machines are taken. */
export type IntakeSettings = {
  readonly address: NonNullable<Address>;
  readonly tokenFile: string;
  readonly types: Readonly<Record<string, EventKind>>;
};

const typeOf = (text: string): readonly [string, EventKind] => {
  const [type = '', word = ''] = text.split('=');
  const kind = eventKinds.find(one => one === word);
  if (type === '' || kind === undefined) {
    throw new UsageError(`--event-intake-type is "${text}"; it takes TYPE=KIND, where KIND is one of ${eventKinds.join(', ')}`);
  }
  return [type, kind];
};

/** Checks the flags; undefined when nothing is to be taken. */
export const intakeSettings = (flags: IntakeFlags, address: Address): IntakeSettings | undefined => {
  const { eventIntakeTokenFile: tokenFile = '', eventIntakeType: types = [] } = flags;
  if (address === undefined) return undefined;
  if (tokenFile === '')
    throw new UsageError('--event-intake-token-file is missing: whoever sends events has to know a token, and this file has it');
  return { address, tokenFile, types: Object.fromEntries(types.map(typeOf)) };
};

const tokenIn = (file: string): string => {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new UsageError(`--event-intake-token-file ${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
};

/** Takes CloudEvents until the answer is called; those that come while another replica leads are sent away to come again. Throws a UsageError. */
export const openEventIntake = async (settings: IntakeSettings | undefined, duty: Duty, log: Log): Promise<() => void> => {
  if (settings === undefined) return () => {};
  const { address, tokenFile, types } = settings;
  const token = tokenIn(tokenFile);
  if (token === '') throw new UsageError(`--event-intake-token-file ${tokenFile} is empty: it would let in everybody`);
  try {
    const read = (request: Parameters<typeof readCloudEvents>[0]) => readCloudEvents(request, { types });
    const { port, close } = await serveEvents(address, token, { read, received: events => duty.receive(events) });
    log.info('event intake served', { port });
    return close;
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new UsageError(`events cannot be taken on ${address.host ?? ''}:${address.port}: ${cause}`, { cause: error });
  }
};

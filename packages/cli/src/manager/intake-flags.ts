import { type EventKind, eventKinds } from '@drydock/core';
import type { IntakeSettings } from '@drydock/operator/manager';
import type { Address } from '@drydock/operator/serving';
import { UsageError } from '@drydock/utils';

/** Flags of the command line. */
export type IntakeFlags = {
  readonly eventIntakeBindAddress?: string;
  readonly eventIntakeTokenFile?: string;
  readonly eventIntakeCertDir?: string;
  readonly eventIntakeType?: readonly string[];
};

function typeOf(text: string): readonly [string, EventKind] {
  const [type = '', word = ''] = text.split('=');
  const kind = eventKinds.find(one => one === word);
  if (type === '' || kind === undefined) {
    throw new UsageError(
      `invalid value "${text}" for --event-intake-type: expected TYPE=KIND, where KIND is one of ${eventKinds.join(', ')}`,
    );
  }
  return [type, kind];
}

/** Checks the flags; returns undefined when the intake is disabled. */
export function intakeSettings(
  flags: IntakeFlags,
  address: Address | undefined,
): IntakeSettings | undefined {
  const {
    eventIntakeTokenFile: tokenFile = '',
    eventIntakeType: types = [],
    eventIntakeCertDir: certDir,
  } = flags;
  if (address === undefined) return undefined;
  if (tokenFile === '')
    throw new UsageError(
      '--event-intake-token-file is required: it holds the tokens that senders must present',
    );
  return { address, tokenFile, certDir, types: Object.fromEntries(types.map(typeOf)) };
}

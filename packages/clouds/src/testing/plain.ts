import type { MachineEvent } from '@drydock/core/machine';

/** An event with its times as text, to compare with. */
export function plain(event: MachineEvent): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(event).map(([name, value]) => [name, String(value)]));
}

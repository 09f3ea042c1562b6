import type { MachineEvent } from '@drydock/core/machine';

/** An event with its times as text, to compare with. */
export const plain = (event: MachineEvent): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(event).map(([name, value]) => [name, String(value)]));

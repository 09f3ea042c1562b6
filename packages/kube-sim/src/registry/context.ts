import type { Clock } from '@drydock/utils';
import type { KindTable } from '../kinds/kind-table.ts';
import type { Store } from '../store/store.ts';
import type { AdmissionPlugin } from './gate.ts';

/** Dependencies of writes: objects, kinds, clock and random source. */
export type RegistryContext = {
  readonly store: Store;
  readonly kinds: KindTable;
  readonly clock: Pick<Clock, 'now'>;
  /** Random source, uniform in [0, 1). */
  readonly random: () => number;
  /** Admission plugin that is called before each write, if set. */
  readonly gate?: AdmissionPlugin;
};

function hex(random: () => number, digits: number): string {
  return Array.from({ length: digits }, () => Math.floor(random() * 16).toString(16)).join('');
}

/** Returns a version 4 UUID. */
export function newUid(random: () => number): string {
  const variant = '89ab'[Math.floor(random() * 4)] ?? '8';
  return `${hex(random, 8)}-${hex(random, 4)}-4${hex(random, 3)}-${variant}${hex(random, 3)}-${hex(random, 12)}`;
}

const letters = 'bcdfghjklmnpqrstvwxz2456789';

/**
 * Returns a name with a suffix for generateName (apiserver/pkg/storage/names): five letters that
 * form no words, the whole at most 63 long.
 */
export function generatedName(base: string, random: () => number): string {
  const tail = Array.from(
    { length: 5 },
    () => letters[Math.floor(random() * letters.length)] ?? 'x',
  ).join('');
  return base.slice(0, 58) + tail;
}

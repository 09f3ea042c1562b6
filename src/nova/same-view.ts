import type { HostView } from '../core/vm/host.ts';

/** Returns whether two views are equal. */
export const isSameView = (one: HostView | 'none', other: HostView | 'none'): boolean =>
  one === other || JSON.stringify(one) === JSON.stringify(other);

import type { HostView } from '@drydock/core/vm';

/** Returns whether two views are equal. */
export const isSameView = (one: HostView | 'none', other: HostView | 'none'): boolean =>
  one === other || JSON.stringify(one) === JSON.stringify(other);

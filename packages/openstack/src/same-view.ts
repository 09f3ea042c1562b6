import type { HostView } from '@drydock/core/vm';

/** Returns whether two views are equal. */
export function isSameView(one: HostView | 'none', other: HostView | 'none'): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

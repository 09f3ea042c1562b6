import type { HostView } from '../core/vm/host.ts';

/** Nothing that anybody would want to know differs. */
export const isSameView = (one: HostView | 'none', other: HostView | 'none'): boolean =>
  one === other || JSON.stringify(one) === JSON.stringify(other);

import type { Watcher } from '@drydock/kube-client';
import type { VirtualClock } from '@drydock/utils';

/**
 * The watch of this collection tells so many seconds later than all others; what it tells at first
 * is synced at once, and empty.
 */
export function lateWatch(
  watcher: Watcher,
  clock: VirtualClock,
  path: string,
  seconds = 1,
): Watcher {
  return {
    watch: (collection, project, handler, signal) => {
      const isLate = collection.path === path;
      const late: typeof handler = {
        changed: change =>
          void (isLate
            ? clock.after(seconds * 1000, () => handler.changed(change))
            : handler.changed(change)),
        synced: () => handler.synced(),
        listed: list => handler.listed?.(list),
        failing: problem => handler.failing?.(problem),
      };
      return watcher.watch(collection, project, late, signal);
    },
  };
}

import type { Change } from '../../../operator/ports.ts';
import type { MomentView } from '../scene.ts';
import { byTime, type TimelineEvent } from './timeline-event.ts';
import { ViewStore } from './view-store.ts';

/** What a time line shows; a cluster keeps an hour of events, which may be thousands. */
const limit = 150;
/** Sorting at every event would be wasteful: it is let grow so much before the oldest are taken off. */
const slack = 50;

/** The newest events. */
export class Moments {
  readonly #viewStore = new ViewStore<MomentView>();

  apply({ type, object }: Change<TimelineEvent>): void {
    // An event that has expired has happened all the same: it leaves with the oldest.
    if (type === 'removed') return;
    this.#viewStore.put(object.view);
    if (this.#viewStore.size <= limit + slack) return;
    for (const { key } of this.#viewStore.values().toSorted(byTime).slice(limit)) this.#viewStore.drop(key);
  }

  newest(): readonly MomentView[] {
    return this.#viewStore.values().toSorted(byTime).slice(0, limit);
  }

  take(): ReturnType<ViewStore<MomentView>['take']> {
    return this.#viewStore.take();
  }
}

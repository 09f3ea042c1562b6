import type { Change } from '@drydock/kube-client';
import type { MomentView } from '../scene.ts';
import { byTime, type TimelineEvent } from './timeline-event.ts';
import { ViewStore } from './view-store.ts';

/** Limit of shown events; a cluster keeps those of an hour, which may be thousands. */
const limit = 150;
/**
 * Number of events above the limit before the oldest are dropped, because sorting at every event
 * would be wasteful.
 */
const slack = 50;

/** The newest events. */
export class Moments {
  readonly #viewStore = new ViewStore<MomentView>();

  apply({ type, object }: Change<TimelineEvent>): void {
    // An expired event has still happened: it is dropped with the oldest.
    if (type === 'removed') return;
    this.#viewStore.put(object.view);
    if (this.#viewStore.size <= limit + slack) return;
    for (const { key } of this.#viewStore.values().toSorted(byTime).slice(limit))
      this.#viewStore.drop(key);
  }

  newest(): readonly MomentView[] {
    return this.#viewStore.values().toSorted(byTime).slice(0, limit);
  }

  take(): ReturnType<ViewStore<MomentView>['take']> {
    return this.#viewStore.take();
  }
}

import type { Change } from '../../../operator/ports.ts';
import type { MomentView } from '../scene.ts';
import { byTime, type Moment } from './timeline-event.ts';
import { Shelf } from './view-store.ts';

/** What a time line shows; a cluster keeps an hour of events, which may be thousands. */
const most = 150;
/** Sorting at every event would be wasteful: it is let grow so much before the oldest are taken off. */
const slack = 50;

/** The newest events. */
export class Moments {
  readonly #shelf = new Shelf<MomentView>();

  apply({ type, object }: Change<Moment>): void {
    // An event that has expired has happened all the same: it leaves with the oldest.
    if (type === 'removed') return;
    this.#shelf.put(object.view);
    if (this.#shelf.size <= most + slack) return;
    for (const { key } of this.#shelf.values().toSorted(byTime).slice(most)) this.#shelf.drop(key);
  }

  newest(): readonly MomentView[] {
    return this.#shelf.values().toSorted(byTime).slice(0, most);
  }

  take(): ReturnType<Shelf<MomentView>['take']> {
    return this.#shelf.take();
  }
}

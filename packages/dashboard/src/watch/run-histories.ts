import type { Plan } from '@drydock/core/plan';
import type { PlanPointView } from '../scene.ts';
import { doneIn, runIn } from '../views/plan-views.ts';

/** Limit of points; more make no visible difference. */
const maxPoints = 80;

type History = { readonly run: string; readonly points: PlanPointView[] };

/** Progress of runs over time, recorded while the server watches, because no status contains it. */
export class RunHistories {
  /** Histories by the plan's UID. */
  readonly #histories = new Map<string, History>();

  /** Returns the history of the current run, with the plan's present progress. */
  follow(plan: Plan, at: string): readonly PlanPointView[] {
    const [run, done] = [runIn(plan)?.id, doneIn(plan)];
    if (run === undefined || done === undefined) return [];
    const known = this.#histories.get(plan.uid);
    const history = known?.run === run ? known : { run, points: [] };
    this.#histories.set(plan.uid, history);
    const { points } = history;
    if (points.at(-1)?.done !== done) points.push({ at, done });
    if (points.length > maxPoints) history.points.splice(0, points.length, ...thinned(points));
    return [...points];
  }

  forget({ uid }: Plan): void {
    this.#histories.delete(uid);
  }
}

/** Returns every second point, with the first and the last. */
function thinned(points: readonly PlanPointView[]): readonly PlanPointView[] {
  return points.filter((_, index) => index % 2 === 0 || index === points.length - 1);
}

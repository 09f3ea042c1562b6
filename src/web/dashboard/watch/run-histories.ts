import type { Plan } from '../../../core/plan/plan.ts';
import type { PlanPointView } from '../scene.ts';
import { doneIn, runIn } from '../views/plan-views.ts';

/** More are no line that anybody can tell from this one. */
const maxPoints = 80;

type History = { readonly run: string; readonly points: PlanPointView[] };

/** How far the runs of plans have been, and when, for as long as somebody watches them: no status has it. */
export class RunHistories {
  /** By the uid of the plan. */
  readonly #histories = new Map<string, History>();

  /** The history of the run that is under way, with what the plan says at that time. */
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

/** Every second one, with the first and the last. */
const thinned = (points: readonly PlanPointView[]): readonly PlanPointView[] =>
  points.filter((_, index) => index % 2 === 0 || index === points.length - 1);

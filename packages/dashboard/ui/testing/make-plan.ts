import type { PlanSummary } from '../../src/scene.ts';

/** A plan as the page is told of it, for tests. */
export function makePlan(over: Partial<PlanSummary> = {}): PlanSummary {
  return {
    key: 'kernel',
    uid: `uid-${over.key ?? 'kernel'}`,
    phase: 'Running',
    message: '1 done',
    paused: false,
    aborted: false,
    deleting: false,
    stages: [],
    inFlight: [],
    waiting: [],
    failures: [],
    history: [],
    ...over,
  };
}

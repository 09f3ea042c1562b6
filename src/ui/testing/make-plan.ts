import type { PlanView } from '../../web/dashboard/scene.ts';

/** A plan as the page is told of it, for tests. */
export const makePlan = (over: Partial<PlanView> = {}): PlanView => ({
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
});

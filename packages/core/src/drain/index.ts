export { type Attachment, readAttachment } from './blockers/attachment.ts';
export {
  type Blocker,
  blockerId,
  countedByReason,
  eachReasonFirst,
  fewOfEachReason,
  needsHelp,
  outcomeBlockerInfo,
  reasonOfId,
} from './blockers/blocker.ts';
export {
  type BlockerGroup,
  type BlockerSummary,
  groupBlockers,
} from './blockers/blocker-groups.ts';
export { budgetBlockerInfo, multipleBudgetsBlockerInfo } from './blockers/budget-blocker.ts';
export { type Budget, budgetsOf, neverAllows, readBudget } from './budgets/budget.ts';
export {
  availableDisruptions,
  type InFlightEviction,
  isCounted,
  isReflected,
  reflectionLimitMs,
} from './budgets/in-flight-eviction.ts';
export { percentOf } from './drain-counter.ts';
export {
  type DrainBehavior,
  drainBehaviorOf,
  type FilterContext,
  type PlanWork,
} from './filters.ts';
export { classify, type EvictionOutcome } from './outcome/eviction-outcome.ts';
export { type Attempt, type EvictionMethod, nextAttempt } from './outcome/retry.ts';
export { type PodCall, plan } from './plan.ts';
export { type DrainPolicy, type PodPick, type Rung, seedPolicy } from './policy.ts';
export {
  type EvictionRequest,
  evictionRequestOf,
  evictionRequestsIn,
  evictionRequestsPath,
  evictionRequestsSelector,
  readEvictionRequest,
  triedAgainAfter,
} from './responders/eviction-request.ts';
export {
  type ActiveResponder,
  type LifecycleEviction,
  lifecycleEvictionsPath,
  readLifecycleEviction,
} from './responders/lifecycle-eviction.ts';
export { isLauncher } from './vm/migration-slots.ts';
export { nothingTracked, type VmTrackingState } from './vm/tracking.ts';

export { type Attachment, readAttachment } from './blockers/attachment.ts';
export {
  type Blocker,
  type BlockerGroup,
  type BlockerSummary,
  blockerId,
  countedByReason,
  eachReasonFirst,
  fewOfEachReason,
  groupBlockers,
  needsHelp,
  outcomeBlockerInfo,
  reasonOfId,
} from './blockers/blocker.ts';
export { budgetBlockerInfo, multipleBudgetsBlockerInfo } from './blockers/budget-blocker.ts';
export {
  availableDisruptions,
  type Budget,
  budgetsOf,
  type InFlightEviction,
  isCounted,
  isReflected,
  neverAllows,
  readBudget,
  reflectionLimitMs,
} from './budgets/budget.ts';
export { percentOf } from './drain-counter.ts';
export {
  type DrainBehavior,
  drainBehaviorOf,
  type FilterContext,
  type PlanWork,
} from './filters.ts';
export {
  type Attempt,
  classify,
  type EvictionMethod,
  type EvictionOutcome,
  nextAttempt,
} from './outcome/eviction-outcome.ts';
export { type PodCall, plan } from './plan.ts';
export { type DrainPolicy, type PodPick, type Rung, seedPolicy } from './policy.ts';
export {
  type ActiveResponder,
  type EvictionRequest,
  evictionRequestOf,
  evictionRequestsIn,
  evictionRequestsPath,
  evictionRequestsSelector,
  type LifecycleEviction,
  lifecycleEvictionsPath,
  readEvictionRequest,
  readLifecycleEviction,
  triedAgainAfter,
} from './responders/eviction-request.ts';
export { isLauncher, nothingTracked, type VmTrackingState } from './vm/vm-pod-decision.ts';

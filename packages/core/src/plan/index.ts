export { planAnnotation } from '../plan-annotation.ts';
export type { PlanAdapter } from './adapter.ts';
export { doneSince, type OtherRecords } from './contest.ts';
export { decidePlan } from './decide.ts';
export {
  type AlertGate,
  type Gate,
  type GatePlace,
  type GateState,
  type GateValue,
  gatePlaces,
  type ObjectGate,
  type PromqlGate,
  type WorkloadGate,
} from './gates/gate.ts';
export {
  type InFlight,
  isAtWork,
  isRefused,
  maxEntryMessageLength,
  maxHookRuns,
  maxSlots,
  maxTaints,
  type NodeState,
  type NodeVerdict,
  nodeStates,
  type Outcome,
  type Preparing,
  preparingStates,
  type Verdict,
  verdictTypes,
  workKinds,
} from './in-flight.ts';
export { type Pause, pauseNow, pauseOver, pauseText } from './pause.ts';
export {
  begunWork,
  type Concurrency,
  maxAttempts,
  maxExpressionLength,
  maxFirst,
  maxGates,
  maxLacking,
  maxUpNext,
  type Plan,
  type PlanPhase,
  type Prepare,
  planApi,
  planPhases,
  plansPath,
  type Run,
  type Stage,
  type StageSoak,
  type Work,
} from './plan.ts';
export { hookPlaces, hookStates, type PodTask } from './pods/hook.ts';
export { revisionOfRun, sortRecords } from './records.ts';
export {
  type RehearsalSummary,
  type RehearsalTask,
  type Rehearse,
  type RehearsedForecast,
  rehearsalRefusals,
  rehearsalStates,
} from './rehearsal/rehearsal.ts';
export {
  maxFirstNodes,
  readSummary,
  summaryIn,
  summaryJson,
  summaryText,
} from './rehearsal/summary.ts';
export type {
  Approval,
  CelResult,
  MachineRef,
  OtherPlan,
  PlanDecision,
  PlanNode,
  PlanSettings,
  PlanSnapshot,
  RecordSlice,
  WaitReason,
  WorkPod,
} from './snapshot.ts';
export { inPlanOrder } from './start/order.ts';
export { type DeletedMachine, outagesOf } from './unavailability.ts';
export { isUnderWayNow } from './under-way.ts';
export { isUndone, partsInForce } from './undo.ts';
export { isSetAside } from './view.ts';
export {
  announce,
  approvalNameOf,
  approvalObject,
  approvalsPath,
  drainOf,
  holdNameOf,
  isNamedFor,
  pathOfPlan,
  podNameFor,
  preparePurpose,
  recordsPath,
  recordWrite,
} from './writes.ts';

export { blockersNow, namesAllBlockers } from './blockers-now.ts';
export { isChanged } from './child.ts';
export { decide, decideDrainOnly } from './decide.ts';
export type { Decision, Lookup } from './decision.ts';
export { type DrainInputs, snapshotOf } from './drain-inputs.ts';
export { filterContextOf } from './filter-context.ts';
export { releaseDuringWorkAnnotation } from './plan-work.ts';
export { notAllowedText, problemWrite } from './problem.ts';
export { emptyMemo, type NodeSnapshot, type ReconcileMemo, type Self } from './snapshot.ts';
export {
  type OperatorPod,
  type OperatorView,
  operatorPods,
  operatorSelector,
  readOperatorPod,
  stayIn,
  stayingOn,
} from './successor.ts';
export { type StoredVm, storedVms, type VmsNow, vmsNow } from './vms-now.ts';

export {
  blockersNow,
  filterContextOf,
  namesAllBlockers,
  type StoredVm,
  storedVms,
  type VmsNow,
  vmsNow,
} from './blockers-now.ts';
export { type DrainInputs, decide, decideDrainOnly, isChanged, snapshotOf } from './decide.ts';
export {
  type Decision,
  type Lookup,
  notAllowedText,
  problemWrite,
  releaseDuringWorkAnnotation,
} from './decision.ts';
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

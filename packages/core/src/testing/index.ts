export { applyMerge } from './apply.ts';
export { nodesOf } from './decided.ts';
export {
  at,
  heldNode,
  makeBudget,
  makeEvictionRequest,
  makeNode,
  makePod,
  makeRequest,
  makeSnapshot,
} from './make.ts';
export {
  isReady,
  makeChild,
  makeEvent,
  makeMachine,
  makeMachineRequest,
  makeMachineSnapshot,
  makeNotice,
  makeSet,
} from './make-machine.ts';
export {
  makeInFlight,
  makePlan,
  makePlanNode,
  makePlanSnapshot,
  makeReadyNode,
  makeVerdict,
} from './make-plan.ts';
export { launcherOf, makeVmi, makeVms } from './make-vms.ts';
export { makeWindow } from './make-window.ts';
export { providerForms } from './provider-ids.ts';

export type { AnnouncedTarget, MachineAdapter } from './adapter.ts';
export { byUrgency, mergeEvents, sorted } from './announced.ts';
export { decideMachine } from './decide.ts';
export {
  deadlineOf,
  type EventState,
  eventStates,
  isPending,
  type MachineEvent,
  occurrenceOf,
  type SourceObservation,
  type TroubleReason,
  troubleReasons,
} from './event.ts';
export {
  type Identified,
  likelyNames,
  type MachineIdentity,
  machineOfNode,
  nodeOfMachine,
  type ProvidedNode,
} from './identity.ts';
export {
  collectionOf,
  hookName,
  type Machine,
  type MachineCluster,
  type MachineKind,
  type MachineSet,
  readMachine,
  readMachineCluster,
  readMachineSet,
} from './machine.ts';
export { type KnownCluster, pauseOf } from './pause.ts';
export {
  identityGroup,
  instanceIn,
  instanceOf,
  isAgentsOwn,
  isCalled,
  isEc2Instance,
  isSameProviderId,
} from './provider-id.ts';
export {
  defaultStrategy,
  isOver,
  isResponse,
  type MachineHistory,
  type MachinePhase,
  type MachineRequest,
  type MachineStrategy,
  machinePhases,
  nodeNameOf,
  strategies,
} from './request.ts';
export type {
  ConcurrentMaintenance,
  MachineDecision,
  MachineLimits,
  MachineSnapshot,
  ReplacementSet,
  UnreadyMachine,
} from './snapshot.ts';
export {
  drainedForAnnotation,
  type EventResponse,
  type EventSource,
  type Mark,
  type Notice,
  noticesPath,
  type PresetName,
  presetNames,
  type ScanResult,
  type Signal,
  sourceSubject,
  sourcesPath,
} from './source.ts';
export { deadlineFor } from './steps/begin.ts';
export { areOver } from './steps/strategy.ts';
export {
  announce,
  childDrain,
  childName,
  independentAnnotation,
  machineMaintenanceApi,
  machineMaintenanceFinalizer,
  machineMaintenancesPath,
  ownWrite,
  parentAnnotation,
  pathOfRequest,
} from './writes.ts';

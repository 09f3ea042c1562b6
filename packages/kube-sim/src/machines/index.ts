export { type Flavour, machineDefinitions, machineGroups, SimulatedCloud } from './cloud.ts';
export { hasHook, machineControllers, runsOn } from './controllers.ts';

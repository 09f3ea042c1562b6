export { SimulatedCloud } from './cloud.ts';
export { hasHook, machineControllers, runsOn } from './controllers.ts';
export { type Flavour, machineDefinitions, machineGroups } from './definitions.ts';

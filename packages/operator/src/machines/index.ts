export type { EventScanner } from './event-source-reconciler.ts';
export { MachineCache, machineKindsHere } from './machine-cache.ts';

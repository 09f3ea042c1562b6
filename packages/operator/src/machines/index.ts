export type { EventScanner } from './event-source-reconciler.ts';
export { MachineCache } from './machine-cache.ts';
export { machineKindsHere } from './machine-kinds.ts';

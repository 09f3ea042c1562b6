export { NovaConfigError } from './config/config.ts';
export { environmentConfig } from './config/environment.ts';
export { findNovaConfig, type NovaWhere } from './config/find.ts';
export type { NovaMeter } from './execute-calls.ts';
export type { NovaFailure } from './failure.ts';
export { HypervisorReconciler, type HypervisorReconcilerOptions } from './hypervisor-reconciler.ts';
export { type Nova, openNova } from './nova.ts';

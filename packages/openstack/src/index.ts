export { findNovaConfig, type NovaWhere } from './config/clouds-yaml.ts';
export { environmentConfig, NovaConfigError } from './config/config.ts';
export type { NovaMeter } from './execute-calls.ts';
export { HypervisorReconciler, type HypervisorReconcilerOptions } from './hypervisor-reconciler.ts';
export type { NovaFailure } from './identity.ts';
export { type Nova, openNova } from './nova.ts';

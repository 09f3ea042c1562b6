export { NodeReconciler, type NodeReconcilerOptions } from './node-reconciler.ts';

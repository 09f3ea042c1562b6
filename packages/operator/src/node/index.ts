export { NodeReconciler } from './node-reconciler.ts';

export { createCluster, type EmbeddedCluster, inProcess } from './cluster.ts';
export { ClusterRuntime } from './cluster-runtime.ts';
export { type Failure, unnamed } from './failure.ts';
export { type Faults, load, withFaults } from './load.ts';
export {
  at,
  freeze,
  items,
  kubernetesVersion,
  objects,
  part,
  type Stored,
  seeded,
  strings,
  text,
  without,
} from './object.ts';
export { administrator, type RequestLog, type Serving, serve } from './serve.ts';

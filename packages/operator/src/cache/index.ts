export { InformerSet } from './informer-set.ts';
export { everyNamespace } from './node-cache.ts';
export { PodWatches } from './pod-watches.ts';

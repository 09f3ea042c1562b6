export { InformerSet } from './informer-set.ts';
export { everyNamespace } from './namespaces.ts';
export { PodWatches } from './pod-watches.ts';

export { kubeVirtDefinitions, kubeVirtObjects } from './definitions.ts';
export { SimulatedKubeVirt } from './simulated.ts';

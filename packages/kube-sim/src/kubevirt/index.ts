export { SimulatedKubeVirt } from './machines.ts';
export { kubeVirtDefinitions, kubeVirtObjects } from './virt-api.ts';

/** Release of Kubernetes that the embedded cluster is tested against. */
export const kubernetesMinor = 37;
export const kubernetesVersion = `v1.${kubernetesMinor}.2`;

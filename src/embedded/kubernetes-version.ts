/** The release of Kubernetes that the embedded cluster is held to. */
export const kubernetesMinor = 37;
export const kubernetesVersion = `v1.${kubernetesMinor}.2`;

import type { MaintenanceWindowSpec } from '@drydock/apis/schema';
import type { Manifest } from '../../control-plane/objects/manifests.ts';

export const windows = '/apis/drydock.dev/v1alpha1/maintenancewindows';

export function inSeconds(seconds: number): string {
  return new Date(Date.now() + seconds * 1000).toISOString();
}

/** A window of one node, by its host name. */
export function windowOf(name: string, node: string, spec: MaintenanceWindowSpec): Manifest {
  return {
    apiVersion: 'drydock.dev/v1alpha1',
    kind: 'MaintenanceWindow',
    metadata: { name },
    spec: { nodeSelector: { matchLabels: { 'kubernetes.io/hostname': node } }, ...spec },
  };
}

import { z } from 'zod';
import { podReference, time } from './common.ts';

/** nodemaintenance.medik8s.io/v1beta1 NodeMaintenance: field by field the CRD of the operator that is replaced. */

export const nodeMaintenanceSpec = z.object({
  nodeName: z.string().describe('Node name to apply maintenance on/off'),
  reason: z.string().optional().describe('Reason for maintenance'),
});

export const nodeMaintenanceStatus = z.object({
  phase: z.string().optional().describe('Phase is the representation of the maintenance progress (Running, Succeeded, Failed)'),
  drainProgress: z.int().optional().describe('Percentage completion of draining the node'),
  lastUpdate: time.optional().describe('The last time the status has been updated'),
  lastError: z.string().optional().describe('LastError represents the latest error if any in the latest reconciliation'),
  pendingPods: z.array(z.string()).optional().describe('PendingPods is a list of pending pods for eviction'),
  pendingPodsRefs: z.array(podReference).optional().describe('PendingPodsRefs is a list of refs of pending pods for eviction'),
  totalpods: z.int().optional().describe('TotalPods is the total number of all pods on the node from the start'),
  evictionPods: z.int().optional().describe('EvictionPods is the total number of pods up for eviction from the start'),
  errorOnLeaseCount: z.int().optional().describe('Consecutive number of errors upon obtaining a lease'),
});

export type NodeMaintenanceSpec = z.input<typeof nodeMaintenanceSpec>;
export type NodeMaintenanceStatus = z.input<typeof nodeMaintenanceStatus>;

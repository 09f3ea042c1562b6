import { z } from 'zod';
import { podReference, time } from './common.ts';

/**
 * nodemaintenance.medik8s.io/v1beta1 NodeMaintenance: field by field the CRD of the replaced
 * operator.
 */

export const nodeMaintenanceSpec = z.object({
  nodeName: z.string().describe('Node name to apply maintenance on/off'),
  reason: z.string().optional().describe('Reason for maintenance'),
});

export const nodeMaintenanceStatus = z.object({
  phase: z
    .string()
    .optional()
    .describe(
      'Phase is the representation of the maintenance progress (Running, Succeeded, Failed)',
    ),
  drainProgress: z.int().optional().describe('Percentage completion of draining the node'),
  lastUpdate: time.optional().describe('The last time the status has been updated'),
  lastError: z
    .string()
    .optional()
    .describe('LastError represents the latest error if any in the latest reconciliation'),
  pendingPods: z
    .array(z.string())
    .optional()
    .describe('PendingPods is a list of pending pods for eviction'),
  pendingPodsRefs: z
    .array(podReference)
    .optional()
    .describe('PendingPodsRefs is a list of refs of pending pods for eviction'),
  totalpods: z
    .int()
    .optional()
    .describe('TotalPods is the total number of all pods on the node from the start'),
  evictionPods: z
    .int()
    .optional()
    .describe('EvictionPods is the total number of pods up for eviction from the start'),
  errorOnLeaseCount: z
    .int()
    .optional()
    .describe('Consecutive number of errors upon obtaining a lease'),
});

/** Status of nodemaintenance.kubevirt.io/v1beta1. */
export const nodeMaintenanceStatusOfKubevirt = nodeMaintenanceStatus.omit({
  drainProgress: true,
  lastUpdate: true,
  pendingPodsRefs: true,
});

/** Status of kubevirt.io. */
export const nodeMaintenanceStatusOfAlpha = nodeMaintenanceStatusOfKubevirt.omit({
  errorOnLeaseCount: true,
});

/** Spec of kubevirt.io/v1alpha1. Objects that were created as v1alpha3 have no nodeName. */
export const nodeMaintenanceSpecOfAlpha1 = z.object({
  nodeName: z
    .string()
    .optional()
    .describe("Node name to apply maintenance on/off. Defaults to the object's own name"),
  reason: z.string().optional().describe('Reason for maintenance'),
});

/**
 * Spec of kubevirt.io/v1alpha3: the name of the object is the node. Further fields of v1alpha1 are
 * kept when an object is written as v1alpha3.
 */
export const nodeMaintenanceSpecOfAlpha3 = z
  .object({ reason: z.string().optional().describe('Reason for maintenance') })
  .meta({ 'x-kubernetes-preserve-unknown-fields': true });

/** Types for the readers: some generations name the node elsewhere. */
export type NodeMaintenanceSpec = Partial<z.input<typeof nodeMaintenanceSpec>>;
export type NodeMaintenanceStatus = z.input<typeof nodeMaintenanceStatus>;

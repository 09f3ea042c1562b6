import type { JsonObject } from '@drydock/apimachinery';
import type { Stored } from '@drydock/kube-sim';
import type { Resource } from '@drydock/kube-sim/store';
import { workNamespace } from '@drydock/operator';

/**
 * Plan of the demo: another kernel for its workers. Exists from the start, paused until a user
 * resumes it on the dashboard.
 */

type Make = (resource: Resource, object: JsonObject) => Stored;

/** Kernels of the workers before and after the plan. */
export const oldKernel = '6.12.8';
const newKernel = '6.12.9';

function inZone(zone: string): JsonObject {
  return { matchLabels: { 'topology.kubernetes.io/zone': zone } };
}

const work: JsonObject = {
  job: {
    rebootsNode: true,
    timeoutSeconds: 300,
    podSpec: {
      hostPID: true,
      containers: [
        {
          name: 'update',
          image: `example.test/kernel-update:${newKernel}`,
          securityContext: { privileged: true },
        },
      ],
    },
  },
};

/**
 * Returns the plan: one node first, then one zone after the other; last the zone with a budget that
 * never allows an eviction, which the plan awaits for `patienceSeconds`.
 */
function plan(patienceSeconds: number): JsonObject {
  return {
    metadata: { name: 'kernel' },
    spec: {
      state: 'Paused',
      nodeSelector: { matchLabels: { 'node-role.kubernetes.io/worker': '' } },
      due: { expression: `node.status.nodeInfo.kernelVersion != '${newKernel}'` },
      concurrency: { maxInFlight: 2, maxUnavailable: 2 },
      stages: [
        { name: 'canary', nodeSelector: inZone('north'), limit: 1, approveAfter: true },
        { name: 'north', nodeSelector: inZone('north') },
        { name: 'south', nodeSelector: inZone('south') },
        { name: 'middle', nodeSelector: inZone('middle') },
      ],
      template: {
        maintenance: {
          reason: `kernel ${newKernel}`,
          drain: {
            force: true,
            deleteEmptyDirData: true,
            ladder: [{ afterSeconds: patienceSeconds, action: 'Delete' }],
          },
        },
      },
      work,
      soakSeconds: 1,
    },
  };
}

/** Creates the namespace of the work, and the plan. */
export function furnishPlans(make: Make, patienceSeconds: number): void {
  make('namespaces', {
    metadata: {
      name: workNamespace,
      labels: { 'pod-security.kubernetes.io/enforce': 'privileged' },
    },
  });
  make('maintenanceplans.drydock.dev', plan(patienceSeconds));
}

import type { JsonObject } from '@drydock/apimachinery';
import { part } from '@drydock/kube-sim';
import { type Imported, nameOf, pausedPlan, selectorOf } from './imported.ts';

/**
 * Converts MachineConfigPools of OpenShift, by docs/moving-to-plans.md: the same nodes, in the same
 * order, with the same concurrency. The contents of their disks stay with the
 * machine-config-operator.
 */

/** Returns the gate that starts no node while the pool is being updated. */
function gateOf(name: string): JsonObject {
  return {
    name: 'pool',
    at: ['BeforeNode'],
    object: {
      apiVersion: 'machineconfiguration.openshift.io/v1',
      resource: 'machineconfigpools',
      name,
      expression:
        'object.spec.?paused.orValue(false) || object.spec.configuration.name == object.status.configuration.name',
    },
    forSeconds: 60,
  };
}

/** Returns a MaintenancePlan that reboots the nodes of a pool. */
export function importPool(pool: JsonObject): Imported {
  const { maxUnavailable = 1, pinnedImageSets } = part(pool, 'spec');
  const name = nameOf(pool);
  const plan = pausedPlan(`reboot-${name}`, {
    nodeSelector: selectorOf(pool),
    ...(name !== 'master' && { controlPlane: 'Never' }),
    concurrency: { maxInFlight: maxUnavailable, maxUnavailable },
    order: { by: ['Zone', 'Age'] },
    gates: [gateOf(name)],
    template: {
      maintenance: { reason: `pool ${name}`, drain: { force: true, deleteEmptyDirData: true } },
    },
    work: { reboot: { timeoutSeconds: 1800 } },
  });
  return {
    objects: [plan],
    left: [
      'spec.machineConfigSelector, spec.configuration: what is on the disk stays with the machine-config-operator; the plan reboots, and other work goes to work.job',
      `gates: give the operator the right to get, list and watch machineconfigpools ${name} (docs/moving-to-plans.md)`,
      ...(pinnedImageSets === undefined
        ? []
        : ['spec.pinnedImageSets: pull images with prepare.job']),
    ],
  };
}

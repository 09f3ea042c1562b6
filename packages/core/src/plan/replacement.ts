import { pathSegment } from '@drydock/apimachinery';
import { machineMaintenanceApi } from '../machine/writes.ts';
import { planAnnotation } from '../plan-annotation.ts';
import type { Write } from '../write.ts';
import type { InFlight } from './in-flight.ts';
import type { Work } from './plan.ts';
import type { MachineRef, PlanSnapshot } from './snapshot.ts';
import { announce, childNameOf } from './writes.ts';

/** The MachineMaintenance by which a plan replaces the machine of a node. */

/**
 * Creates the MachineMaintenance. The drain is the plan's, and so are windows and approval: they
 * were checked before the node began.
 */
export function createReplacementWrite(
  { plan, settings }: PlanSnapshot,
  { strategy }: Extract<Work, { kind: 'replace' }>,
  { node, uid }: InFlight,
  machine: MachineRef,
): Write {
  return {
    description: 'create the machine maintenance that replaces the node',
    method: 'POST',
    path: `/apis/${machineMaintenanceApi}/namespaces/${pathSegment(settings.machineNamespace)}/machinemaintenances`,
    body: {
      apiVersion: machineMaintenanceApi,
      kind: 'MachineMaintenance',
      metadata: { name: childNameOf(plan, uid), annotations: { [planAnnotation]: plan.name } },
      spec: {
        maintenancescheduled: false,
        machineid: machine.instance,
        machinelink: machine.name,
        machineRef: {
          apiVersion: machine.apiVersion,
          kind: 'Machine',
          namespace: machine.namespace,
          name: machine.name,
        },
        nodeName: node,
        strategy,
        drain: plan.drain,
      },
    },
    cache: 'machineMaintenances',
    events: [
      announce(plan, 'Normal', 'NodeBegun', `Machine ${machine.name} of node ${node} is replaced`),
    ],
  };
}

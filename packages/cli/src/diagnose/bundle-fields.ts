import { type Kept, only } from '@drydock/rehearse/snapshot';

/**
 * Fields that a support bundle keeps of kinds that a snapshot lacks: as there, only the fields
 * listed here.
 */

const conditions = only('lastTransitionTime observedGeneration reason severity status type');
const events = only(
  'code deadline id instance kind notAfter notBefore provider resource source state',
);

const machine: Readonly<Record<string, Kept>> = {
  spec: only(
    'clusterName failureDomain minReadySeconds nodeName paused providerID replicas state version',
    {
      lifecycleHooks: only('', { preDrain: only('name owner'), preTerminate: only('name owner') }),
      selector: only('matchLabels', { matchExpressions: only('key operator values') }),
    },
  ),
  status: only(
    'availableReplicas lastUpdated observedGeneration phase readyReplicas replicas upToDateReplicas updatedReplicas',
    {
      conditions,
      nodeRef: only('apiVersion kind name uid'),
    },
  ),
};

export const bundleFields: Readonly<Record<string, Readonly<Record<string, Kept>>>> = {
  MachineMaintenance: {
    spec: only(
      'approval approved deadline eventcode eventid gates keepSeconds machineid machinelink maintenancescheduled nodeName notBefore strategy',
      { events, machineRef: only('name namespace') },
    ),
    status: only(
      'beganForDeadline bootID completionTime deadline drainedTime eventsEndTime handledEvents machineUID maintenanceName nodeName observedGeneration phase scheduledTime set startTime strategy waitingFor',
      { conditions, history: only('phase reason time') },
    ),
  },
  MachineEventSource: {
    spec: only('gates presets urgency', {
      aws: only('intervalSeconds region', { credentialsSecret: only('name namespace') }),
      responses: only('approval kinds strategy'),
      signals: only('kind state'),
    }),
    status: only(
      'events lastScanTime machines nextScanTime observedGeneration trouble unknownMachines withoutProviderID',
      { conditions },
    ),
  },
  NodeNotice: { spec: only('instance observedTime provider', { events, trouble: only('reason') }) },
  MaintenanceApproval: { spec: only('planName promote revision runID specHash stage') },
  Lease: {
    spec: only('acquireTime holderIdentity leaseDurationSeconds leaseTransitions renewTime'),
  },
  EvictionRequest: {
    spec: only('type', { target: only('', { pod: only('name uid') }) }),
    status: only('', { conditions }),
  },
  Eviction: {
    spec: only('', { target: only('', { pod: only('name uid') }) }),
    status: only('', { conditions }),
  },
  Machine: machine,
  MachineSet: machine,
  MachineDeployment: machine,
  ControlPlaneMachineSet: machine,
  KubeadmControlPlane: machine,
};

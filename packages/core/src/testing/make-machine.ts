import type { MachineEvent } from '../machine/event.ts';
import type { Machine, MachineSet } from '../machine/machine.ts';
import type { MachineHistory, MachineRequest } from '../machine/request.ts';
import type { MachineSnapshot, Notice } from '../machine/snapshot.ts';
import { machineMaintenanceFinalizer } from '../machine/writes.ts';
import { type MaintenanceRequest, noHistory } from '../request/request.ts';
import { at, makeNode, makeRequest } from './make.ts';

/**
 * Small machines for tests: m1 of three workers is to be retired in two weeks; work on it has not
 * begun.
 */

const day = 86_400;

export function makeEvent(over: Partial<MachineEvent> = {}): MachineEvent {
  return {
    provider: 'aws',
    id: 'e1',
    kind: 'retirement',
    instance: 'i-1',
    deadline: at(14 * day),
    state: 'Scheduled',
    source: 'aws',
    ...over,
  };
}

export function makeMachineHistory(over: Partial<MachineHistory> = {}): MachineHistory {
  return {
    becauseOfDeadline: false,
    handled: new Set(),
    ...over,
  };
}

export type MachineRequestOverrides = Partial<Omit<MachineRequest, 'history'>> & {
  readonly history?: Partial<MachineHistory>;
};

export function makeMachineRequest({
  history = {},
  ...over
}: MachineRequestOverrides = {}): MachineRequest {
  return {
    key: 'drydock-system/mm-m1',
    namespace: 'drydock-system',
    name: 'mm-m1',
    uid: 'uid-mm',
    resourceVersion: '7',
    generation: 1,
    createdAt: at(-100),
    deleting: false,
    finalizers: [machineMaintenanceFinalizer],
    deletionIssued: false,
    machineName: 'm1',
    instance: 'i-1',
    nodeOnly: false,
    events: [makeEvent()],
    independent: over.events?.length === 0,
    needsApproval: false,
    approved: false,
    gates: [],
    drain: {},
    keepSeconds: 3600,
    history: makeMachineHistory(history),
    status: {},
    ...over,
  };
}

const common = {
  apiVersion: 'machine.openshift.io/v1beta1',
  namespace: 'machines',
  resourceVersion: '1',
  labels: {},
};

export function makeMachine(over: Partial<Machine> = {}): Machine {
  return {
    ...common,
    key: 'openshift/machines/m1',
    api: 'openshift',
    kind: 'Machine',
    name: 'm1',
    uid: 'uid-m1',
    path: '/m1',
    createdAt: at(-1000),
    deleting: false,
    nodeName: 'n1',
    controlPlane: false,
    available: true,
    preDrainHooks: [],
    ...over,
  };
}

export function makeSet(over: Partial<MachineSet> = {}): MachineSet {
  return {
    ...common,
    key: 'openshift/MachineSet/machines/workers',
    api: 'openshift',
    kind: 'MachineSet',
    name: 'workers',
    uid: 'uid-set',
    path: '/workers',
    replicas: 3,
    deleting: false,
    controlPlane: false,
    topologyOwned: false,
    surges: new Map(),
    ...over,
  };
}

export const isReady = { type: 'Ready', status: 'True', reason: '', message: '' };

/** The Maintenance that drains the node, as its machine maintenance has made it. */
export function makeChild(
  state: 'Draining' | 'Drained',
  over: Partial<MaintenanceRequest> = {},
): MaintenanceRequest {
  return makeRequest('mm-m1-uid-mm', {
    history: { ...noHistory, state },
    status: { observedGeneration: 1 },
    ...over,
  });
}

export function makeNotice(over: Partial<Notice> = {}): Notice {
  return {
    key: 'n1',
    uid: 'uid-n',
    resourceVersion: '9',
    provider: 'aws',
    instance: 'i-1',
    events: [],
    incomplete: false,
    drainedFor: [],
    ...over,
  };
}

/** What is undefined here is missing. */
export type MachineSnapshotOverrides = {
  readonly [K in keyof MachineSnapshot]?: MachineSnapshot[K] | undefined;
};

export function makeMachineSnapshot(over: MachineSnapshotOverrides = {}): MachineSnapshot {
  const all = {
    request: makeMachineRequest(),
    machineApi: true,
    machine: makeMachine(),
    node: makeNode({ conditions: [isReady] }),
    replacement: { set: makeSet(), members: [makeMachine()], ready: 3, unready: [] },
    surged: [],
    windows: [],
    others: [],
    limits: { perSet: 1, perZone: 0, nodes: 0 },
    nodeCount: 3,
    seen: new Map(),
    drainLeadSeconds: 1800,
    urgentSources: new Set(['aws']),
    ...over,
  };
  return Object.fromEntries(
    Object.entries(all).filter(([, value]) => value !== undefined),
  ) as unknown as MachineSnapshot;
}

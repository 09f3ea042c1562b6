import * as cell from './cells.ts';
import {
  configMaps,
  events,
  namespaces,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  secrets,
  serviceAccounts,
} from './cluster-strategies.ts';
import { builtIn, type KindEntry } from './entry.ts';
import { eventCells } from './event-cells.ts';
import type { Kind } from './kind.ts';
import { podCells } from './pod-cells.ts';
import { pods } from './pods.ts';

const { age, name, word } = cell;
const cluster = 'Cluster';
const all = ['all'];
const deleted = { answersDeletionWithObject: true } as const;
const podFields = [
  'spec.nodeName',
  'spec.restartPolicy',
  'spec.schedulerName',
  'spec.serviceAccountName',
  'spec.hostNetwork',
  'status.phase',
  'status.podIP',
  'status.nominatedNodeName',
] as const;
const eventFields = [
  ...['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'].map(
    field => `involvedObject.${field}`,
  ),
  'reason',
  'reportingComponent',
  'source',
  'type',
] as const;
const nodeCells = [
  name,
  cell.nodeStatus,
  cell.nodeRoles,
  age,
  word('status', 'nodeInfo', 'kubeletVersion'),
  cell.nodeAddress('InternalIP'),
  cell.nodeAddress('ExternalIP'),
  cell.nodeInfo('osImage'),
  cell.nodeInfo('kernelVersion'),
  cell.nodeInfo('containerRuntimeVersion'),
];
const volumeCells = [
  name,
  word('spec', 'capacity', 'storage'),
  cell.accessModes('spec', 'accessModes'),
  word('spec', 'persistentVolumeReclaimPolicy'),
  cell.volumePhase,
  cell.claimOf,
  word('spec', 'storageClassName'),
  cell.orUnset('spec', 'volumeAttributesClassName'),
  word('status', 'reason'),
  age,
  cell.orUnset('spec', 'volumeMode'),
];
const claimCells = [
  name,
  cell.volumePhase,
  word('spec', 'volumeName'),
  cell.whenBound(word('status', 'capacity', 'storage')),
  cell.whenBound(cell.accessModes('status', 'accessModes')),
  word('spec', 'storageClassName'),
  cell.orUnset('spec', 'volumeAttributesClassName'),
  age,
  cell.orUnset('spec', 'volumeMode'),
];

/** Kinds of the core group. */
export const coreKinds: readonly Kind[] = (
  [
    {
      kind: 'ConfigMap',
      plural: 'configmaps',
      shortNames: ['cm'],
      strategy: configMaps,
      cells: [name, cell.size('data', 'binaryData'), age],
    },
    {
      kind: 'Event',
      plural: 'events',
      shortNames: ['ev'],
      strategy: events,
      selectable: eventFields,
      cells: eventCells,
    },
    {
      kind: 'Namespace',
      plural: 'namespaces',
      scope: cluster,
      shortNames: ['ns'],
      status: true,
      ...deleted,
      strategy: namespaces,
      selectable: ['status.phase'],
      cells: [name, word('status', 'phase'), age],
    },
    {
      kind: 'Node',
      plural: 'nodes',
      scope: cluster,
      shortNames: ['no'],
      status: true,
      strategy: nodes,
      selectable: ['spec.unschedulable'],
      cells: nodeCells,
    },
    {
      kind: 'PersistentVolumeClaim',
      plural: 'persistentvolumeclaims',
      shortNames: ['pvc'],
      status: true,
      ...deleted,
      strategy: persistentVolumeClaims,
      cells: claimCells,
    },
    {
      kind: 'PersistentVolume',
      plural: 'persistentvolumes',
      scope: cluster,
      shortNames: ['pv'],
      status: true,
      ...deleted,
      strategy: persistentVolumes,
      cells: volumeCells,
    },
    {
      kind: 'Pod',
      plural: 'pods',
      shortNames: ['po'],
      categories: all,
      status: true,
      ...deleted,
      strategy: pods,
      selectable: podFields,
      cells: podCells,
    },
    {
      kind: 'Secret',
      plural: 'secrets',
      strategy: secrets,
      selectable: ['type'],
      cells: [name, word('type'), cell.size('data'), age],
    },
    {
      kind: 'ServiceAccount',
      plural: 'serviceaccounts',
      shortNames: ['sa'],
      ...deleted,
      strategy: serviceAccounts,
      cells: [name, age],
    },
  ] satisfies readonly KindEntry[]
).map(builtIn('', 'v1', 'core'));

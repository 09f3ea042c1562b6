import type { JsonObject } from '@drydock/apimachinery';
import { at, items, objects, part, type Stored, text } from '../object.ts';
import * as cell from './cells.ts';
import { builtIn, type KindEntry } from './cells.ts';
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
import { ageOf, type Kind } from './kind.ts';
import { pods } from './pods.ts';

function first(event: Stored, now: Temporal.Instant): string {
  return ageOf(at(event, 'firstTimestamp') ?? at(event, 'eventTime'), now);
}

function last(event: Stored, now: Temporal.Instant): string {
  const series = at(event, 'series', 'lastObservedTime');
  if (series !== undefined) return ageOf(series, now);
  return at(event, 'lastTimestamp') === undefined
    ? first(event, now)
    : ageOf(at(event, 'lastTimestamp'), now);
}

function target(event: Stored): string {
  const kind = text(event, 'involvedObject', 'kind').toLowerCase();
  const name = text(event, 'involvedObject', 'name');
  return name === '' ? kind : `${kind}/${name}`;
}

function source(event: Stored): string {
  const component = text(event, 'source', 'component') || text(event, 'reportingComponent');
  const instance = text(event, 'source', 'host') || text(event, 'reportingInstance');
  return instance === '' ? component : `${component}, ${instance}`;
}

function times(event: Stored): number {
  const series = at(event, 'series', 'count');
  if (typeof series === 'number') return series;
  const count = at(event, 'count');
  return typeof count === 'number' && count > 0 ? count : 1;
}

/**
 * Cells of an event, in the order of its columns. Upstream: printEvent of
 * pkg/printers/internalversion.
 */
const eventCells = [
  last,
  (event: Stored) => text(event, 'type'),
  (event: Stored) => text(event, 'reason'),
  target,
  (event: Stored) => text(event, 'involvedObject', 'fieldPath'),
  source,
  (event: Stored) => text(event, 'message').trim(),
  first,
  times,
  (event: Stored) => event.metadata.name,
] as const;

type Shown = {
  readonly ready: number;
  readonly reason: string;
  readonly restarts: number;
  readonly lastRestart: string;
};

function number(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}
function later(one: string, other: string): string {
  return other > one ? other : one;
}
function isRestartable(container: JsonObject | undefined): boolean {
  return container?.['restartPolicy'] === 'Always';
}
function hasCondition(pod: Stored, type: string): boolean {
  return objects(at(pod, 'status', 'conditions')).some(
    one => one['type'] === type && one['status'] === 'True',
  );
}

function endOf(terminated: JsonObject, prefix = ''): string {
  if (text(terminated, 'reason') !== '') return prefix + text(terminated, 'reason');
  const signal = number(terminated['signal']);
  return signal === 0
    ? `${prefix}ExitCode:${number(terminated['exitCode'])}`
    : `${prefix}Signal:${signal}`;
}

/** Returns why an init container is not done; undefined when it is. */
function initProblem(
  status: JsonObject,
  restartable: boolean,
  position: string,
): string | undefined {
  const terminated =
    at(status, 'state', 'terminated') === undefined
      ? undefined
      : part(status, 'state', 'terminated');
  if (terminated !== undefined && number(terminated['exitCode']) === 0) return undefined;
  if (restartable && status['started'] === true) return undefined;
  if (terminated !== undefined) return endOf(terminated, 'Init:');
  const waiting = text(status, 'state', 'waiting', 'reason');
  return waiting !== '' && waiting !== 'PodInitializing' ? `Init:${waiting}` : `Init:${position}`;
}

type Init = Shown & {
  readonly initializing: boolean;
  readonly ownRestarts: number;
  readonly ownLastRestart: string;
};

function initContainers(pod: Stored, reason: string): Init {
  const containers = objects(at(pod, 'spec', 'initContainers'));
  const seen = {
    ready: 0,
    reason,
    restarts: 0,
    lastRestart: '',
    ownRestarts: 0,
    ownLastRestart: '',
    initializing: false,
  };
  for (const [index, status] of objects(at(pod, 'status', 'initContainerStatuses')).entries()) {
    const restartable = isRestartable(containers.find(({ name }) => name === status['name']));
    const finished = text(status, 'lastState', 'terminated', 'finishedAt');
    seen.restarts += number(status['restartCount']);
    seen.lastRestart = later(seen.lastRestart, finished);
    if (restartable) {
      seen.ownRestarts += number(status['restartCount']);
      seen.ownLastRestart = later(seen.ownLastRestart, finished);
    }
    const problem = initProblem(status, restartable, `${index}/${containers.length}`);
    if (problem !== undefined) return { ...seen, reason: problem, initializing: true };
    if (restartable && status['started'] === true && status['ready'] === true) seen.ready += 1;
  }
  return seen;
}

function mainContainers(pod: Stored, from: Init): Shown {
  const seen = {
    ready: from.ready,
    reason: from.reason,
    restarts: from.ownRestarts,
    lastRestart: from.ownLastRestart,
  };
  let [running, error] = [false, ''];
  for (const status of objects(at(pod, 'status', 'containerStatuses')).toReversed()) {
    seen.restarts += number(status['restartCount']);
    seen.lastRestart = later(
      seen.lastRestart,
      text(status, 'lastState', 'terminated', 'finishedAt'),
    );
    const waiting = text(status, 'state', 'waiting', 'reason');
    if (waiting !== '') seen.reason = waiting;
    else if (at(status, 'state', 'terminated') !== undefined) {
      seen.reason = endOf(part(status, 'state', 'terminated'));
      if (number(at(status, 'state', 'terminated', 'exitCode')) !== 0) error = seen.reason;
    } else if (status['ready'] === true && at(status, 'state', 'running') !== undefined) {
      running = true;
      seen.ready += 1;
    }
  }
  if (seen.reason !== 'Completed') return seen;
  if (running && hasCondition(pod, 'Ready')) return { ...seen, reason: 'Running' };
  if (error !== '') return { ...seen, reason: error };
  return running ? { ...seen, reason: 'NotReady' } : seen;
}

function statusOf(pod: Stored): Shown {
  const phase = text(pod, 'status', 'phase');
  const gated = objects(at(pod, 'status', 'conditions')).some(
    one => one['type'] === 'PodScheduled' && one['reason'] === 'SchedulingGated',
  );
  const begin = gated ? 'SchedulingGated' : text(pod, 'status', 'reason') || phase;
  const init = initContainers(pod, begin);
  const shown =
    !init.initializing || hasCondition(pod, 'Initialized') ? mainContainers(pod, init) : init;
  if (pod.metadata.deletionTimestamp === undefined) return shown;
  if (text(pod, 'status', 'reason') === 'NodeLost') return { ...shown, reason: 'Unknown' };
  return phase === 'Succeeded' || phase === 'Failed' ? shown : { ...shown, reason: 'Terminating' };
}

function orNone(value: string): string {
  return value === '' ? '<none>' : value;
}

function gates(pod: Stored): string {
  const wanted = objects(at(pod, 'spec', 'readinessGates'));
  if (wanted.length === 0) return '<none>';
  return `${wanted.filter(gate => hasCondition(pod, text(gate, 'conditionType'))).length}/${wanted.length}`;
}

function containersOf(pod: Stored): number {
  return (
    items(at(pod, 'spec', 'containers')).length +
    objects(at(pod, 'spec', 'initContainers')).filter(isRestartable).length
  );
}

/**
 * Cells of a pod, in the order of its columns. Upstream: printPod of pkg/printers/internalversion.
 */
const podCells = [
  (pod: Stored) => pod.metadata.name,
  (pod: Stored) => `${statusOf(pod).ready}/${containersOf(pod)}`,
  (pod: Stored) => statusOf(pod).reason,
  (pod: Stored, now: Temporal.Instant) => {
    const { restarts, lastRestart } = statusOf(pod);
    return restarts === 0 || lastRestart === ''
      ? String(restarts)
      : `${restarts} (${ageOf(lastRestart, now)} ago)`;
  },
  (pod: Stored, now: Temporal.Instant) => ageOf(pod.metadata.creationTimestamp, now),
  (pod: Stored) => orNone(text(objects(at(pod, 'status', 'podIPs'))[0], 'ip')),
  (pod: Stored) => orNone(text(pod, 'spec', 'nodeName')),
  (pod: Stored) => orNone(text(pod, 'status', 'nominatedNodeName')),
  gates,
] as const;

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

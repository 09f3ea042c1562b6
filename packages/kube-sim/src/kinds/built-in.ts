import { items, objects, part, text } from '../object.ts';
import { admissionKinds } from './admission.ts';
import * as cell from './cells.ts';
import { builtIn, type KindEntry } from './cells.ts';
import { budgets, leases, priorityClasses, volumeAttachments } from './cluster-strategies.ts';
import { coreKinds } from './core-kinds.ts';
import type { Column, Kind, Strategy } from './kind.ts';
import { roleKinds } from './roles.ts';
import {
  controllerRevisions,
  daemonSets,
  deployments,
  jobs,
  replicaSets,
  statefulSets,
} from './workloads.ts';

const { age, count, name, word } = cell;

type Cell = Column['cell'];

const servedVersions: Cell = object =>
  objects(part(object, 'spec')['versions'])
    .filter(({ served }) => served === true)
    .map(version => `${text(version, 'name')}${version['storage'] === true ? '(storage)' : ''}`)
    .sort()
    .join(',');

const isEstablished: Cell = object =>
  objects(part(object, 'status')['conditions']).some(
    one => one['type'] === 'Established' && one['status'] === 'True',
  );

/**
 * Cells of CustomResourceDefinitions; upstream in
 * apiextensions-apiserver/pkg/registry/customresourcedefinition/tableconvertor.
 */
const definitionCells: readonly Cell[] = [
  name,
  word('spec', 'scope'),
  servedVersions,
  object => object.metadata.creationTimestamp,
  word('spec', 'group'),
  word('spec', 'names', 'kind'),
  object =>
    items(part(object, 'spec', 'names')['shortNames'])
      .map(String)
      .join(','),
  isEstablished,
];

const cluster = 'Cluster';
const all = ['all'];
const extensions = ['api-extensions'];
const wide = [cell.containers, cell.images, cell.selector] as const;
const scale = { spec: ['spec', 'replicas'], status: ['status', 'replicas'] } as const;
const daemonCounts = [
  'desiredNumberScheduled',
  'currentNumberScheduled',
  'numberReady',
  'updatedNumberScheduled',
  'numberAvailable',
];
const deleted = { answersDeletionWithObject: true } as const;

const apps: readonly Kind[] = (
  [
    {
      kind: 'ControllerRevision',
      plural: 'controllerrevisions',
      strategy: controllerRevisions,
      cells: [name, cell.controller, count('revision'), age],
    },
    {
      kind: 'DaemonSet',
      plural: 'daemonsets',
      shortNames: ['ds'],
      categories: all,
      status: true,
      strategy: daemonSets,
      cells: [
        name,
        ...daemonCounts.map(field => count('status', field)),
        cell.nodeSelector,
        age,
        ...wide,
      ],
    },
    {
      kind: 'Deployment',
      plural: 'deployments',
      shortNames: ['deploy'],
      categories: all,
      status: true,
      scale,
      strategy: deployments,
      cells: [
        name,
        cell.readyReplicas,
        count('status', 'updatedReplicas'),
        count('status', 'availableReplicas'),
        age,
        ...wide,
      ],
    },
    {
      kind: 'ReplicaSet',
      plural: 'replicasets',
      shortNames: ['rs'],
      categories: all,
      status: true,
      scale,
      strategy: replicaSets,
      selectable: ['status.replicas'],
      cells: [
        name,
        count('spec', 'replicas'),
        count('status', 'replicas'),
        count('status', 'readyReplicas'),
        age,
        ...wide,
      ],
    },
    {
      kind: 'StatefulSet',
      plural: 'statefulsets',
      shortNames: ['sts'],
      categories: all,
      status: true,
      scale,
      strategy: statefulSets,
      cells: [name, cell.readyReplicas, age, cell.containers, cell.images],
    },
  ] satisfies readonly KindEntry[]
).map(builtIn('apps', 'v1', 'apps'));

const jobKind = builtIn(
  'batch',
  'v1',
  'batch',
)({
  kind: 'Job',
  plural: 'jobs',
  categories: all,
  status: true,
  strategy: jobs,
  selectable: ['status.successful'],
  cells: [name, cell.jobStatus, cell.jobCompletions, cell.jobDuration, age, ...wide],
});

const budgetKind = builtIn(
  'policy',
  'v1',
  'policy',
)({
  kind: 'PodDisruptionBudget',
  plural: 'poddisruptionbudgets',
  shortNames: ['pdb'],
  status: true,
  strategy: budgets,
  cells: [
    name,
    cell.budgetBound('minAvailable'),
    cell.budgetBound('maxUnavailable'),
    count('status', 'disruptionsAllowed'),
    age,
  ],
});

const leaseKind = builtIn(
  'coordination.k8s.io',
  'v1',
  'coordination',
)({
  kind: 'Lease',
  plural: 'leases',
  strategy: leases,
  cells: [name, word('spec', 'holderIdentity'), age],
});

const priorityClassKind = builtIn(
  'scheduling.k8s.io',
  'v1',
  'scheduling',
)({
  kind: 'PriorityClass',
  plural: 'priorityclasses',
  scope: cluster,
  shortNames: ['pc'],
  strategy: priorityClasses,
  cells: [
    name,
    count('value'),
    object => object['globalDefault'] === true,
    age,
    word('preemptionPolicy'),
  ],
});

const attachmentKind = builtIn(
  'storage.k8s.io',
  'v1',
  'storage',
)({
  kind: 'VolumeAttachment',
  plural: 'volumeattachments',
  scope: cluster,
  status: true,
  ...deleted,
  strategy: volumeAttachments,
  cells: [
    name,
    word('spec', 'attacher'),
    word('spec', 'source', 'persistentVolumeName'),
    word('spec', 'nodeName'),
    object => (object['status'] as { readonly attached?: boolean } | undefined)?.attached === true,
    age,
  ],
});

/** Returns the kind of CustomResourceDefinitions, with a strategy that knows schemas. */
export function definitionKind(strategy: Strategy): Kind {
  return builtIn(
    'apiextensions.k8s.io',
    'v1',
    'apiextensions',
  )({
    kind: 'CustomResourceDefinition',
    plural: 'customresourcedefinitions',
    scope: cluster,
    shortNames: ['crd', 'crds'],
    categories: extensions,
    status: true,
    strategy,
    cells: definitionCells,
  });
}

/** Kinds that are served from the start, except CustomResourceDefinitions. */
export const builtInKinds: readonly Kind[] = [
  ...coreKinds,
  ...apps,
  jobKind,
  budgetKind,
  leaseKind,
  priorityClassKind,
  attachmentKind,
  ...admissionKinds,
  ...roleKinds,
];

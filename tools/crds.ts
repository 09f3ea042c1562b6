import {
  machineEventSourceSpec,
  machineEventSourceStatus,
  machineMaintenanceSpec,
  machineMaintenanceStatus,
  maintenanceSpec,
  maintenanceStatus,
  maintenanceWindowSpec,
  maintenanceWindowStatus,
  nodeMaintenanceSpec,
  nodeMaintenanceSpecOfAlpha1,
  nodeMaintenanceSpecOfAlpha3,
  nodeMaintenanceStatus,
  nodeMaintenanceStatusOfAlpha,
  nodeMaintenanceStatusOfKubevirt,
  nodeNoticeSpec,
} from '@drydock/apis/schema';
import { z } from 'zod';
import { age, type Kind, type Version } from './crd-kind.ts';
import { labelsOfKinds } from './labels.ts';
import { planKinds } from './plan-kinds.ts';

/** The CustomResourceDefinitions, made from the schemas that the readers take their types from. */

type JsonSchema = { readonly [key: string]: unknown };

const node = { name: 'Node', type: 'string', jsonPath: '.spec.nodeName' };
const phase = { name: 'Phase', type: 'string', jsonPath: '.status.phase' };

/** The same words in every generation. */
const nodeMaintenance = {
  kind: 'NodeMaintenance',
  plural: 'nodemaintenances',
  singular: 'nodemaintenance',
  description: 'NodeMaintenance is the Schema for the nodemaintenances API',
};

const kinds: readonly Kind[] = [
  {
    group: 'drydock.dev',
    kind: 'Maintenance',
    plural: 'maintenances',
    singular: 'maintenance',
    shortNames: ['mt'],
    description:
      'Maintenance takes one node out of service: Drydock holds and drains the node for as long as the object exists, and restores the node when the object is deleted.',
    versions: [
      {
        name: 'v1alpha1',
        storage: true,
        spec: maintenanceSpec,
        status: maintenanceStatus,
        required: ['spec'],
        columns: [
          { name: 'Node', type: 'string', jsonPath: '.spec.nodeName' },
          { name: 'Level', type: 'string', jsonPath: '.spec.level' },
          { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
          {
            name: 'Progress',
            type: 'integer',
            jsonPath: '.status.progress',
            description: 'Percent of the pods that have left.',
          },
          {
            name: 'Waiting',
            type: 'integer',
            jsonPath: '.status.pods.waiting',
            description: 'Pods still to evict.',
          },
          { name: 'Message', type: 'string', jsonPath: '.status.message', priority: 1 },
          { name: 'Reason', type: 'string', jsonPath: '.spec.reason', priority: 1 },
          age,
        ],
        selectable: ['.spec.nodeName', '.spec.requester', '.spec.level', '.status.phase'],
      },
    ],
  },
  {
    group: 'drydock.dev',
    kind: 'MaintenanceWindow',
    plural: 'maintenancewindows',
    singular: 'maintenancewindow',
    shortNames: ['mw'],
    description: 'MaintenanceWindow sets when maintenances of nodes may begin, and when not.',
    versions: [
      {
        name: 'v1alpha1',
        storage: true,
        spec: maintenanceWindowSpec,
        status: maintenanceWindowStatus,
        required: ['spec'],
        columns: [
          { name: 'Zone', type: 'string', jsonPath: '.spec.timeZone' },
          { name: 'Open', type: 'boolean', jsonPath: '.status.open' },
          {
            name: 'From',
            type: 'string',
            jsonPath: '.status.next.startTime',
            description: 'Start of the current opening, else of the next one.',
          },
          { name: 'To', type: 'string', jsonPath: '.status.next.endTime' },
          {
            name: 'Valid',
            type: 'string',
            jsonPath: ".status.conditions[?(@.type=='Valid')].status",
            priority: 1,
          },
          age,
        ],
        selectable: [],
      },
    ],
  },
  {
    group: 'drydock.dev',
    kind: 'MachineEventSource',
    plural: 'machineeventsources',
    singular: 'machineeventsource',
    shortNames: ['mes'],
    description:
      'MachineEventSource configures where announcements about machines come from, and how Drydock responds.',
    versions: [
      {
        name: 'v1alpha1',
        storage: true,
        spec: machineEventSourceSpec,
        status: machineEventSourceStatus,
        required: ['spec'],
        columns: [
          {
            name: 'Ready',
            type: 'string',
            jsonPath: ".status.conditions[?(@.type=='Ready')].status",
          },
          {
            name: 'Reason',
            type: 'string',
            jsonPath: ".status.conditions[?(@.type=='Ready')].reason",
          },
          { name: 'Machines', type: 'integer', jsonPath: '.status.machines' },
          { name: 'Events', type: 'integer', jsonPath: '.status.events' },
          { name: 'Scanned', type: 'date', jsonPath: '.status.lastScanTime' },
          age,
        ],
        selectable: [],
      },
    ],
  },
  {
    group: 'drydock.dev',
    kind: 'NodeNotice',
    plural: 'nodenotices',
    singular: 'nodenotice',
    shortNames: ['nn'],
    description:
      'NodeNotice holds the announcements that the agent of a node received from its cloud. The object has the name of the node.',
    versions: [
      {
        name: 'v1alpha1',
        storage: true,
        spec: nodeNoticeSpec,
        required: ['spec'],
        columns: [
          { name: 'Provider', type: 'string', jsonPath: '.spec.provider' },
          { name: 'Instance', type: 'string', jsonPath: '.spec.instance' },
          { name: 'Event', type: 'string', jsonPath: '.spec.events[0].kind' },
          { name: 'Deadline', type: 'string', jsonPath: '.spec.events[0].deadline' },
          age,
        ],
        selectable: [],
      },
    ],
  },
  {
    group: 'machinemaintenance.managed.openshift.io',
    kind: 'MachineMaintenance',
    plural: 'machinemaintenances',
    singular: 'machinemaintenance',
    scope: 'Namespaced',
    shortNames: ['mm'],
    description: 'MachineMaintenance is the Schema for the machinemaintenances API',
    versions: [
      {
        name: 'v1alpha1',
        storage: true,
        spec: machineMaintenanceSpec,
        status: machineMaintenanceStatus,
        required: [],
        columns: [
          { name: 'Machine', type: 'string', jsonPath: '.spec.machinelink' },
          { name: 'Event', type: 'string', jsonPath: '.spec.events[0].kind' },
          { name: 'Strategy', type: 'string', jsonPath: '.status.strategy' },
          { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
          { name: 'Waiting for', type: 'string', jsonPath: '.status.waitingFor' },
          { name: 'Deadline', type: 'string', jsonPath: '.status.deadline' },
          { name: 'Message', type: 'string', jsonPath: '.status.message', priority: 1 },
          age,
        ],
        selectable: ['.spec.machinelink', '.spec.machineid'],
      },
    ],
  },
  {
    ...nodeMaintenance,
    group: 'nodemaintenance.medik8s.io',
    shortNames: ['nm'],
    versions: [
      {
        name: 'v1beta1',
        storage: true,
        spec: nodeMaintenanceSpec,
        status: nodeMaintenanceStatus,
        required: [],
        columns: [
          node,
          phase,
          { name: 'Progress', type: 'integer', jsonPath: '.status.drainProgress' },
          age,
        ],
        selectable: ['.spec.nodeName'],
      },
    ],
  },
  {
    ...nodeMaintenance,
    group: 'nodemaintenance.kubevirt.io',
    shortNames: [],
    versions: [
      {
        name: 'v1beta1',
        storage: true,
        spec: nodeMaintenanceSpec,
        status: nodeMaintenanceStatusOfKubevirt,
        required: [],
        columns: [node, phase, age],
        selectable: ['.spec.nodeName'],
      },
    ],
  },
  {
    ...nodeMaintenance,
    group: 'kubevirt.io',
    shortNames: [],
    versions: [
      {
        name: 'v1alpha1',
        storage: true,
        spec: nodeMaintenanceSpecOfAlpha1,
        status: nodeMaintenanceStatusOfAlpha,
        required: [],
        columns: [node, phase, age],
        selectable: ['.spec.nodeName'],
      },
      {
        name: 'v1alpha3',
        storage: false,
        spec: nodeMaintenanceSpecOfAlpha3,
        status: nodeMaintenanceStatusOfAlpha,
        required: [],
        columns: [phase, age],
        selectable: [],
      },
    ],
  },
];

const all: readonly Kind[] = [...kinds, ...planKinds];

/** Keywords of JSON Schema that a CRD does not take, or that mean nothing there. */
const dropped = new Set(['$schema', 'additionalProperties', 'propertyNames']);

function isRecord(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function without(schema: JsonSchema, key: string): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => name !== key));
}

/**
 * A structural schema: integers with a format, maps with typed values, nothing that the API server
 * refuses.
 */
function structural(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(structural);
  if (!isRecord(schema)) return schema;
  if (schema['x-kubernetes-int-or-string'] === true) return without(schema, 'anyOf');
  const entries = Object.entries(schema).filter(([key]) => !dropped.has(key));
  const result: Record<string, unknown> = Object.fromEntries(
    entries.map(([key, value]) => [key, structural(value)]),
  );
  // The API server drops it, and what stands in the cluster would differ from what is installed.
  if (isRecord(schema['properties']) && Object.keys(schema['properties']).length === 0)
    delete result['properties'];
  if (isRecord(schema['additionalProperties']))
    result['additionalProperties'] = structural(schema['additionalProperties']);
  if (result['type'] === 'integer') return integer(result);
  return result;
}

function integer(schema: Record<string, unknown>): JsonSchema {
  const { minimum, maximum, ...rest } = schema;
  const int32 = minimum === -(2 ** 31) || maximum === 2 ** 31 - 1;
  const own = (bound: unknown, edges: readonly number[]): boolean =>
    typeof bound === 'number' && !edges.includes(bound);
  return {
    ...rest,
    format: int32 ? 'int32' : 'int64',
    ...(own(minimum, [-(2 ** 31), Number.MIN_SAFE_INTEGER]) && { minimum }),
    ...(own(maximum, [2 ** 31 - 1, Number.MAX_SAFE_INTEGER]) && { maximum }),
  };
}

function schemaOf(type: z.ZodType): unknown {
  return structural(z.toJSONSchema(type, { target: 'openapi-3.0', io: 'input' }));
}

function versionOf(version: Version, description: string): object {
  return {
    name: version.name,
    served: true,
    storage: version.storage,
    ...(version.status && { subresources: { status: {} } }),
    additionalPrinterColumns: version.columns,
    ...(version.selectable.length > 0 && {
      selectableFields: version.selectable.map(jsonPath => ({ jsonPath })),
    }),
    schema: {
      openAPIV3Schema: {
        description,
        type: 'object',
        ...(version.required.length > 0 && { required: version.required }),
        properties: {
          apiVersion: { type: 'string' },
          kind: { type: 'string' },
          metadata: { type: 'object' },
          spec: schemaOf(version.spec),
          ...(version.status && { status: schemaOf(version.status) }),
        },
      },
    },
  };
}

function crdOf(kind: Kind): object {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${kind.plural}.${kind.group}`,
      ...(kind.group === 'drydock.dev' && { labels: labelsOfKinds }),
    },
    spec: {
      group: kind.group,
      scope: kind.scope ?? 'Cluster',
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural: kind.plural,
        singular: kind.singular,
        ...(kind.shortNames.length > 0 && { shortNames: kind.shortNames }),
        ...(kind.group === 'drydock.dev' && { categories: ['drydock'] }),
      },
      versions: kind.versions.map(version => versionOf(version, kind.description)),
    },
  };
}

/** File name and content of each CRD. */
export function crds(): ReadonlyMap<string, object> {
  return new Map(all.map(kind => [`${kind.plural}.${kind.group}.yaml`, crdOf(kind)]));
}

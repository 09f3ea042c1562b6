import { z } from 'zod';
import { maintenanceSpec, maintenanceStatus } from '../src/generations/schema/maintenance.ts';
import { nodeMaintenanceSpec, nodeMaintenanceStatus } from '../src/generations/schema/node-maintenance.ts';

/** The CustomResourceDefinitions, made from the schemas that the readers take their types from. */

type JsonSchema = { readonly [key: string]: unknown };

type Kind = {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly description: string;
  readonly spec: z.ZodType;
  readonly status: z.ZodType;
  readonly required: readonly string[];
  readonly columns: readonly {
    readonly name: string;
    readonly type: string;
    readonly jsonPath: string;
    readonly description?: string;
    readonly priority?: number;
  }[];
  readonly selectable: readonly string[];
};

const age = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };

const kinds: readonly Kind[] = [
  {
    group: 'drydock.dev',
    version: 'v1alpha1',
    kind: 'Maintenance',
    plural: 'maintenances',
    singular: 'maintenance',
    shortNames: ['mt'],
    description:
      'Maintenance takes one node out of service: it is held and drained for as long as the object exists, and given back as it was when the object is deleted.',
    spec: maintenanceSpec,
    status: maintenanceStatus,
    required: ['spec'],
    columns: [
      { name: 'Node', type: 'string', jsonPath: '.spec.nodeName' },
      { name: 'Stage', type: 'string', jsonPath: '.spec.stage' },
      { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
      { name: 'Progress', type: 'integer', jsonPath: '.status.progress', description: 'Percent of the pods that have left.' },
      { name: 'Waiting', type: 'integer', jsonPath: '.status.pods.waiting', description: 'Pods that still have to leave.' },
      { name: 'Message', type: 'string', jsonPath: '.status.message', priority: 1 },
      { name: 'Reason', type: 'string', jsonPath: '.spec.reason', priority: 1 },
      age,
    ],
    selectable: ['.spec.nodeName', '.spec.requester', '.spec.stage', '.status.phase'],
  },
  {
    group: 'nodemaintenance.medik8s.io',
    version: 'v1beta1',
    kind: 'NodeMaintenance',
    plural: 'nodemaintenances',
    singular: 'nodemaintenance',
    shortNames: ['nm'],
    description: 'NodeMaintenance is the Schema for the nodemaintenances API',
    spec: nodeMaintenanceSpec,
    status: nodeMaintenanceStatus,
    required: [],
    columns: [
      { name: 'Node', type: 'string', jsonPath: '.spec.nodeName' },
      { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
      { name: 'Progress', type: 'integer', jsonPath: '.status.drainProgress' },
      age,
    ],
    selectable: ['.spec.nodeName'],
  },
];

/** Keywords of JSON Schema that a CRD does not take, or that mean nothing there. */
const dropped = new Set(['$schema', 'additionalProperties', 'propertyNames']);

const isRecord = (value: unknown): value is JsonSchema => typeof value === 'object' && value !== null && !Array.isArray(value);

/** A structural schema: integers with a format, maps with typed values, nothing that the API server refuses. */
const structural = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(structural);
  if (!isRecord(schema)) return schema;
  const entries = Object.entries(schema).filter(([key]) => !dropped.has(key));
  const result: Record<string, unknown> = Object.fromEntries(entries.map(([key, value]) => [key, structural(value)]));
  if (isRecord(schema['additionalProperties'])) result['additionalProperties'] = structural(schema['additionalProperties']);
  if (result['type'] === 'integer') return integer(result);
  return result;
};

const integer = (schema: Record<string, unknown>): JsonSchema => {
  const { minimum, maximum, ...rest } = schema;
  const int32 = minimum === -(2 ** 31) || maximum === 2 ** 31 - 1;
  const own = (bound: unknown, edges: readonly number[]): boolean => typeof bound === 'number' && !edges.includes(bound);
  return {
    ...rest,
    format: int32 ? 'int32' : 'int64',
    ...(own(minimum, [-(2 ** 31), Number.MIN_SAFE_INTEGER]) && { minimum }),
    ...(own(maximum, [2 ** 31 - 1, Number.MAX_SAFE_INTEGER]) && { maximum }),
  };
};

const schemaOf = (type: z.ZodType): unknown => structural(z.toJSONSchema(type, { target: 'openapi-3.0', io: 'input' }));

const crdOf = (kind: Kind): object => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${kind.plural}.${kind.group}` },
  spec: {
    group: kind.group,
    scope: 'Cluster',
    names: {
      kind: kind.kind,
      listKind: `${kind.kind}List`,
      plural: kind.plural,
      singular: kind.singular,
      shortNames: kind.shortNames,
      ...(kind.group === 'drydock.dev' && { categories: ['drydock'] }),
    },
    versions: [
      {
        name: kind.version,
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: kind.columns,
        selectableFields: kind.selectable.map(jsonPath => ({ jsonPath })),
        schema: {
          openAPIV3Schema: {
            description: kind.description,
            type: 'object',
            ...(kind.required.length > 0 && { required: kind.required }),
            properties: {
              apiVersion: { type: 'string' },
              kind: { type: 'string' },
              metadata: { type: 'object' },
              spec: schemaOf(kind.spec),
              status: schemaOf(kind.status),
            },
          },
        },
      },
    ],
  },
});

/** File name and content of each CRD. */
export const crds = (): ReadonlyMap<string, object> => new Map(kinds.map(kind => [`${kind.plural}.${kind.group}.yaml`, crdOf(kind)]));

import { type JsonObject, sameJson } from '@drydock/apimachinery';
import { type Cause, notAllowed, required, wrong } from '../failure.ts';
import type { Kind } from '../kinds/kind.ts';
import {
  labelNameProblem,
  labelValueProblem,
  qualifiedNameProblems,
  subdomainProblem,
} from '../kinds/names.ts';
import { type Draft, items, metaOf, objects, type Stored, strings, text } from '../object.ts';

/** Validation of every object's metadata: k8s.io/apimachinery/pkg/api/validation/objectmeta.go. */

const annotationsLimit = 256 * 1024;

function labelCauses(labels: Readonly<Record<string, string>>): readonly Cause[] {
  return Object.entries(labels).flatMap(([key, value]) => [
    ...qualifiedNameProblems(key).map(problem => wrong('metadata.labels', key, problem)),
    ...[labelValueProblem(value)].flatMap(problem =>
      problem === undefined ? [] : [wrong('metadata.labels', value, problem)],
    ),
  ]);
}

function annotationCauses(annotations: Readonly<Record<string, string>>): readonly Cause[] {
  const size = Object.entries(annotations).reduce(
    (sum, [key, value]) => sum + key.length + value.length,
    0,
  );
  return [
    ...Object.keys(annotations).flatMap(key =>
      qualifiedNameProblems(key.toLowerCase()).map(problem =>
        wrong('metadata.annotations', key, problem),
      ),
    ),
    ...(size > annotationsLimit
      ? [
          {
            reason: 'FieldValueTooLong',
            message: `Too long: may not be more than ${annotationsLimit} bytes`,
            field: 'metadata.annotations',
          },
        ]
      : []),
  ];
}

function apiVersionCauses(field: string, version: string): readonly Cause[] {
  if (version === '') return [required(field, 'must not be empty')];
  return /^([^/]+\/)?[^/]+$/.test(version)
    ? []
    : [wrong(field, version, 'must be <group>/<version> or <version>')];
}

function ownerCauses(metadata: JsonObject): readonly Cause[] {
  const owners = objects(metadata['ownerReferences']);
  const path = 'metadata.ownerReferences';
  const causes = owners.flatMap((owner, index) => [
    ...apiVersionCauses(`${path}[${index}].apiVersion`, text(owner, 'apiVersion')),
    ...['kind', 'name', 'uid']
      .filter(field => text(owner, field) === '')
      .map(field => required(`${path}[${index}].${field}`, 'must not be empty')),
  ]);
  const controllers = owners
    .filter(({ controller }) => controller === true)
    .map(owner => `${text(owner, 'kind')}/${text(owner, 'name')}`);
  if (controllers.length < 2) return causes;
  const both = `Only one reference can have Controller set to true. Found "true" in references for ${controllers.slice(0, 2).join(' and ')}`;
  return [...causes, wrong(path, owners, both)];
}

const standard = new Set(['kubernetes', 'orphan', 'foregroundDeletion']);

function finalizerCauses(kind: Kind, metadata: JsonObject): readonly Cause[] {
  const finalizers = items(metadata['finalizers']).map(String);
  const causes = finalizers.flatMap(one =>
    qualifiedNameProblems(one).map(problem => wrong('metadata.finalizers', one, problem)),
  );
  // pkg/apis/core/validation is stricter than apimachinery: a finalizer without a domain must be
  // one of Kubernetes' own.
  const odd =
    kind.shape.kind === 'schema'
      ? []
      : finalizers
          .map((one, index) => [one, index] as const)
          .filter(([one]) => !one.includes('/') && !standard.has(one));
  const unqualified = odd.map(([one, index]) =>
    wrong(
      `metadata.finalizers[${index}]`,
      one,
      'name is neither a standard finalizer name nor is it fully qualified',
    ),
  );
  return finalizers.includes('orphan') && finalizers.includes('foregroundDeletion')
    ? [
        ...causes,
        wrong(
          'metadata.finalizers',
          finalizers,
          'finalizer orphan and foregroundDeletion cannot be both set',
        ),
      ]
    : [...causes, ...unqualified];
}

function nameCauses(kind: Kind, metadata: JsonObject): readonly Cause[] {
  const name = text(metadata, 'name');
  if (name === '') return [required('metadata.name', 'name or generateName is required')];
  const problem = (kind.strategy.nameProblem ?? subdomainProblem)(name);
  return problem === undefined ? [] : [wrong('metadata.name', name, problem)];
}

function namespaceCauses(kind: Kind, metadata: JsonObject): readonly Cause[] {
  const namespace = text(metadata, 'namespace');
  if (!kind.namespaced)
    return namespace === '' ? [] : [notAllowed('metadata.namespace', 'not allowed on this type')];
  if (namespace === '') return [required('metadata.namespace')];
  const problem = labelNameProblem(namespace);
  return problem === undefined ? [] : [wrong('metadata.namespace', namespace, problem)];
}

/**
 * Returns the errors for a new or changed object: fields unchanged from `before` have already been
 * checked.
 */
export function metadataCauses(
  kind: Kind,
  draft: Draft,
  before: JsonObject = {},
): readonly Cause[] {
  const metadata = metaOf(draft);
  const look = (field: string, causes: () => readonly Cause[]): readonly Cause[] =>
    metadata[field] !== undefined && metadata[field] === before[field] ? [] : causes();
  return [
    ...look('name', () => nameCauses(kind, metadata)),
    ...look('namespace', () => namespaceCauses(kind, metadata)),
    ...look('labels', () => labelCauses(strings(metadata['labels']))),
    ...look('annotations', () => annotationCauses(strings(metadata['annotations']))),
    ...look('ownerReferences', () => ownerCauses(metadata)),
    ...look('finalizers', () => finalizerCauses(kind, metadata)),
  ];
}

const immutable = [
  'name',
  'namespace',
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
] as const;

/** Returns the errors for a change. */
export function metadataUpdateCauses(draft: Draft, before: Stored): readonly Cause[] {
  const metadata = metaOf(draft);
  const added = items(metadata['finalizers'])
    .map(String)
    .filter(one => !(before.metadata.finalizers ?? []).includes(one));
  return [
    ...(before.metadata.deletionTimestamp !== undefined && added.length > 0
      ? [
          notAllowed(
            'metadata.finalizers',
            `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added
              .sort()
              .map(one => JSON.stringify(one))
              .join(', ')}}`,
          ),
        ]
      : []),
    ...immutable
      .filter(field => !sameJson(metadata[field], before.metadata[field]))
      .map(field => wrong(`metadata.${field}`, metadata[field], 'field is immutable')),
  ];
}

import { type JsonObject, matches, readSelector, sameJson } from '@drydock/apimachinery';
import type { Clock } from '@drydock/utils';
import { badRequest, type Cause, invalid, notAllowed, required, wrong } from '../failure.ts';
import { apiVersionOf, type Kind, labelPlace } from '../kinds/kind.ts';
import type { KindTable } from '../kinds/kind-table.ts';
import {
  labelNameProblem,
  labelValueProblem,
  qualifiedNameProblems,
  subdomainProblem,
} from '../kinds/pod-validation.ts';
import {
  at,
  byName,
  type Draft,
  items,
  metaOf,
  objects,
  type Stored,
  strings,
  text,
} from '../object.ts';
import type { Store } from '../store/store.ts';
import { type Refused, refused, type WriteOptions } from './managed.ts';

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

type ReadStrictly =
  | { readonly kind: 'read'; readonly draft: Draft; readonly warnings: readonly string[] }
  | Refused;

/**
 * Decodes an object of a client. Unknown fields are dropped, with a warning or an error as the
 * client requests.
 */
export function readStrictly(
  kind: Kind,
  given: Draft,
  { fieldValidation = 'Warn' }: WriteOptions,
  ofPatch = false,
): ReadStrictly {
  const read = kind.read(given);
  if (read.kind === 'unreadable') {
    return refused(
      badRequest(
        `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: ${read.message}`,
      ),
    );
  }
  const known = kind.shape.kind === 'schema' ? read.unknown.toSorted() : read.unknown;
  const problems = known.map(field => `unknown field "${field}"`);
  if (problems.length > 0 && fieldValidation === 'Strict') {
    if (ofPatch)
      return refused(
        invalid({ group: '', resource: '' }, '', [
          wrong('patch', 'the patch', `strict decoding error: ${problems.join(', ')}`),
        ]),
      );
    const what =
      kind.shape.kind === 'go'
        ? `${kind.kind} in version "${kind.version}"`
        : `${kind.kind} in version "${apiVersionOf(kind)}"`;
    return refused(
      badRequest(
        `${what} cannot be handled as a ${kind.kind}: strict decoding error: ${problems.join(', ')}`,
      ),
    );
  }
  return {
    kind: 'read',
    draft: read.object,
    warnings: fieldValidation === 'Ignore' ? [] : problems,
  };
}

/**
 * A pending write: everything has been checked except the validating webhooks. Upstream:
 * admission.Attributes.
 */
export type AdmissionAttributes = {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE';
  readonly of: Kind;
  /** Subresource: `status`, `eviction`, `scale`; empty for the object itself. */
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /**
   * Object as it would be stored; undefined for deletions. For a subresource with its own kind, an
   * object of that kind, with kind and version.
   */
  readonly object: Draft | undefined;
  readonly before: Stored | undefined;
  readonly dryRun: boolean;
};

/** Check before the store: refuses a write, or admits it. */
export type AdmissionPlugin = (attempt: AdmissionAttributes) => Refused | undefined;

/** Dependencies of writes: objects, kinds, clock and random source. */
export type RegistryContext = {
  readonly store: Store;
  readonly kinds: KindTable;
  readonly clock: Pick<Clock, 'now'>;
  /** Random source, uniform in [0, 1). */
  readonly random: () => number;
  /** Admission plugin that is called before each write, if set. */
  readonly gate?: AdmissionPlugin;
};

function hex(random: () => number, digits: number): string {
  return Array.from({ length: digits }, () => Math.floor(random() * 16).toString(16)).join('');
}

/** Returns a version 4 UUID. */
export function newUid(random: () => number): string {
  const variant = '89ab'[Math.floor(random() * 4)] ?? '8';
  return `${hex(random, 8)}-${hex(random, 4)}-4${hex(random, 3)}-${variant}${hex(random, 3)}-${hex(random, 12)}`;
}

const letters = 'bcdfghjklmnpqrstvwxz2456789';

/**
 * Returns a name with a suffix for generateName (apiserver/pkg/storage/names): five letters that
 * form no words, the whole at most 63 long.
 */
export function generatedName(base: string, random: () => number): string {
  const tail = Array.from(
    { length: 5 },
    () => letters[Math.floor(random() * letters.length)] ?? 'x',
  ).join('');
  return base.slice(0, 58) + tail;
}

/**
 * Returns the PodDisruptionBudgets whose selectors match a pod, in the order of their names; checks
 * only those with a label of the pod.
 */
export function budgetsOver(
  store: Store,
  { metadata: { namespace, labels = {} } }: Stored,
): readonly Stored[] {
  const places = [
    labelPlace(namespace),
    ...Object.entries(labels).map(label => labelPlace(namespace, label)),
  ];
  const found = places.flatMap(place =>
    store.indexed('poddisruptionbudgets.policy', 'wanted', place),
  );
  return found
    .filter(budget => matches(readSelector(at(budget, 'spec', 'selector')), labels))
    .sort(byName);
}

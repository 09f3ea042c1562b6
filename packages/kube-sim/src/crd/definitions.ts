import { type JsonObject, sameJson, timeText } from '@drydock/apimachinery';
import { type Cause, required, wrong } from '../failure.ts';
import type { Strategy } from '../kinds/kind.ts';
import { at, type Draft, items, objects, part, type Stored, text } from '../object.ts';
import { remove } from '../registry/delete.ts';
import type { RegistryContext } from '../registry/metadata.ts';
import { change } from '../registry/update.ts';
import type { StoreChange } from '../store/store.ts';
import { kindsOf, schemaOf } from './custom-kind.ts';
import { compile, type RuleProblem } from './rules.ts';
import { readPath } from './validate.ts';

/**
 * CustomResourceDefinitions: defaults and validation. Upstream:
 * apiextensions-apiserver/pkg/apis/apiextensions.
 */

function defaults(draft: Draft): Draft {
  const spec = part(draft, 'spec');
  const names = part(spec, 'names');
  const kind = text(names, 'kind');
  return {
    ...draft,
    spec: {
      ...spec,
      names: { singular: kind.toLowerCase(), listKind: `${kind}List`, ...names },
      conversion: { strategy: 'None', ...part(spec, 'conversion') },
    },
  };
}

/** Returns a rule as Go formats it in a message. */
function shownRule(rule: JsonObject): JsonObject {
  return {
    Rule: rule['rule'] ?? '',
    Message: rule['message'] ?? '',
    MessageExpression: rule['messageExpression'] ?? '',
    Reason: rule['reason'] ?? null,
    FieldPath: rule['fieldPath'] ?? '',
    OptionalOldSelf: rule['optionalOldSelf'] ?? null,
  };
}

function ruleCause({ path, rule, message, member }: RuleProblem): Cause {
  return wrong(`${path}.${member}`, shownRule(rule), message);
}

/**
 * Returns the errors of one version's schema. A schema that all versions share has another path.
 */
function versionCauses(version: JsonObject, index: number, count: number): readonly Cause[] {
  const place = `spec.versions[${index}].schema.openAPIV3Schema`;
  const schema = at(version, 'schema', 'openAPIV3Schema');
  if (schema === undefined) return [required(place)];
  const problems: RuleProblem[] = [];
  compile(schemaOf(version), count === 1 ? 'spec.validation.openAPIV3Schema' : place, problems);
  const columns = objects(version['additionalPrinterColumns']).flatMap((column, at) => {
    const path = text(column, 'jsonPath');
    const field = `spec.versions[${index}].additionalPrinterColumns[${at}].jsonPath`;
    return readPath(path) === undefined
      ? [wrong(field, path, 'this JSONPath cannot be followed by the embedded API server')]
      : [];
  });
  return [...problems.map(ruleCause), ...columns];
}

function causes(draft: Draft): readonly Cause[] {
  const spec = part(draft, 'spec');
  const versions = objects(spec['versions']);
  const wanted = `${text(spec, 'names', 'plural')}.${text(spec, 'group')}`;
  const name = text(draft, 'metadata', 'name');
  const stored = versions.filter(version => version['storage'] === true).length;
  const strategy = text(spec, 'conversion', 'strategy');
  return [
    ...(name === wanted
      ? []
      : [wrong('metadata.name', name, 'must be spec.names.plural+"."+spec.group')]),
    ...(stored === 1
      ? []
      : [
          wrong(
            'spec.versions',
            spec['versions'],
            'must have exactly one version marked as storage version',
          ),
        ]),
    ...(items(at(draft, 'status', 'storedVersions')).some(one => one === '')
      ? [
          wrong(
            'status.storedVersions',
            at(draft, 'status', 'storedVersions'),
            'must have the storage version',
          ),
        ]
      : []),
    ...(strategy === 'None'
      ? []
      : [
          wrong(
            'spec.conversion.strategy',
            strategy,
            'the embedded API server converts nothing: only None',
          ),
        ]),
    ...versions.flatMap((version, index) => versionCauses(version, index, versions.length)),
  ];
}

function storedVersion(draft: Draft): string {
  return text(
    objects(at(draft, 'spec', 'versions')).find(one => one['storage'] === true),
    'name',
  );
}

export const definitions: Strategy = {
  needsVersion: true,
  generation: 'counted',
  defaults,
  creating: draft => ({
    ...draft,
    status: {
      conditions: null,
      acceptedNames: { plural: '', kind: '' },
      storedVersions: [storedVersion(draft)],
    },
  }),
  updating: draft => {
    const known = items(at(draft, 'status', 'storedVersions'));
    const stored = storedVersion(draft);
    return known.includes(stored)
      ? draft
      : { ...draft, status: { ...part(draft, 'status'), storedVersions: [...known, stored] } };
  },
  updatingStatus: (draft, before) => ({ ...draft, spec: before['spec'] }),
  validate: causes,
};

const resource = 'customresourcedefinitions.apiextensions.k8s.io';
const cleanup = 'customresourcecleanup.apiextensions.k8s.io';

function condition(type: string, reason: string, message: string, now: string): object {
  return {
    type,
    status: 'True',
    lastTransitionTime: now,
    reason,
    message,
  };
}

function isEstablished(definition: Stored): boolean {
  return objects(at(definition, 'status', 'conditions')).some(({ type }) => type === 'Established');
}

/**
 * Serves the kinds of a definition, and records that in its status. Upstream: the naming and
 * establishing controllers of apiextensions-apiserver.
 */
function establish(registry: RegistryContext, definition: Stored): void {
  for (const kind of kindsOf(definition)) registry.kinds.add(kind);
  if (isEstablished(definition)) return;
  const now = timeText(registry.clock.now());
  const conditions = [
    condition('NamesAccepted', 'NoConflicts', 'no conflicts found', now),
    condition('Established', 'InitialNamesAccepted', 'the initial names have been accepted', now),
  ];
  const names = part(definition, 'spec', 'names');
  write(registry, definition, status => ({ ...status, conditions, acceptedNames: names }));
}

function write(
  registry: RegistryContext,
  { metadata }: Stored,
  edit: (status: object) => object,
): void {
  const kind = registry.kinds.of(resource);
  const outcome = change(
    registry,
    kind,
    '',
    metadata.name,
    current => ({
      kind: 'edited',
      draft: { ...current, status: { ...edit(part(current, 'status')) } },
    }),
    { subresource: 'status' },
  );
  if (outcome.kind === 'refused' && outcome.failure.code !== 404) {
    throw new Error(`the status of ${metadata.name} cannot be written: ${outcome.failure.message}`);
  }
}

/**
 * Deletes the objects of a deleted definition. Upstream: the finalizer controller of
 * apiextensions-apiserver.
 */
function clean(registry: RegistryContext, definition: Stored): void {
  for (const kind of kindsOf(definition).slice(0, 1)) {
    for (const { metadata } of registry.store.list(kind.resource))
      remove(registry, kind, metadata.namespace ?? '', metadata.name);
    // Objects with finalizers keep the definition; the next change of it checks again.
    if (registry.store.count(kind.resource) > 0) return;
  }
  change(registry, registry.kinds.of(resource), '', definition.metadata.name, current => ({
    kind: 'edited',
    draft: {
      ...current,
      metadata: {
        ...current.metadata,
        finalizers: (current.metadata.finalizers ?? []).filter(one => one !== cleanup),
      },
    },
  }));
}

/** Follows the definitions of a cluster during its whole life. */
export function followDefinitions(registry: RegistryContext): void {
  registry.store.subscribe((told: StoreChange) => {
    const { object } = told;
    if (told.type === 'removed') {
      for (const kind of kindsOf(object).slice(0, 1)) registry.kinds.drop(kind.resource);
    } else if (object.metadata.deletionTimestamp !== undefined) clean(registry, object);
    else if (told.type === 'added' || !sameJson(told.before['spec'], object['spec'])) {
      if (told.type === 'changed')
        for (const kind of kindsOf(told.before).slice(0, 1)) registry.kinds.drop(kind.resource);
      establish(registry, object);
    }
  }, resource);
  // A removed object may have been the last with a finalizer.
  registry.store.subscribe(({ type, resource: of }) => {
    if (type !== 'removed' || registry.store.count(of) > 0) return;
    for (const definition of registry.store.list(resource)) {
      const isIts = definition.metadata.name === of;
      if (isIts && definition.metadata.deletionTimestamp !== undefined) clean(registry, definition);
    }
  });
}

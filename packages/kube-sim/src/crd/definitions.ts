import type { JsonObject } from '@drydock/apimachinery';
import { type Cause, required, wrong } from '../failure.ts';
import type { Strategy } from '../kinds/kind.ts';
import { at, type Draft, items, objects, part, text } from '../object.ts';
import { schemaOf } from './custom-kind.ts';
import { readPath } from './json-path.ts';
import { compile, type RuleProblem } from './rules.ts';

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

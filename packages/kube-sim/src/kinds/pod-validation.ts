import { type JsonObject, sameJson } from '@drydock/apimachinery';
import { type Cause, duplicate, notAllowed, notOneOf, required, wrong } from '../failure.ts';
import { at, type Draft, objects, part, type Stored, text, without } from '../object.ts';
import { labelNameProblem } from './names.ts';

/**
 * Validation of pods: the part of pkg/apis/core/validation for the fields that matter to draining,
 * scheduling and users.
 */

function containerCauses(container: JsonObject, path: string, seen: Set<string>): readonly Cause[] {
  const causes: Cause[] = [];
  const [name, image] = [text(container, 'name'), text(container, 'image')];
  const problem = name === '' ? undefined : labelNameProblem(name);
  if (name === '') causes.push(required(`${path}.name`));
  else if (problem !== undefined) causes.push(wrong(`${path}.name`, name, problem));
  else if (seen.has(name)) causes.push(duplicate(`${path}.name`, name));
  seen.add(name);
  if (image === '') causes.push(required(`${path}.image`));
  return causes;
}

function containersCauses(spec: JsonObject, path: string): readonly Cause[] {
  const containers = objects(spec['containers']);
  const seen = new Set<string>();
  if (containers.length === 0) return [required(`${path}.containers`)];
  return [
    ...containers.flatMap((container, index) =>
      containerCauses(container, `${path}.containers[${index}]`, seen),
    ),
    ...objects(spec['initContainers']).flatMap((container, index) =>
      containerCauses(container, `${path}.initContainers[${index}]`, seen),
    ),
  ];
}

function volumeCauses(spec: JsonObject, path: string): readonly Cause[] {
  const names = new Set<string>();
  return objects(spec['volumes']).flatMap((volume, index) => {
    const name = text(volume, 'name');
    const field = `${path}.volumes[${index}].name`;
    const problem = labelNameProblem(name);
    const cause =
      name === ''
        ? required(field)
        : problem !== undefined
          ? wrong(field, name, problem)
          : names.has(name)
            ? duplicate(field, name)
            : undefined;
    names.add(name);
    return cause === undefined ? [] : [cause];
  });
}

function mountCauses(spec: JsonObject, path: string): readonly Cause[] {
  const names = new Set(objects(spec['volumes']).map(volume => text(volume, 'name')));
  return objects(spec['containers']).flatMap((container, index) =>
    objects(container['volumeMounts']).flatMap((mount, at) => {
      const name = text(mount, 'name');
      const field = `${path}.containers[${index}].volumeMounts[${at}].name`;
      return names.has(name)
        ? []
        : [{ reason: 'FieldValueNotFound', message: `Not found: ${JSON.stringify(name)}`, field }];
    }),
  );
}

const restartPolicies = ['Always', 'OnFailure', 'Never'];

/** Returns the errors of a pod's spec at a path; `restart`: the allowed policies. */
export function podSpecCauses(
  spec: JsonObject,
  path: string,
  restart: readonly string[] = restartPolicies,
): readonly Cause[] {
  const policy = text(spec, 'restartPolicy');
  return [
    ...volumeCauses(spec, path),
    ...containersCauses(spec, path),
    ...mountCauses(spec, path),
    ...(restart.includes(policy) ? [] : [notOneOf(`${path}.restartPolicy`, policy, restart)]),
  ];
}

export function podCauses(pod: Draft): readonly Cause[] {
  return podSpecCauses(part(pod, 'spec'), 'spec');
}

/** Mutable fields of a pod's spec. */
const changeable = [
  'activeDeadlineSeconds',
  'tolerations',
  'terminationGracePeriodSeconds',
  'schedulingGates',
] as const;

function fixedPart(pod: Draft): JsonObject {
  const spec = without(part(pod, 'spec'), ...changeable);
  const withoutImages = (key: string): JsonObject =>
    spec[key] === undefined ? {} : { [key]: objects(spec[key]).map(one => without(one, 'image')) };
  return { ...spec, ...withoutImages('containers'), ...withoutImages('initContainers') };
}

const fixedMessage =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

function tolerationCauses(pod: Draft, before: Stored): readonly Cause[] {
  const now = objects(at(pod, 'spec', 'tolerations'));
  const kept = objects(at(before, 'spec', 'tolerations')).every(old =>
    now.some(one => sameJson(one, old)),
  );
  return kept
    ? []
    : [
        notAllowed(
          'spec.tolerations',
          'existing toleration can not be modified except its tolerationSeconds',
        ),
      ];
}

/**
 * Returns the errors of an update. Upstream: ValidatePodUpdate. The real message ends with a diff
 * in Go's notation, which this one leaves out.
 */
export function podUpdateCauses(pod: Draft, before: Stored): readonly Cause[] {
  return [
    ...podCauses(pod),
    ...(sameJson(fixedPart(pod), fixedPart(before))
      ? tolerationCauses(pod, before)
      : [notAllowed('spec', fixedMessage)]),
  ];
}

import { type Json, type JsonObject, sameJson } from '@drydock/apimachinery';
import { type Cause, duplicate, notAllowed, notOneOf, required, wrong } from '../failure.ts';
import { at, type Draft, objects, part, type Stored, text, without } from '../object.ts';

/**
 * Formats of names, labels and annotations: k8s.io/apimachinery/pkg/util/validation. Each function
 * returns errors, or none.
 */

const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const qualifiedPart = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

export function labelNameProblem(name: string): string | undefined {
  if (name.includes('.')) return 'must not contain dots';
  if (name.length > 63) return 'must be no more than 63 characters';
  if (label.test(name)) return undefined;
  return "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
}

export function subdomainProblem(name: string): string | undefined {
  if (name.length > 253) return 'must be no more than 253 characters';
  if (subdomain.test(name)) return undefined;
  return "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
}

/** Checks the key of a label or annotation, or a finalizer: `name` or `prefix/name`. */
export function qualifiedNameProblems(value: string): readonly string[] {
  const parts = value.split('/');
  if (parts.length > 2)
    return [
      `a valid label key ${qualifiedHelp} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  const [prefix, name = ''] = parts.length === 2 ? parts : [undefined, parts[0]];
  const problems: string[] = [];
  if (prefix !== undefined) {
    if (prefix === '') problems.push('prefix part must be non-empty');
    else {
      const problem = subdomainProblem(prefix);
      if (problem !== undefined) problems.push(`prefix part ${problem}`);
    }
  }
  if (name === '') problems.push('name part must be non-empty');
  else if (name.length > 63) problems.push('name part must be no more than 63 characters');
  if (!qualifiedPart.test(name)) problems.push(`name part ${qualifiedHelp}`);
  return problems;
}

const qualifiedHelp =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

export function labelValueProblem(value: string): string | undefined {
  if (value.length > 63) return 'must be no more than 63 characters';
  if (value === '' || qualifiedPart.test(value)) return undefined;
  return "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
}

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

/**
 * Defaults of pods and pod templates: pkg/apis/core/v1/defaults.go. All functions only add missing
 * fields.
 */

const latest = /(^|\/)[^/:@]+(:latest)?$/;

function probe(given: JsonObject): JsonObject {
  const http = given['httpGet'];
  return {
    timeoutSeconds: 1,
    periodSeconds: 10,
    successThreshold: 1,
    failureThreshold: 3,
    ...given,
    ...(http === undefined
      ? {}
      : { httpGet: { path: '/', scheme: 'HTTP', ...part(given, 'httpGet') } }),
  };
}

const probes = ['livenessProbe', 'readinessProbe', 'startupProbe'] as const;

function container(given: JsonObject): JsonObject {
  const image = typeof given['image'] === 'string' ? given['image'] : '';
  const filled: Record<string, Json | undefined> = {
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    imagePullPolicy: latest.test(image) ? 'Always' : 'IfNotPresent',
    ...given,
  };
  if (given['ports'] !== undefined)
    filled['ports'] = objects(given['ports']).map(port => ({ protocol: 'TCP', ...port }));
  for (const name of probes) if (given[name] !== undefined) filled[name] = probe(part(given, name));
  if (given['env'] !== undefined) filled['env'] = objects(given['env']).map(environment);
  return filled;
}

function environment(given: JsonObject): JsonObject {
  if (at(given, 'valueFrom', 'fieldRef') === undefined) return given;
  return {
    ...given,
    valueFrom: {
      ...part(given, 'valueFrom'),
      fieldRef: { apiVersion: 'v1', ...part(given, 'valueFrom', 'fieldRef') },
    },
  };
}

/** Volumes of files, which get the mode 0644. */
const withMode = ['configMap', 'secret', 'downwardAPI', 'projected'] as const;

function volume(given: JsonObject): JsonObject {
  const filled: Record<string, Json | undefined> = { ...given };
  for (const source of withMode)
    if (given[source] !== undefined)
      filled[source] = { defaultMode: 0o644, ...part(given, source) };
  if (given['hostPath'] !== undefined)
    filled['hostPath'] = { type: '', ...part(given, 'hostPath') };
  // A volume without a source is an emptyDir.
  return Object.keys(given).some(key => key !== 'name') ? filled : { ...filled, emptyDir: {} };
}

/** Sets the defaults of a pod's spec, alone or in a template. */
function podSpecDefaults(
  given: JsonObject,
  grace = given['terminationGracePeriodSeconds'],
): JsonObject {
  return {
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    securityContext: {},
    schedulerName: 'default-scheduler',
    ...given,
    // A negative value means the shortest possible one.
    ...(typeof grace === 'number' && grace < 0 ? { terminationGracePeriodSeconds: 1 } : {}),
    ...(given['volumes'] === undefined ? {} : { volumes: objects(given['volumes']).map(volume) }),
    ...(given['initContainers'] === undefined
      ? {}
      : { initContainers: objects(given['initContainers']).map(container) }),
    ...(given['containers'] === undefined
      ? {}
      : { containers: objects(given['containers']).map(container) }),
  };
}

/** Sets missing requests to the limits. Only for pods, not for their templates. */
function requests(given: JsonObject): JsonObject {
  const limits = at(given, 'resources', 'limits');
  if (limits === undefined) return given;
  const resources = part(given, 'resources');
  return {
    ...given,
    resources: {
      ...resources,
      requests: { ...part(given, 'resources', 'limits'), ...part(resources, 'requests') },
    },
  };
}

export function podDefaults(pod: JsonObject): JsonObject {
  const spec = podSpecDefaults(part(pod, 'spec'));
  return {
    ...pod,
    spec: {
      enableServiceLinks: true,
      ...spec,
      ...(spec['containers'] === undefined
        ? {}
        : { containers: objects(spec['containers']).map(requests) }),
      ...(spec['initContainers'] === undefined
        ? {}
        : { initContainers: objects(spec['initContainers']).map(requests) }),
    },
  };
}

/** Sets the defaults of an object with a pod template. */
export function templateDefaults(object: JsonObject): JsonObject {
  const spec = part(object, 'spec');
  const template = part(spec, 'template');
  return {
    ...object,
    spec: { ...spec, template: { ...template, spec: podSpecDefaults(part(template, 'spec')) } },
  };
}

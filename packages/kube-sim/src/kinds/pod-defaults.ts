import type { Json, JsonObject } from '@drydock/apimachinery';
import { at, objects, part } from '../object.ts';

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

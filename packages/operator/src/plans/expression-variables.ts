import type { JsonObject } from '@drydock/apimachinery';
import type { Schemas } from '@drydock/cel';

/**
 * Schemas of the variables in expressions of plans, as far as they are the same in every cluster: a
 * name that is missing here does not exist on any node. The spec and the status of a Node accept
 * any name, because newer releases of Kubernetes add to them.
 */

const anything: JsonObject = { 'x-kubernetes-preserve-unknown-fields': true };
const texts: JsonObject = { additionalProperties: {} };

function objectOf(properties: JsonObject): JsonObject {
  return { properties };
}
function named(...names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map(name => [name, anything]));
}

/** Schema of ObjectMeta without managed fields. */
const metadata = objectOf({
  ...named('name', 'generateName', 'selfLink', 'uid', 'resourceVersion', 'generation'),
  ...named(
    'creationTimestamp',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
    'ownerReferences',
    'finalizers',
  ),
  labels: texts,
  annotations: texts,
});

const node = objectOf({ ...named('apiVersion', 'kind', 'spec', 'status'), metadata });

/** Schema of the kept fields of a Machine, of any machine API. */
const machine = objectOf({
  ...named('apiVersion', 'kind'),
  metadata: objectOf({ ...named('name', 'namespace', 'creationTimestamp'), labels: texts }),
  spec: objectOf(named('providerID')),
  status: objectOf(named('phase')),
});

const plan = objectOf(named('name', 'runID'));

export const planVariables: Schemas = new Map([
  ['node', node],
  ['machine', machine],
  ['plan', plan],
  ['now', undefined],
]);

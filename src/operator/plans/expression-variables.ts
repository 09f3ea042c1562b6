import type { Schemas } from '../../cel/check.ts';
import type { JsonObject } from '../../core/json.ts';

/**
 * What expressions of plans see, as far as it is the same in every cluster: a name that is not here does not exist on any node. What newer releases of Kubernetes add to
 * the spec and the status of a Node is there all the same, so that of these nothing is said.
 */

const anything: JsonObject = { 'x-kubernetes-preserve-unknown-fields': true };
const texts: JsonObject = { additionalProperties: {} };

const objectOf = (properties: JsonObject): JsonObject => ({ properties });
const named = (...names: readonly string[]): JsonObject => Object.fromEntries(names.map(name => [name, anything]));

/** ObjectMeta without managed fields. */
const metadata = objectOf({
  ...named('name', 'generateName', 'selfLink', 'uid', 'resourceVersion', 'generation'),
  ...named('creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'ownerReferences', 'finalizers'),
  labels: texts,
  annotations: texts,
});

const node = objectOf({ ...named('apiVersion', 'kind', 'spec', 'status'), metadata });

/** What is kept of a Machine, whichever API it is of. */
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

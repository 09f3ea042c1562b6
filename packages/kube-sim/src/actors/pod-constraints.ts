import type { JsonObject } from '@drydock/apimachinery';
import { at, items, objects, type Stored, text } from '../object.ts';
import { terms } from './affinity.ts';
import type { ResourceRequests } from './resources.ts';
import { toleratesAll } from './taints.ts';

/** Constraints of a pod on its node, computed once, because they are read for every node. */
export type PodConstraints = {
  readonly asked: ResourceRequests;
  /** Names of the only possible nodes, where all terms name one: no others are checked. */
  readonly named: ReadonlySet<string> | undefined;
  readonly toleratesCordon: boolean;
  /** Whether it requires labels of the node. */
  readonly isChoosy: boolean;
  readonly preferred: readonly JsonObject[];
  readonly together: readonly JsonObject[];
  readonly apart: readonly JsonObject[];
  /** Topology spread constraints that must hold. */
  readonly spreads: readonly JsonObject[];
};

const cordonTaint: Stored = {
  metadata: { name: 'cordoned', uid: '', resourceVersion: '', creationTimestamp: '' },
  spec: { taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }] },
};

function requiredOf(spec: JsonObject): JsonObject[string] {
  return at(spec, 'affinity', 'nodeAffinity', 'requiredDuringSchedulingIgnoredDuringExecution');
}

/** Returns the named nodes in the affinity that DaemonSets give to their pods. */
function namedBy(spec: JsonObject): ReadonlySet<string> | undefined {
  const all = objects(at(requiredOf(spec), 'nodeSelectorTerms'));
  const fields = all.map(term =>
    objects(term['matchFields']).find(field => text(field, 'key') === 'metadata.name'),
  );
  if (all.length === 0 || fields.includes(undefined)) return undefined;
  return new Set(fields.flatMap(field => items(field?.['values']).map(String)));
}

export function constraintsOf(spec: JsonObject, asked: ResourceRequests): PodConstraints {
  return {
    asked,
    named: namedBy(spec),
    toleratesCordon: toleratesAll(spec, cordonTaint, ['NoSchedule']),
    isChoosy: spec['nodeSelector'] !== undefined || requiredOf(spec) !== undefined,
    preferred: objects(
      at(spec, 'affinity', 'nodeAffinity', 'preferredDuringSchedulingIgnoredDuringExecution'),
    ),
    together: terms(spec, 'podAffinity'),
    apart: terms(spec, 'podAntiAffinity'),
    spreads: objects(spec['topologySpreadConstraints']).filter(
      one => text(one, 'whenUnsatisfiable') === 'DoNotSchedule',
    ),
  };
}

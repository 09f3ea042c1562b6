import { isObject, type JsonObject, sameJson } from '@drydock/apimachinery';
import { at, objects, part, type Stored, strings, text, without } from '@drydock/kube-sim';

/** What the operator may write on nodes, and what stands there of it. */

export const recordKey = 'drydock.dev/before';

const ourTaints = new Set([
  'drydock.dev/drain:NoSchedule',
  'medik8s.io/drain:NoSchedule',
  'kubevirt.io/drain:NoSchedule',
  'node.kubernetes.io/unschedulable:NoSchedule',
]);
export const drainTaints: ReadonlySet<string> = new Set(
  [...ourTaints].filter(id => !id.startsWith('node.kubernetes.io/')),
);
const ourLabels = new Set(['remediation.medik8s.io/exclude-from-remediation']);
const ourConditions = new Set([
  'DrainInProgress',
  'Drained',
  'MaintenancePlanned',
  'MaintenanceInProgress',
]);

export function taintsOf(node: Stored): readonly JsonObject[] {
  return objects(at(node, 'spec', 'taints'));
}
export function idOf(taint: JsonObject): string {
  return `${text(taint, 'key')}:${text(taint, 'effect')}`;
}

export function isHeld(node: Stored | undefined): boolean {
  return node?.metadata.annotations?.[recordKey] !== undefined;
}
export function isCordoned(node: Stored | undefined): boolean {
  return at(node, 'spec', 'unschedulable') === true;
}

/** All marks that there may be, each with what stands there: null where it does not. */
export function marksOf(node: Stored): ReadonlyMap<string, string | null> {
  const found = new Map(taintsOf(node).map(taint => [idOf(taint), text(taint, 'value')] as const));
  return new Map([
    ['cordon', isCordoned(node) ? 'true' : null] as const,
    ...[...ourTaints].map(id => [`taint ${id}`, found.get(id) ?? null] as const),
    ...[...ourLabels].map(key => [`label ${key}`, node.metadata.labels?.[key] ?? null] as const),
  ]);
}

/** The marks that the record on the node says to be the operator's. */
export function recordedOf(node: Stored): ReadonlySet<string> {
  const said: unknown = JSON.parse(node.metadata.annotations?.[recordKey] ?? '{}');
  const record = isObject(said) ? said : {};
  return new Set([
    ...(record['unschedulable'] === undefined ? [] : ['cordon']),
    ...Object.keys(strings(record['taints']) as object).map(id => `taint ${id}`),
    ...Object.keys(strings(record['labels']) as object).map(key => `label ${key}`),
  ]);
}

function others(
  map: Readonly<Record<string, string>>,
  isOurs: (key: string) => boolean,
): JsonObject {
  return Object.fromEntries(Object.entries(map).filter(([key]) => !isOurs(key)));
}

/** Everything of a node that is nobody's business here; the order of taints does not count. */
function foreignOf(node: Stored): JsonObject {
  const { labels = {}, annotations = {} } = node.metadata;
  const taints = taintsOf(node).filter(taint => !ourTaints.has(idOf(taint)));
  const conditions = objects(at(node, 'status', 'conditions')).filter(
    one => !ourConditions.has(text(one, 'type')),
  );
  return {
    labels: others(labels, key => ourLabels.has(key)),
    annotations: others(annotations, key => key.startsWith('drydock.dev/')),
    finalizers: [...(node.metadata.finalizers ?? [])],
    spec: {
      ...without(part(node, 'spec'), 'taints', 'unschedulable'),
      taints: taints.toSorted((one, other) => (idOf(one) < idOf(other) ? -1 : 1)),
    },
    status: { ...part(node, 'status'), conditions },
  };
}

/**
 * What one write has changed that was not the operator's to change; undefined when there is
 * nothing.
 */
export function foreignChange(before: Stored, after: Stored): string | undefined {
  const [was, is] = [foreignOf(before), foreignOf(after)];
  const changed = Object.keys(was).filter(key => !sameJson(was[key] ?? null, is[key] ?? null));
  return changed.length === 0
    ? undefined
    : changed
        .map(key => `${key}: ${JSON.stringify(was[key])} became ${JSON.stringify(is[key])}`)
        .join('; ');
}

/** Conditions of ours that say that something is going on. */
export function conditionsSaid(node: Stored): readonly string[] {
  return objects(at(node, 'status', 'conditions'))
    .filter(
      one => ourConditions.has(text(one, 'type')) && text(one, 'reason').startsWith('Drydock'),
    )
    .map(one => text(one, 'type'));
}

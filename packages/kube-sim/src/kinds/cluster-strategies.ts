import { type JsonObject, sameJson } from '@drydock/apimachinery';
import { type Cause, notAllowed, notOneOf, required, wrong } from '../failure.ts';
import {
  at,
  type Draft,
  items,
  metaOf,
  objects,
  part,
  type Stored,
  strings,
  text,
  withMeta,
} from '../object.ts';
import type { Context, Strategy } from './kind.ts';
import { labelNameProblem } from './pod-validation.ts';

/**
 * Strategies of the kinds other than workloads: pkg/registry/core, policy, scheduling,
 * coordination, storage.
 */

function keepSpec(draft: Draft, before: Stored): Draft {
  return { ...draft, spec: before['spec'] };
}

export const namespaces: Strategy = {
  generation: 'none',
  nameProblem: labelNameProblem,
  creating: draft => {
    const name = text(draft, 'metadata', 'name');
    const finalizers = items(at(draft, 'spec', 'finalizers'));
    return withMeta(
      {
        ...draft,
        spec: {
          ...part(draft, 'spec'),
          finalizers: finalizers.includes('kubernetes')
            ? finalizers
            : [...finalizers, 'kubernetes'],
        },
        status: { phase: 'Active' },
      },
      { labels: { ...part(draft, 'metadata', 'labels'), 'kubernetes.io/metadata.name': name } },
    );
  },
  // The finalizers in the spec are changed by /finalize only.
  updating: (draft, before) =>
    withMeta(
      { ...draft, spec: before['spec'] },
      {
        labels: {
          ...part(draft, 'metadata', 'labels'),
          'kubernetes.io/metadata.name': before.metadata.name,
        },
      },
    ),
  updatingStatus: keepSpec,
};

const notReady = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };

export const nodes: Strategy = {
  generation: 'none',
  defaults: draft => {
    const capacity = at(draft, 'status', 'capacity');
    if (capacity === undefined || at(draft, 'status', 'allocatable') !== undefined) return draft;
    return { ...draft, status: { ...part(draft, 'status'), allocatable: capacity } };
  },
  // Admission plugin TaintNodesByCondition: no pod is scheduled to a node before its conditions
  // have been checked.
  creating: draft => {
    const taints = objects(at(draft, 'spec', 'taints'));
    const has = taints.some(
      ({ key, effect }) => key === notReady.key && effect === notReady.effect,
    );
    return has
      ? draft
      : { ...draft, spec: { ...part(draft, 'spec'), taints: [...taints, notReady] } };
  },
  updatingStatus: keepSpec,
  validate: draft => taintCauses(objects(at(draft, 'spec', 'taints'))),
};

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

function taintCauses(taints: readonly JsonObject[]): readonly Cause[] {
  const seen = new Set<string>();
  return taints.flatMap((taint, index): readonly Cause[] => {
    const [key, effect] = [text(taint, 'key'), text(taint, 'effect')];
    const path = `metadata.taints[${index}]`;
    if (key === '') return [wrong(`${path}.key`, '', 'name part must be non-empty')];
    if (effect === '') return [required(`${path}.effect`)];
    if (!effects.includes(effect)) return [notOneOf(`${path}.effect`, effect, effects)];
    const twice = seen.has(`${key}:${effect}`);
    seen.add(`${key}:${effect}`);
    if (!twice) return [];
    // Go formats its internal type here.
    const shown = {
      Key: key,
      Value: text(taint, 'value'),
      Effect: effect,
      TimeAdded: taint['timeAdded'] ?? null,
    };
    const message = `Duplicate value: ${JSON.stringify(shown)}: taints must be unique by key and effect pair`;
    return [{ reason: 'FieldValueDuplicate', message, field: path }];
  });
}

const budgetPolicies = ['AlwaysAllow', 'IfHealthyBudget'];

function boundCauses(field: string, value: unknown): readonly Cause[] {
  if (typeof value === 'number')
    return value < 0 ? [wrong(field, value, 'must be greater than or equal to 0')] : [];
  if (typeof value !== 'string') return [];
  if (!/^[0-9]+%$/.test(value)) {
    return [
      wrong(
        field,
        value,
        "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
      ),
    ];
  }
  return Number(value.slice(0, -1)) > 100
    ? [wrong(field, value, 'must not be greater than 100%')]
    : [];
}

/** Returns a spec as Go formats its internal type in a message. */
function internalSpec(spec: JsonObject): JsonObject {
  return {
    MinAvailable: spec['minAvailable'] ?? null,
    Selector: spec['selector'] ?? null,
    MaxUnavailable: spec['maxUnavailable'] ?? null,
    UnhealthyPodEvictionPolicy: spec['unhealthyPodEvictionPolicy'] ?? null,
  };
}

const counts = ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'] as const;

export const budgets: Strategy = {
  needsVersion: true,
  validateStatus: draft =>
    counts.flatMap(field => {
      const value = at(draft, 'status', field);
      return typeof value === 'number' && value < 0
        ? [wrong(`status.${field}`, value, 'must be greater than or equal to 0')]
        : [];
    }),
  generation: 'counted',
  creating: draft => ({
    ...draft,
    status: { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 },
  }),
  updatingStatus: keepSpec,
  validate: draft => {
    const [min, max] = [at(draft, 'spec', 'minAvailable'), at(draft, 'spec', 'maxUnavailable')];
    const policy = at(draft, 'spec', 'unhealthyPodEvictionPolicy');
    return [
      ...(min !== undefined && max !== undefined
        ? [
            wrong(
              'spec',
              internalSpec(part(draft, 'spec')),
              'minAvailable and maxUnavailable cannot be both set',
            ),
          ]
        : []),
      ...boundCauses('spec.minAvailable', min),
      ...boundCauses('spec.maxUnavailable', max),
      ...(policy !== undefined && !budgetPolicies.some(one => one === policy)
        ? [notOneOf('spec.unhealthyPodEvictionPolicy', policy, budgetPolicies)]
        : []),
    ];
  },
};

export const priorityClasses: Strategy = {
  generation: 'counted',
  defaults: draft => ({ preemptionPolicy: 'PreemptLowerPriority', ...draft }),
  validateUpdate: (draft, before) =>
    draft['value'] === before['value']
      ? []
      : [notAllowed('value', 'may not be changed in an update.')],
  validate: draft => {
    const name = text(draft, 'metadata', 'name');
    const value = draft['value'];
    if (name.startsWith('system-')) return [];
    return typeof value === 'number' && value > 1_000_000_000
      ? [notAllowed('value', 'maximum allowed value of a user defined priority is 1000000000')]
      : [];
  },
};

export const leases: Strategy = {
  needsVersion: true,
  generation: 'none',
  validate: draft => {
    const duration = at(draft, 'spec', 'leaseDurationSeconds');
    const transitions = at(draft, 'spec', 'leaseTransitions');
    return [
      ...(typeof duration === 'number' && duration <= 0
        ? [wrong('spec.leaseDurationSeconds', duration, 'must be greater than 0')]
        : []),
      ...(typeof transitions === 'number' && transitions < 0
        ? [wrong('spec.leaseTransitions', transitions, 'must be greater than or equal to 0')]
        : []),
    ];
  },
};

export const events: Strategy = {
  generation: 'none',
  validate: draft => {
    const namespace = text(draft, 'involvedObject', 'namespace');
    const own = text(draft, 'metadata', 'namespace');
    // An event about a cluster-scoped object is in `default` (or kube-system, for old clients).
    const fits = namespace === '' ? own === 'default' || own === 'kube-system' : namespace === own;
    return fits
      ? []
      : [wrong('involvedObject.namespace', namespace, 'does not match event.namespace')];
  },
};

export const configMaps: Strategy = {
  generation: 'none',
  validateUpdate: (draft, before) =>
    before['immutable'] === true && !sameJson(draft['data'], before['data'])
      ? [notAllowed('data', 'field is immutable when `immutable` is set')]
      : [],
};

/** Strategy of secrets: `stringData` is merged into `data`, and never returned. */
export const secrets: Strategy = {
  generation: 'none',
  defaults: draft => {
    const { stringData, ...rest } = draft;
    const added = Object.fromEntries(
      Object.entries(strings(stringData)).map(([key, value]) => [key, base64(value)]),
    );
    return {
      type: 'Opaque',
      ...rest,
      ...(Object.keys(added).length === 0 ? {} : { data: { ...part(draft, 'data'), ...added } }),
    };
  },
  validateUpdate: (draft, before) =>
    draft['type'] === before['type'] ? [] : [wrong('type', draft['type'], 'field is immutable')],
};

function base64(value: string): string {
  return new TextEncoder().encode(value).toBase64();
}

export const serviceAccounts: Strategy = { generation: 'none' };

function finalizer(draft: Draft, name: string): Draft {
  const finalizers = items(metaOf(draft)['finalizers']);
  return finalizers.includes(name) ? draft : withMeta(draft, { finalizers: [...finalizers, name] });
}

function volumePhase(draft: Draft, { now }: Context): Draft {
  return { ...draft, status: { phase: 'Pending', lastPhaseTransitionTime: now } };
}

export const persistentVolumes: Strategy = {
  generation: 'none',
  defaults: draft => ({
    ...draft,
    spec: {
      persistentVolumeReclaimPolicy: 'Retain',
      volumeMode: 'Filesystem',
      ...volumeSource(draft),
    },
  }),
  creating: (draft, context) =>
    volumePhase(finalizer(draft, 'kubernetes.io/pv-protection'), context),
  updatingStatus: keepSpec,
  validate: draft =>
    items(at(draft, 'spec', 'accessModes')).length === 0 ? [required('spec.accessModes')] : [],
};

function volumeSource(draft: Draft): JsonObject {
  const spec = part(draft, 'spec');
  return spec['hostPath'] === undefined
    ? spec
    : { ...spec, hostPath: { type: '', ...part(spec, 'hostPath') } };
}

export const persistentVolumeClaims: Strategy = {
  generation: 'none',
  defaults: draft => ({ ...draft, spec: { volumeMode: 'Filesystem', ...part(draft, 'spec') } }),
  creating: draft => ({
    ...finalizer(draft, 'kubernetes.io/pvc-protection'),
    status: { phase: 'Pending' },
  }),
  updatingStatus: keepSpec,
  validate: draft => [
    ...(items(at(draft, 'spec', 'accessModes')).length === 0
      ? [required('spec.accessModes', 'at least 1 access mode is required')]
      : []),
    ...(at(draft, 'spec', 'resources', 'requests', 'storage') === undefined
      ? [required('spec.resources[storage]')]
      : []),
  ],
};

export const volumeAttachments: Strategy = {
  needsVersion: true,
  generation: 'none',
  creating: draft => ({ ...draft, status: { attached: false } }),
  updatingStatus: keepSpec,
  validateUpdate: (draft, before) =>
    sameJson(draft['spec'], before['spec'])
      ? []
      : [wrong('spec', draft['spec'], 'field is immutable')],
};

import type { JsonObject } from '@drydock/apimachinery';
import { forbidden } from '../failure.ts';
import { at, type Draft, items, objects, part, type Stored, text, withMeta } from '../object.ts';
import type { Store } from '../store/store.ts';
import type { Admitted, Context, Strategy } from './kind.ts';
import { podCauses, podDefaults, podUpdateCauses } from './pod-validation.ts';

const computed = ['cpu', 'memory'] as const;

/** Upstream: ComputePodQOS of pkg/apis/core/helper/qos. */
function qosOf(pod: Draft): string {
  const containers = [
    ...objects(at(pod, 'spec', 'containers')),
    ...objects(at(pod, 'spec', 'initContainers')),
  ];
  const amounts = (one: JsonObject, kind: string): JsonObject => part(one, 'resources', kind);
  const any = containers.some(one =>
    computed.some(name => amounts(one, 'requests')[name] ?? amounts(one, 'limits')[name]),
  );
  if (!any) return 'BestEffort';
  const guaranteed = containers.every(one =>
    computed.every(name => {
      const limit = amounts(one, 'limits')[name];
      return limit !== undefined && amounts(one, 'requests')[name] === limit;
    }),
  );
  return guaranteed ? 'Guaranteed' : 'Burstable';
}

const patience = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'] as const;

/**
 * Admission plugin DefaultTolerationSeconds: five minutes on a node that is not ready, unless the
 * pod has its own toleration.
 */
function withPatience(pod: Draft): Draft {
  const given = objects(at(pod, 'spec', 'tolerations'));
  const tolerates = (key: string): boolean =>
    given.some(
      one =>
        (one['key'] === key || one['key'] === undefined) &&
        (one['effect'] === 'NoExecute' || one['effect'] === undefined),
    );
  const added = patience
    .filter(key => !tolerates(key))
    .map(key => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 }));
  return added.length === 0
    ? pod
    : { ...pod, spec: { ...part(pod, 'spec'), tolerations: [...given, ...added] } };
}

/** Returns the default priority class, for a pod that names none, if it exists. */
function defaultClass({ store }: Context): Stored | undefined {
  return store.list('priorityclasses.scheduling.k8s.io').find(one => one['globalDefault'] === true);
}

/** Admission plugin Priority: sets the value of the pod's class, and rejects any other. */
function withPriority(pod: Draft, context: Context): Admitted {
  const spec = part(pod, 'spec');
  const given = text(spec, 'priorityClassName');
  const found =
    given === ''
      ? defaultClass(context)
      : context.store.get('priorityclasses.scheduling.k8s.io', '', given);
  const refuse = (why: string): Admitted => ({
    kind: 'refused',
    failure: forbidden({ group: '', resource: 'pods' }, text(pod, 'metadata', 'name'), why),
  });
  if (given !== '' && found === undefined)
    return refuse(`no PriorityClass with name ${given} was found`);
  const priority = typeof found?.['value'] === 'number' ? found['value'] : 0;
  if (typeof spec['priority'] === 'number' && spec['priority'] !== priority) {
    return refuse(
      `the integer value of priority (${spec['priority']}) must not be provided in pod spec; priority admission controller computed ${priority} from the given PriorityClass name`,
    );
  }
  const preemptionPolicy =
    typeof found?.['preemptionPolicy'] === 'string'
      ? found['preemptionPolicy']
      : 'PreemptLowerPriority';
  if (
    typeof spec['preemptionPolicy'] === 'string' &&
    spec['preemptionPolicy'] !== preemptionPolicy
  ) {
    return refuse(
      `the string value of PreemptionPolicy (${spec['preemptionPolicy']}) must not be provided in pod spec; priority admission controller computed ${preemptionPolicy} from the given PriorityClass name`,
    );
  }
  const name = found?.metadata.name ?? '';
  return {
    kind: 'admitted',
    draft: {
      ...pod,
      spec: {
        ...spec,
        ...(name === '' ? {} : { priorityClassName: name }),
        priority,
        preemptionPolicy,
      },
    },
  };
}

const topology = ['topology.kubernetes.io/zone', 'topology.kubernetes.io/region'] as const;

/**
 * Admission plugin PodTopologyLabels: returns the zone and the region of the node as labels for the
 * pod.
 */
export function topologyLabels(store: Store, node: string): Readonly<Record<string, string>> {
  const labels = node === '' ? undefined : store.get('nodes', '', node)?.metadata.labels;
  return Object.fromEntries(
    topology.flatMap(key => (labels?.[key] === undefined ? [] : [[key, labels[key]]])),
  );
}

function withTopology(pod: Draft, { store }: Context): Draft {
  const added = topologyLabels(store, text(pod, 'spec', 'nodeName'));
  return Object.keys(added).length === 0
    ? pod
    : withMeta(pod, { labels: { ...part(pod, 'metadata', 'labels'), ...added } });
}

/** Returns the initial status; a pod with scheduling gates has a condition about them. */
function firstStatus(pod: Draft, now: string): JsonObject {
  return {
    phase: 'Pending',
    ...(items(at(pod, 'spec', 'schedulingGates')).length === 0
      ? {}
      : {
          conditions: [
            {
              type: 'PodScheduled',
              status: 'False',
              lastProbeTime: null,
              lastTransitionTime: now,
              reason: 'SchedulingGated',
              message: 'Scheduling is blocked due to non-empty scheduling gates',
            },
          ],
        }),
    qosClass: qosOf(pod),
  };
}

/**
 * Upstream: pkg/registry/core/pod/strategy.go, and the admission plugins DefaultTolerationSeconds
 * and Priority.
 */
export const pods: Strategy = {
  generation: 'counted',
  defaults: podDefaults,
  creating: (pod, { now }) => ({ ...withPatience(pod), status: firstStatus(pod, now) }),
  updatingStatus: (pod, before) =>
    withMeta(
      {
        ...pod,
        spec: before['spec'],
        status: { ...part(pod, 'status'), qosClass: at(before, 'status', 'qosClass') },
      },
      { ownerReferences: before.metadata['ownerReferences'] },
    ),
  validate: podCauses,
  validateUpdate: podUpdateCauses,
  admit: (pod, before, context) =>
    before === undefined
      ? withPriority(withTopology(pod, context), context)
      : { kind: 'admitted', draft: pod },
};

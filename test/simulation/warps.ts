import { isObject, type JsonObject } from '@drydock/apimachinery';
import type { ApiCall, ApiResponse } from '@drydock/kube-client';
import { at, objects, part, type Stored, text } from '@drydock/kube-sim';
import { workNamespace } from '@drydock/operator';
import { haltAnnotation } from '@drydock/operator/plans';
import { recordKey } from './audit/marks.ts';
import type { SimulationContext, Warp } from './simulation-context.ts';

/** Operators that are worse than the real one, each in one way: what the audit has to find out. */

type Change = (call: ApiCall, world: SimulationContext) => ApiCall | undefined;

/** Every call goes through `change`; undefined: as it was. */
function changing(change: Change): Warp {
  return (api, world) => ({
    call: (call, signal) => api.call(change(call, world) ?? call, signal),
  });
}

function isEviction({ method, path }: ApiCall): boolean {
  return method === 'POST' && path.endsWith('/eviction');
}

function isNodePatch({ method, path }: ApiCall): boolean {
  return method === 'PATCH' && /^\/api\/v1\/nodes\/[^/]+$/.test(path);
}

function bodyOf({ body }: ApiCall): JsonObject {
  return isObject(body) ? body : {};
}

function isRelease(call: ApiCall): boolean {
  return isNodePatch(call) && at(bodyOf(call), 'metadata', 'annotations', recordKey) === null;
}

function statusOf(call: ApiCall): JsonObject | undefined {
  return call.method === 'PATCH' &&
    call.path.endsWith('/status') &&
    call.path.includes('maintenances/')
    ? part(bodyOf(call), 'status')
    : undefined;
}

function withStatus(call: ApiCall, more: JsonObject): ApiCall {
  return {
    ...call,
    body: { ...bodyOf(call), status: { ...statusOf(call), ...more } },
  };
}

function isPlanStatus({ method, path }: ApiCall): boolean {
  return method === 'PATCH' && /\/maintenanceplans\/[^/]+\/status$/.test(path);
}

function list(world: SimulationContext, resource: string): readonly Stored[] {
  return world.cluster.registry.store.list(resource);
}

function machineApiOf({ story }: SimulationContext): string {
  return story.machines?.flavour === 'capi'
    ? 'cluster.x-k8s.io/v1beta2'
    : 'machine.openshift.io/v1beta1';
}

function deletionOfMachine(world: SimulationContext, name: string): ApiCall {
  return {
    method: 'DELETE',
    path: `/apis/${machineApiOf(world)}/namespaces/machines/machines/${name}`,
    body: {},
  };
}

/** Its pods go whatever their budgets say: the budgets are told to allow it first. */
const pastBudgets: Warp = (api, world) => ({
  call: async (call, signal) => {
    if (isEviction(call)) {
      const { registry } = world.cluster;
      for (const budget of registry.store.list('poddisruptionbudgets.policy')) {
        registry.store.put('poddisruptionbudgets.policy', {
          ...budget,
          status: { ...part(budget, 'status'), disruptionsAllowed: 99 },
        });
      }
    }
    return api.call(call, signal);
  },
});

/** Sends one more call after each that `when` picks. */
function adding(
  when: (call: ApiCall) => boolean,
  more: (call: ApiCall, world: SimulationContext) => ApiCall | undefined,
): Warp {
  return (api, world) => ({
    call: async (call, signal): Promise<ApiResponse> => {
      const answer = await api.call(call, signal);
      const next = when(call) ? more(call, world) : undefined;
      if (next !== undefined) await api.call(next, signal).catch(() => undefined);
      return answer;
    },
  });
}

function evictionOf({ metadata: { namespace = '', name, uid } }: Stored): ApiCall {
  return {
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/pods/${name}/eviction`,
    body: {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { namespace, name },
      deleteOptions: { preconditions: { uid } },
    },
  };
}

function podOn(
  world: SimulationContext,
  node: string,
  picks: (pod: Stored) => boolean,
): ApiCall | undefined {
  const pod = world.cluster.registry.store.indexed('pods', 'spec.nodeName', node).find(picks);
  return pod && evictionOf(pod);
}

function nodeOfPath(path: string): string {
  return path.split('/')[4] ?? '';
}

function isOfDaemonSet({ metadata }: Stored): boolean {
  return metadata.ownerReferences?.some(({ kind }) => kind === 'DaemonSet') === true;
}

/** The pod of which a status says that it is left to its responder. */
function leftToResponder(
  call: ApiCall,
): { readonly namespace: string; readonly name: string } | undefined {
  const left = objects(statusOf(call)?.['blockers']).find(
    blocker => text(blocker, 'reason') === 'EvictionResponder',
  );
  return left && { namespace: text(left, 'pod', 'namespace'), name: text(left, 'pod', 'name') };
}

/** The hold is answered for and never written. */
const withoutHold: Warp = (api, world) => ({
  call: async (call, signal) => {
    const node = isNodePatch(call)
      ? world.cluster.registry.store.get('nodes', '', nodeOfPath(call.path))
      : undefined;
    if (node === undefined || isRelease(call)) return api.call(call, signal);
    const [metadata, spec] = [part(bodyOf(call), 'metadata'), part(bodyOf(call), 'spec')];
    const body = {
      ...node,
      metadata: {
        ...node.metadata,
        labels: { ...node.metadata.labels, ...part(metadata, 'labels') },
        annotations: part(metadata, 'annotations'),
      },
      spec: { ...part(node, 'spec'), ...spec },
    };
    await world.clock.sleep(100);
    return { status: 200, headers: {}, body };
  },
});

function workPod(name: string, nodeName?: string): ApiCall {
  return {
    method: 'POST',
    path: `/api/v1/namespaces/${workNamespace}/pods`,
    body: {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name },
      spec: {
        ...(nodeName !== undefined && { nodeName }),
        restartPolicy: 'Never',
        containers: [{ name: 'work', image: 'example.test/work:1' }],
      },
    },
  };
}

/**
 * By what is wrong with it: the invariant that it breaks, what is said of that where the invariant
 * has many laws, and how.
 */
export const warps = {
  'evicts past budgets': { invariant: 'budgets', warp: pastBudgets },
  'deletes instead of evicting': {
    invariant: 'policy',
    warp: changing(call => {
      if (!isEviction(call)) return undefined;
      return {
        ...call,
        method: 'DELETE',
        path: call.path.replace(/\/eviction$/, ''),
        body: part(bodyOf(call), 'deleteOptions'),
      };
    }),
  },
  'evicts whoever has the name': {
    invariant: 'policy',
    warp: changing(call =>
      isEviction(call) ? { ...call, body: { ...bodyOf(call), deleteOptions: {} } } : undefined,
    ),
  },
  'evicts pods of DaemonSets': {
    invariant: 'policy',
    warp: adding(isEviction, (call, world) => {
      const [, , , , namespace = '', , name = ''] = call.path.split('/');
      const pod = world.cluster.registry.store.get('pods', namespace, name);
      return pod && podOn(world, text(pod, 'spec', 'nodeName'), isOfDaemonSet);
    }),
  },
  'goes past responders': {
    invariant: 'responders',
    warp: adding(
      call => leftToResponder(call) !== undefined,
      (call, world) => {
        const { namespace = '', name = '' } = leftToResponder(call) ?? {};
        const pod = world.cluster.registry.store.get('pods', namespace, name);
        return pod && evictionOf(pod);
      },
    ),
  },
  'requests pods that name no responders': {
    invariant: 'responders',
    warp: changing((call, world) => {
      if (call.method !== 'POST' || !call.path.endsWith('/evictionrequests')) return undefined;
      const other = list(world, 'pods').find(
        pod => at(pod, 'spec', 'evictionResponders') === undefined,
      );
      if (other === undefined) return undefined;
      const { namespace = '', name, uid } = other.metadata;
      const path = `/apis/lifecycle.k8s.io/v1alpha1/namespaces/${namespace}/evictionrequests`;
      const body = bodyOf(call);
      return {
        ...call,
        path,
        body: {
          ...body,
          metadata: { ...part(body, 'metadata'), namespace },
          spec: { ...part(body, 'spec'), target: { pod: { name, uid } } },
        },
      };
    }),
  },
  'does not hold': { invariant: 'held first', warp: withoutHold },
  'evicts after the release': {
    invariant: 'held first',
    warp: adding(isRelease, (call, world) =>
      podOn(world, nodeOfPath(call.path), pod => !isOfDaemonSet(pod)),
    ),
  },
  'takes foreign taints along': {
    invariant: 'foreign marks',
    warp: changing(call => {
      const taints = isNodePatch(call) ? at(bodyOf(call), 'spec', 'taints') : undefined;
      if (!Array.isArray(taints)) return undefined;
      const own = objects(taints).filter(taint => text(taint, 'key') !== 'team');
      return {
        ...call,
        body: { ...bodyOf(call), spec: { ...part(bodyOf(call), 'spec'), taints: own } },
      };
    }),
  },
  'takes foreign labels along': {
    invariant: 'foreign marks',
    warp: changing(call => {
      if (!isNodePatch(call)) return undefined;
      const metadata = part(bodyOf(call), 'metadata');
      return {
        ...call,
        body: {
          ...bodyOf(call),
          metadata: { ...metadata, labels: { ...part(metadata, 'labels'), team: null } },
        },
      };
    }),
  },
  'leaves nodes cordoned': {
    invariant: 'restored',
    warp: changing(call =>
      isRelease(call)
        ? {
            ...call,
            body: { ...bodyOf(call), spec: { ...part(bodyOf(call), 'spec'), unschedulable: true } },
          }
        : undefined,
    ),
  },
  'uncordons what was cordoned': {
    invariant: 'restored',
    warp: changing(call =>
      isRelease(call)
        ? {
            ...call,
            body: { ...bodyOf(call), spec: { ...part(bodyOf(call), 'spec'), unschedulable: null } },
          }
        : undefined,
    ),
  },
  'releases what is wanted': {
    invariant: 'kept',
    warp: adding(
      call => text(statusOf(call), 'phase') === 'Drained',
      (call, world) => {
        const [, , , , , name = ''] = call.path.split('/');
        const maintenance = world.cluster.registry.store.get('maintenances.drydock.dev', '', name);
        const body = {
          metadata: { annotations: { [recordKey]: null } },
          spec: { unschedulable: null },
        };
        return (
          maintenance && {
            method: 'PATCH',
            path: `/api/v1/nodes/${text(maintenance, 'spec', 'nodeName')}`,
            body,
            contentType: 'application/merge-patch+json',
          }
        );
      },
    ),
  },
  'says drained too soon': {
    invariant: 'status',
    warp: changing(call =>
      text(statusOf(call), 'phase') === 'Draining'
        ? withStatus(call, { phase: 'Drained' })
        : undefined,
    ),
  },
  'counts backwards': {
    invariant: 'status',
    warp: changing(call => {
      const pods = part(statusOf(call), 'pods');
      return typeof pods['gone'] === 'number' && pods['gone'] > 1
        ? withStatus(call, { pods: { ...pods, gone: pods['gone'] - 2 } })
        : undefined;
    }),
  },
  'names blockers that are not there': {
    invariant: 'status',
    warp: changing(call => {
      if (statusOf(call) === undefined || !call.path.includes('drydock.dev')) return undefined;
      const blockers = [
        {
          reason: 'Terminating',
          pod: { namespace: 'shop', name: 'nobody' },
          message: 'x',
          startTime: '2026-01-01T00:00:00Z',
        },
      ];
      return withStatus(call, { blockers, blockerCount: 1 });
    }),
  },
  'never evicts': {
    invariant: 'finishes',
    warp: (api, world) => ({
      call: async (call, signal) => {
        if (!isEviction(call)) return api.call(call, signal);
        await world.clock.sleep(100);
        return { status: 201, headers: {}, body: { status: 'Success' } };
      },
    }),
  },
  'asks and asks': {
    invariant: 'no call loops',
    warp: (api, _world) => ({
      call: async (call, signal) => {
        if (isNodePatch(call))
          for (let count = 0; count < 300; count += 1)
            await api.call({ method: 'GET', path: call.path }).catch(() => undefined);
        return api.call(call, signal);
      },
    }),
  },
  'deletes any machine': {
    invariant: 'machines',
    warp: adding(
      ({ method, path }) => method === 'POST' && path.endsWith('/machinemaintenances'),
      (call, world) => {
        const named = text(bodyOf(call), 'spec', 'machinelink');
        const [group = ''] = machineApiOf(world).split('/');
        const other = list(world, `machines.${group}`).find(
          ({ metadata }) => metadata.name !== named,
        );
        return other && deletionOfMachine(world, other.metadata.name);
      },
    ),
  },
  'deletes a machine whose node has just been asked for': {
    invariant: 'machines',
    warp: adding(
      ({ method, path }) => method === 'POST' && path === '/apis/drydock.dev/v1alpha1/maintenances',
      (call, world) => {
        const isPart =
          text(bodyOf(call), 'spec', 'requester') === 'drydock.dev/machine-maintenance';
        return isPart
          ? deletionOfMachine(world, text(bodyOf(call), 'spec', 'nodeName'))
          : undefined;
      },
    ),
  },
  'begins with two nodes of a plan in one decision': {
    invariant: 'plans',
    warp: changing(call => {
      if (!isPlanStatus(call)) return undefined;
      const status = part(bodyOf(call), 'status');
      const [one] = objects(status['inFlight']);
      const inFlight = [one, { ...one, node: 'n0', nodeUID: 'x' }];
      return one && { ...call, body: { ...bodyOf(call), status: { ...status, inFlight } } };
    }),
  },
  'begins with a node of a plan past a gate that is false': {
    invariant: 'plans',
    warp: changing(call => {
      const status = isPlanStatus(call) ? part(bodyOf(call), 'status') : {};
      if (objects(status['inFlight']).length === 0) return undefined;
      const gates = [
        { name: 'closed', value: 'False', startTime: '2026-01-01T00:00:00Z', message: '' },
      ];
      return { ...call, body: { ...bodyOf(call), status: { ...status, gates } } };
    }),
  },
  'frees the slot of a node without a verdict': {
    invariant: 'plans',
    warp: changing(call => {
      const status = isPlanStatus(call) ? part(bodyOf(call), 'status') : {};
      const kept = objects(status['inFlight']).filter(one => text(one, 'state') !== 'Releasing');
      if (kept.length === objects(status['inFlight']).length) return undefined;
      return { ...call, body: { ...bodyOf(call), status: { ...status, inFlight: kept } } };
    }),
  },
  'begins with one more node of a plan than may be out': {
    invariant: 'plans',
    warp: changing((call, world) => {
      const status = isPlanStatus(call) ? part(bodyOf(call), 'status') : {};
      const slots = objects(status['inFlight']);
      const [one] = slots;
      const stored = list(world, 'maintenanceplans.drydock.dev').find(({ metadata }) =>
        call.path.includes(`/${metadata.name}/`),
      );
      if (
        one === undefined ||
        slots.length > objects(at(stored ?? {}, 'status', 'inFlight')).length
      )
        return undefined;
      const other = list(world, 'nodes').find(
        ({ metadata, spec }) =>
          metadata.name !== 'n0' &&
          !(spec as JsonObject)['unschedulable'] &&
          !slots.some(slot => text(slot, 'node') === metadata.name),
      );
      if (other === undefined) return undefined;
      const more = {
        ...one,
        node: other.metadata.name,
        nodeUID: other.metadata.uid,
        startTime: '2026-01-01T00:00:00Z',
      };
      return {
        ...call,
        body: { ...bodyOf(call), status: { ...status, inFlight: [...slots, more] } },
      };
    }),
  },
  'deletes the pod of a plan in the middle of its work': {
    invariant: 'plans',
    warp: adding(isPlanStatus, (call, world) => {
      const [one] = objects(at(bodyOf(call), 'status', 'inFlight')).filter(
        each => text(each, 'podUID') !== '',
      );
      const pod = list(world, 'pods').find(
        ({ metadata }) => metadata.uid === text(one ?? {}, 'podUID'),
      );
      if (pod === undefined || text(one ?? {}, 'state') !== 'Working') return undefined;
      const { namespace = '', name, uid } = pod.metadata;
      return {
        method: 'DELETE',
        path: `/api/v1/namespaces/${namespace}/pods/${name}`,
        body: { preconditions: { uid } },
      };
    }),
  },
  'deletes the machine of another cluster': {
    invariant: 'machines',
    says: /of another cluster/,
    warp: adding(
      ({ method, path }) => method === 'POST' && path.endsWith('/machinemaintenances'),
      (_call, world) => {
        const [group = ''] = machineApiOf(world).split('/');
        const other = list(world, `machines.${group}`).find(
          ({ metadata }) => metadata.namespace === 'customer',
        );
        return (
          other && {
            ...deletionOfMachine(world, ''),
            path: `/apis/${machineApiOf(world)}/namespaces/customer/machines/${other.metadata.name}`,
          }
        );
      },
    ),
  },
  'begins a pod of a plan while all plans are halted': {
    invariant: 'plans',
    says: /while all plans are halted/,
    warp: adding(
      ({ method }) => method === 'PATCH' || method === 'GET',
      (_call, world) => {
        const halted = list(world, 'leases.coordination.k8s.io').some(
          ({ metadata }) => metadata.annotations?.[haltAnnotation] !== undefined,
        );
        return halted ? workPod('halted-hook-1') : undefined;
      },
    ),
  },
  'works on a node that has not been drained': {
    invariant: 'plans',
    says: /has not been drained/,
    warp: adding(isPlanStatus, call => {
      const held = objects(part(bodyOf(call), 'status')['inFlight']).find(
        slot => text(slot, 'state') === 'Holding',
      );
      return held && workPod('hasty-1', text(held, 'node'));
    }),
  },
  'begins with a later stage before the first': {
    invariant: 'plans',
    says: /of stage later, and nothing of first is done/,
    warp: changing(call => {
      const status = isPlanStatus(call) ? part(bodyOf(call), 'status') : {};
      const slots = objects(status['inFlight']).map(slot => ({ ...slot, stage: 'later' }));
      return slots.length === 0
        ? undefined
        : { ...call, body: { ...bodyOf(call), status: { ...status, inFlight: slots } } };
    }),
  },
  'asks VMs to move again and again': {
    invariant: 'VMs',
    warp: adding(
      call => call.method === 'PATCH' && call.path.includes('maintenances/'),
      (_call, world) => {
        const vmi = list(world, 'virtualmachineinstances.kubevirt.io').find(
          one => text(one, 'status', 'evacuationNodeName') !== '',
        );
        return (
          vmi &&
          podOn(
            world,
            text(vmi, 'status', 'nodeName'),
            pod => pod.metadata.annotations?.['kubevirt.io/domain'] === vmi.metadata.name,
          )
        );
      },
    ),
  },
} as const satisfies Readonly<
  Record<string, { readonly invariant: string; readonly says?: RegExp; readonly warp: Warp }>
>;

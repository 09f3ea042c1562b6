import assert from 'node:assert/strict';
import type { Api } from '../control-plane/objects/api.ts';
import { getNode, nodePath, podsOn, podsReady } from '../control-plane/objects/cluster.ts';
import type { Metadata, Node } from '../control-plane/objects/objects.ts';
import { waitFor } from '../control-plane/wait.ts';
import type { Keeper } from './keeper.ts';
import type { Blow } from './proxy.ts';

/** A served kind, and how it says that the node is drained. */
export type Kind = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly path: string;
  readonly drained: string;
};

export const kinds: readonly Kind[] = [
  {
    apiVersion: 'drydock.dev/v1alpha1',
    kind: 'Maintenance',
    path: '/apis/drydock.dev/v1alpha1/maintenances',
    drained: 'Drained',
  },
  {
    apiVersion: 'nodemaintenance.medik8s.io/v1beta1',
    kind: 'NodeMaintenance',
    path: '/apis/nodemaintenance.medik8s.io/v1beta1/nodemaintenances',
    drained: 'Succeeded',
  },
];

export type Plan = {
  readonly kind: Kind;
  readonly namespace: string;
  /** Has all the pods of the namespace, so many. */
  readonly from: string;
  readonly pods: number;
  /** The node is cordoned, tainted and labelled by others before. */
  readonly touched: boolean;
  readonly blows: Readonly<Record<Phase, Blow | undefined>>;
};

/** While the node is taken, and while it is released. */
export type Phase = 'hold' | 'release';

/** Where the blows fell, what was written, and when the life began and ended. */
export type Lived = {
  readonly struck: Readonly<Record<Phase, string | undefined>>;
  readonly writes: Readonly<Record<Phase, readonly string[]>>;
  readonly from: number;
  readonly until: number;
};

type Maintenance = { readonly metadata: Metadata; readonly status?: { readonly phase?: string } };

const ownLabel = 'remediation.medik8s.io/exclude-from-remediation';
const reserved = { key: 'example.test/reserved', value: 'yes', effect: 'NoSchedule' };
const ours = ['DrainInProgress', 'Drained', 'MaintenancePlanned', 'MaintenanceInProgress'];

/** All of a node that is not to be different afterwards. */
function likenessOf({ metadata, spec, status }: Node): object {
  return {
    labels: metadata.labels,
    annotations: metadata.annotations,
    spec,
    conditions: (status.conditions ?? []).map(({ type }) => type).sort(),
  };
}

function says({ status }: Node, type: string): boolean {
  return (
    status.conditions?.some(condition => condition.type === type && condition.status === 'True') ===
    true
  );
}

/**
 * Somebody else's marks, or none; the controller manager adds and removes the taint of the cordon
 * by itself.
 */
async function prepare(api: Api, name: string, touched: boolean): Promise<Node> {
  await api.patch(nodePath(name), {
    metadata: {
      labels: { 'example.test/team': touched ? 'blue' : null, [ownLabel]: touched ? 'no' : null },
    },
    spec: { unschedulable: touched ? true : null },
  });
  const cordonSeen = async (): Promise<{ done: Node } | { yet: string }> => {
    const node = await getNode(api, name);
    const tainted =
      node.spec.taints?.some(({ key }) => key === 'node.kubernetes.io/unschedulable') === true;
    return tainted === touched ? { done: node } : { yet: JSON.stringify(node.spec) };
  };
  const { spec } = await waitFor('the controller manager to have seen the cordon', cordonSeen, {
    everyMs: 10,
  });
  const others = (spec.taints ?? []).filter(({ key }) => key !== reserved.key);
  return api.patch(nodePath(name), { spec: { taints: touched ? [reserved, ...others] : others } });
}

async function drained(
  api: Api,
  { kind, from }: Plan,
  object: string,
): Promise<{ done: undefined } | { yet: string }> {
  const { status } = await api.get<Maintenance>(object);
  const node = await getNode(api, from);
  // The word on the node is written at the same time as that of the object.
  if (status?.phase === kind.drained && says(node, 'Drained')) return { done: undefined };
  return {
    yet: JSON.stringify({
      status,
      conditions: node.status.conditions?.filter(({ type }) => ours.includes(type)),
    }),
  };
}

async function isGone(api: Api, path: string): Promise<boolean> {
  return (await api.call('GET', path)).status === 404;
}

/**
 * Nothing is waited for here: the object is the last thing to go, so all else has to be in order by
 * now.
 */
async function assertReleased(api: Api, plan: Plan, before: Node): Promise<void> {
  const lease = `/apis/coordination.k8s.io/v1/namespaces/medik8s-leases/leases/node-${plan.from}`;
  assert.ok(await isGone(api, lease), 'the lease is gone');
  assert.deepEqual(
    likenessOf(await getNode(api, plan.from)),
    likenessOf(before),
    'the node is as it was',
  );
  assert.deepEqual(
    (await podsOn(api, plan.from)).map(({ metadata }) => metadata.name),
    [],
    'the pods are elsewhere',
  );
}

/**
 * One maintenance from its creation to its end, with a blow, if it is reached, while the node is
 * taken and one while it is released.
 */
export async function live(api: Api, keeper: Keeper, plan: Plan): Promise<Lived> {
  const { kind, from: node, blows } = plan;
  const object = `${kind.path}/${node}`;
  const before = await prepare(api, node, plan.touched);
  const begun = Date.now();
  keeper.arm(blows.hold);
  await api.post(kind.path, {
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: { name: node },
    spec: { nodeName: node },
  });
  await waitFor(`${object} to be drained`, () => drained(api, plan, object), {
    deadlineMs: 20_000,
    everyMs: 15,
  });
  await keeper.settled();
  const taken = { struck: keeper.struck, writes: keeper.writes };
  assert.deepEqual(
    (await podsOn(api, node)).map(({ metadata }) => metadata.name),
    [],
    'a drained node has no pods',
  );
  keeper.arm(blows.release);
  await api.delete(object);
  const gone = async (): Promise<{ done: undefined } | { yet: string }> => {
    const { status, body } = await api.call('GET', object);
    return status === 404 ? { done: undefined } : { yet: JSON.stringify(body) };
  };
  await waitFor(`${object} to be gone`, gone, { deadlineMs: 20_000, everyMs: 15 });
  await keeper.settled();
  const given = { struck: keeper.struck, writes: keeper.writes };
  await assertReleased(api, plan, before);
  keeper.arm(undefined);
  await podsReady(api, plan.namespace, plan.pods, { everyMs: 15 });
  const ended = Date.now();
  await prepare(api, node, false);
  return {
    struck: { hold: taken.struck, release: given.struck },
    writes: { hold: taken.writes, release: given.writes },
    from: begun,
    until: ended,
  };
}

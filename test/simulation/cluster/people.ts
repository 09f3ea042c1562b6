import type { JsonObject } from '@drydock/apimachinery';
import { at, objects, part, type Stored, text, without } from '@drydock/kube-sim';
import { machineGroups } from '@drydock/kube-sim/machines';
import { haltAnnotation } from '@drydock/operator/plans';
import { makeOdd, removeOdd } from '../odd/odd-deed.ts';
import { Dice } from '../story/dice.ts';
import { leftLabel } from '../story/plans.ts';
import { type DeedKind, maintenanceResources, type Story } from '../story/story.ts';
import { leaseNamespace, operatorNamespace } from './namespaces.ts';
import type { SimClock } from './sim-clock.ts';
import { nodeDraft, readyCondition, type SimulatedCluster } from './simulated-cluster.ts';

/** What people do: to nodes, maintenances, pods and leases, and always at the wrong time. */

export type Doing = {
  readonly stage: SimulatedCluster;
  readonly story: Story;
  readonly clock: SimClock;
  readonly dice: Dice;
};

const label = 'remediation.medik8s.io/exclude-from-remediation';
const parent = 'drydock.dev/machine-maintenance';
const ours = [
  'drydock.dev/drain',
  'medik8s.io/drain',
  'kubevirt.io/drain',
  'node.kubernetes.io/unschedulable',
];

function listOf({ stage }: Doing, resource: string): readonly Stored[] {
  return stage.cluster.registry.store.list(resource);
}

function oneOf({ dice }: Doing, all: readonly Stored[]): Stored | undefined {
  return all[Math.floor(dice.share() * all.length)];
}

/** Never the haven. */
function nodesOf(doing: Doing): readonly Stored[] {
  return listOf(doing, 'nodes').filter(({ metadata }) => metadata.name !== 'n0');
}

function allMaintenances(
  doing: Doing,
): readonly { readonly resource: string; readonly object: Stored }[] {
  return Object.values(maintenanceResources).flatMap(resource =>
    listOf(doing, resource).map(object => ({ resource, object })),
  );
}

function changeNode(
  doing: Doing,
  node: Stored | undefined,
  change: (node: Stored) => JsonObject,
): void {
  if (node !== undefined) doing.stage.writes.update('nodes', { ...node, ...change(node) });
}

function taintsOf(node: Stored): readonly JsonObject[] {
  return objects(at(node, 'spec', 'taints'));
}

function setReady(doing: Doing, name: string, status: 'True' | 'Unknown'): void {
  const node = doing.stage.cluster.registry.store.get('nodes', '', name);
  if (node === undefined) return;
  const others = objects(at(node, 'status', 'conditions')).filter(one => one['type'] !== 'Ready');
  const conditions = [...others, readyCondition(status, doing.clock.now().toString())];
  doing.stage.writes.update(
    'nodes',
    { ...node, status: { ...part(node, 'status'), conditions } },
    'status',
  );
}

/** It is silent for a while. */
function nodeDies(doing: Doing): void {
  const name = oneOf(doing, nodesOf(doing))?.metadata.name;
  if (name === undefined) return;
  doing.stage.silent.add(name);
  setReady(doing, name, 'Unknown');
  doing.clock.after(doing.dice.whole(5, 400) * 1000, () => revive(doing, name));
}

function revive(doing: Doing, name: string): void {
  if (!doing.stage.silent.delete(name)) return;
  setReady(doing, name, 'True');
}

function rejoin(doing: Doing, name: string): void {
  const plan = doing.story.nodes.find(one => one.name === name);
  if (
    plan !== undefined &&
    doing.stage.cluster.registry.store.get('nodes', '', name) === undefined
  ) {
    doing.stage.make('nodes', nodeDraft(plan, doing.clock.now().toString()));
  }
}

/** A node object that is deleted by hand; its kubelet makes it anew after some time. */
function deleteNode(doing: Doing): void {
  const name = oneOf(
    doing,
    nodesOf(doing).filter(one => doing.story.nodes.some(plan => plan.name === one.metadata.name)),
  )?.metadata.name;
  if (name === undefined) return;
  doing.stage.writes.remove('nodes', '', name);
  doing.clock.after(doing.dice.whole(1, 300) * 1000, () => rejoin(doing, name));
}

const leases = 'leases.coordination.k8s.io';

function leasesOf(doing: Doing): readonly Stored[] {
  return listOf(doing, leases).filter(({ metadata }) =>
    [leaseNamespace, operatorNamespace].includes(metadata.namespace ?? ''),
  );
}

function stealLease(doing: Doing): void {
  const now = doing.clock.now().toString();
  const spec = {
    holderIdentity: 'somebody-else',
    leaseDurationSeconds: 3600,
    acquireTime: now,
    renewTime: now,
  };
  const node = oneOf(doing, nodesOf(doing));
  const found = oneOf(doing, leasesOf(doing));
  if (found !== undefined && doing.dice.is(60))
    doing.stage.writes.update(leases, { ...found, spec });
  else if (node !== undefined)
    doing.stage.make(leases, {
      metadata: { name: `node-${node.metadata.name}`, namespace: leaseNamespace },
      spec,
    });
}

/**
 * Without those that belong to a machine: they are its machine's business, and nothing would ever
 * set them right again.
 */
function ownMaintenances(doing: Doing): readonly Stored[] {
  return listOf(doing, maintenanceResources.Maintenance).filter(
    one => one.metadata.annotations?.[parent] === undefined,
  );
}

function changePolicy(doing: Doing): void {
  const found = oneOf(doing, ownMaintenances(doing));
  if (found === undefined) return;
  const { dice } = doing;
  const drain = {
    ...part(found, 'spec', 'drain'),
    force: dice.is(50),
    deleteEmptyDirData: dice.is(50),
    ignorePods: dice.is(50) ? [] : [{ ownerKinds: ['StatefulSet'] }],
  };
  doing.stage.writes.update(maintenanceResources.Maintenance, {
    ...found,
    spec: { ...part(found, 'spec'), drain },
  });
}

function changeBudget(doing: Doing): void {
  const found = oneOf(doing, listOf(doing, 'poddisruptionbudgets.policy'));
  if (found === undefined) return;
  const spec = without(
    { ...part(found, 'spec'), minAvailable: doing.dice.whole(0, 3) },
    'maxUnavailable',
  );
  doing.stage.writes.update('poddisruptionbudgets.policy', { ...found, spec });
}

function scale(doing: Doing): void {
  const found = oneOf(doing, listOf(doing, 'deployments.apps'));
  if (found !== undefined)
    doing.stage.writes.update('deployments.apps', {
      ...found,
      spec: { ...part(found, 'spec'), replicas: doing.dice.whole(0, 7) },
    });
}

/** A finalizer taken off by hand: the object is gone, and nobody was asked. */
function force(doing: Doing): void {
  const { resource, object } =
    allMaintenances(doing)[Math.floor(doing.dice.share() * allMaintenances(doing).length)] ?? {};
  if (resource === undefined || object === undefined) return;
  const { namespace = '', name } = object.metadata;
  doing.stage.writes.remove(resource, namespace, name);
  const left = doing.stage.cluster.registry.store.get(resource, namespace, name);
  if (left !== undefined)
    doing.stage.writes.update(resource, {
      ...left,
      metadata: { ...left.metadata, finalizers: [] },
    });
}

function removeTaint(doing: Doing): void {
  changeNode(
    doing,
    oneOf(
      doing,
      nodesOf(doing).filter(one => taintsOf(one).length > 0),
    ),
    node => {
      const key = doing.dice.of(ours as [string, ...string[]]);
      return {
        spec: {
          ...part(node, 'spec'),
          taints: taintsOf(node).filter(taint => taint['key'] !== key),
        },
      };
    },
  );
}

function removeLabel(doing: Doing): void {
  changeNode(doing, oneOf(doing, nodesOf(doing)), ({ metadata }) => ({
    metadata: {
      ...metadata,
      labels: without(metadata.labels ?? {}, label) as Record<string, string>,
    },
  }));
}

function remove(doing: Doing, resource: string, object: Stored | undefined): void {
  if (object !== undefined)
    doing.stage.writes.remove(resource, object.metadata.namespace ?? '', object.metadata.name);
}

const daemonSets = 'daemonsets.apps';

/** Somebody installs an agent, whose pods come to every node at once, or takes one away. */
function changeDaemonSet(doing: Doing): void {
  const { dice, stage } = doing;
  const agents = listOf(doing, daemonSets).filter(
    ({ metadata }) => metadata.labels?.['agent'] !== undefined,
  );
  if (agents.length > 0 && dice.is(40)) return remove(doing, daemonSets, oneOf(doing, agents));
  const name = `agent-${dice.whole(0, 1e6)}`;
  const labels = { agent: name };
  const spec = {
    containers: [{ name: 'main', image: 'example.test/none:1' }],
    tolerations: [{ operator: 'Exists' }],
  };
  const template = { metadata: { labels }, spec };
  stage.make(daemonSets, {
    metadata: { name, namespace: 'shop', labels },
    spec: { selector: { matchLabels: labels }, template },
  });
}

/**
 * The cluster of a customer is managed here as well, and one of its nodes is called what a node of
 * ours is called.
 */
function makeMachineOfOthers(doing: Doing): void {
  const { dice, stage, story } = doing;
  if (story.machines === undefined) return;
  const ours = nodesOf(doing);
  const ownMachines = ours.filter(node => text(node, 'spec', 'providerID') !== '');
  const name = oneOf(doing, ownMachines.length > 0 ? ownMachines : ours)?.metadata.name;
  if (name === undefined) return;
  const resource = `machines.${machineGroups[story.machines.flavour].group}`;
  const id = dice.whole(0, 1e6);
  const made = stage.make(resource, {
    metadata: { name: `db-${id}`, namespace: 'customer' },
    spec: { providerID: dice.of([`vsphere://${id}`, `aws:///south/i-${id}`]) },
  });
  if (made !== undefined)
    stage.writes.update(
      resource,
      { ...made, status: { phase: 'Running', nodeRef: { kind: 'Node', name } } },
      'status',
    );
}

const leaderLease = { namespace: operatorNamespace, name: 'drydock' };

function setHalt({ stage }: Doing, reason: string | undefined): void {
  const found = stage.cluster.registry.store.get(leases, leaderLease.namespace, leaderLease.name);
  const annotations = {
    ...without(found?.metadata.annotations ?? {}, haltAnnotation),
    ...(reason && { [haltAnnotation]: reason }),
  };
  if (found !== undefined)
    stage.writes.update(leases, { ...found, metadata: { ...found.metadata, annotations } });
  else if (reason !== undefined)
    stage.make(leases, { metadata: { ...leaderLease, annotations }, spec: {} });
}

/** Somebody stops all plans, for a while. */
function halt(doing: Doing): void {
  setHalt(doing, 'something is wrong');
  doing.clock.after(doing.dice.whole(60, 600) * 1000, () => setHalt(doing, undefined));
}

/** A node leaves the nodes of all plans, and comes back later. */
function relabel(doing: Doing): void {
  const name = oneOf(doing, nodesOf(doing))?.metadata.name;
  const set = (isLeft: boolean): void => {
    const node =
      name === undefined ? undefined : doing.stage.cluster.registry.store.get('nodes', '', name);
    changeNode(doing, node, ({ metadata }) => {
      const { [leftLabel]: _left, ...labels } = metadata.labels ?? {};
      return {
        metadata: { ...metadata, labels: isLeft ? { ...labels, [leftLabel]: '' } : labels },
      };
    });
  };
  set(true);
  doing.clock.after(doing.dice.whole(5, 300) * 1000, () => set(false));
}

const deeds: Readonly<Record<DeedKind, (doing: Doing) => void>> = {
  uncordon: doing =>
    changeNode(doing, oneOf(doing, nodesOf(doing)), node => ({
      spec: without(part(node, 'spec'), 'unschedulable'),
    })),
  cordon: doing =>
    changeNode(doing, oneOf(doing, nodesOf(doing)), node => ({
      spec: { ...part(node, 'spec'), unschedulable: true },
    })),
  removeTaint,
  removeLabel,
  foreignTaint: doing =>
    changeNode(doing, oneOf(doing, nodesOf(doing)), node => ({
      spec: {
        ...part(node, 'spec'),
        taints: [
          ...taintsOf(node),
          { key: `people/${doing.dice.whole(0, 1e6)}`, effect: 'PreferNoSchedule' },
        ],
      },
    })),
  foreignLabel: doing =>
    changeNode(doing, oneOf(doing, nodesOf(doing)), ({ metadata }) => ({
      metadata: {
        ...metadata,
        labels: { ...metadata.labels, [`people/${doing.dice.whole(0, 1e6)}`]: 'x' },
      },
    })),
  deleteMaintenance: doing => {
    const all = allMaintenances(doing);
    const found = all[Math.floor(doing.dice.share() * all.length)];
    if (found !== undefined) remove(doing, found.resource, found.object);
  },
  deletePod: doing => remove(doing, 'pods', oneOf(doing, listOf(doing, 'pods'))),
  deleteLease: doing => remove(doing, leases, oneOf(doing, leasesOf(doing))),
  stealLease,
  deleteNode,
  nodeDies,
  force,
  changePolicy,
  changeStage: doing => {
    const found = oneOf(doing, ownMaintenances(doing));
    const stage = doing.dice.of(['Announce', 'Cordon', 'Drain']);
    if (found !== undefined)
      doing.stage.writes.update(maintenanceResources.Maintenance, {
        ...found,
        spec: { ...part(found, 'spec'), stage },
      });
  },
  changeBudget,
  scale,
  compact: ({ stage }) => stage.cluster.registry.store.compact(),
  daemonSet: changeDaemonSet,
  machineOfOthers: makeMachineOfOthers,
  halt,
  relabel,
  odd: ({ stage, dice }) => makeOdd(stage, dice.whole(0, 2 ** 31 - 1)),
};

/** Does it. Which of several is meant is drawn from `pick`. */
export function act(kind: DeedKind, pick: number, doing: Omit<Doing, 'dice'>): void {
  deeds[kind]({ ...doing, dice: new Dice(Math.floor(pick * 2 ** 31)) });
}

function hinders({ metadata }: Stored, template: JsonObject): boolean {
  const said = {
    ...metadata.annotations,
    ...(part(template, 'metadata', 'annotations') as Record<string, string>),
  };
  return (
    said['drydock.test/migration'] !== undefined || said['drydock.test/migratable'] !== undefined
  );
}

/** Of VMs those that nothing would ever move. */
function removeStrandedVms(doing: Doing): void {
  for (const vm of listOf(doing, 'virtualmachines.kubevirt.io')) {
    const isExternal = text(vm, 'spec', 'template', 'spec', 'evictionStrategy') === 'External';
    if (!isExternal && !hinders(vm, part(vm, 'spec', 'template'))) continue;
    remove(doing, 'virtualmachines.kubevirt.io', vm);
    remove(
      doing,
      'virtualmachineinstances.kubevirt.io',
      doing.stage.cluster.registry.store.get(
        'virtualmachineinstances.kubevirt.io',
        'shop',
        vm.metadata.name,
      ),
    );
  }
}

function relax(doing: Doing): void {
  for (const found of listOf(doing, maintenanceResources.Maintenance)) {
    if (found.metadata.annotations?.[parent] !== undefined) continue;
    const virtualMachines = { notMigratable: 'Wait', notMigrated: 'Evict' };
    const more = {
      force: true,
      deleteEmptyDirData: true,
      ignoreDaemonSets: true,
      awaitPods: [],
      virtualMachines,
    };
    const drain = { ...part(found, 'spec', 'drain'), ...more };
    doing.stage.writes.update(maintenanceResources.Maintenance, {
      ...found,
      spec: { ...part(found, 'spec'), drain },
    });
  }
}

/**
 * Everything that would keep a maintenance from its end for ever is taken away, as people do in the
 * end.
 */
export function help(given: Omit<Doing, 'dice'>): void {
  const doing = { ...given, dice: new Dice(1) };
  const { stage, story } = doing;
  for (const name of Array.from(stage.silent)) revive(doing, name);
  for (const { name } of story.nodes) rejoin(doing, name);
  for (const budget of listOf(doing, 'poddisruptionbudgets.policy')) {
    const plan = story.budgets.find(
      one => one.name === budget.metadata.name && one.namespace === budget.metadata.namespace,
    );
    if (plan?.never === true || at(budget, 'spec', 'minAvailable') !== undefined)
      remove(doing, 'poddisruptionbudgets.policy', budget);
  }
  for (const lease of leasesOf(doing))
    if (text(lease, 'spec', 'holderIdentity') === 'somebody-else') remove(doing, leases, lease);
  for (const window of listOf(doing, 'maintenancewindows.drydock.dev'))
    remove(doing, 'maintenancewindows.drydock.dev', window);
  setHalt(doing, undefined);
  removeStrandedVms(doing);
  relax(doing);
  removeOdd(stage);
  stage.responders?.mend();
}

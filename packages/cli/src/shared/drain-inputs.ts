import { isMissing, pathSegment } from '@drydock/apimachinery';
import { type Budget, readBudget } from '@drydock/core/drain';
import type { DrainInputs } from '@drydock/core/maintenance';
import { type Node, readNode } from '@drydock/core/node';
import { findsNoNode, onNoNode, type Pod, readPod } from '@drydock/core/pod';
import type { NodeVms } from '@drydock/core/vm';
import {
  defaultSettings,
  type KubeVirtState,
  migrationLoadOf,
  migrationsPath,
  nodeVmsFor,
  ownersOf,
  readMigration,
  readSettings,
  readTarget,
  readVmi,
  settingsPath,
  unplacedTargets,
  vmisPath,
} from '@drydock/core/vm';
import type { Api, Connection } from '@drydock/kube-client';
import { listAll } from '@drydock/kube-client';
import { nodePath } from './nodes.ts';
import { refusedError } from './requests.ts';

/** Inputs of a node's drain, with the time at which they were read. */
export type DrainInputsNow = DrainInputs & { readonly now: Temporal.Instant };

function nameOf(raw: unknown): string {
  const { metadata } = raw as {
    readonly metadata: { readonly namespace: string; readonly name: string };
  };
  return `${metadata.namespace}/${metadata.name}`;
}

/**
 * Returns the VMs of the node, where it has any. Users who may not read VMs see only their pods.
 */
async function vmsOf(
  api: Api,
  nodeName: string,
  pods: readonly Pod[],
): Promise<NodeVms | undefined> {
  if (!pods.some(({ owner }) => owner?.kind === 'VirtualMachineInstance')) return undefined;
  const { status } = await api.call({ method: 'GET', path: vmisPath, query: { limit: 1 } });
  if (status === 403 || status === 404) return undefined;
  const [vmis, migrations, settings] = await Promise.all(
    [vmisPath, migrationsPath, settingsPath].map(path => listAll(api, path)),
  );
  const [set = defaultSettings] = (settings ?? []).map(readSettings);
  const unplaced = (await listAll(api, '/api/v1/pods', unplacedTargets)).map(readTarget);
  const all: KubeVirtState = {
    settings: set,
    vmis: (vmis ?? []).map(readVmi),
    migrations: (migrations ?? []).map(readMigration),
    unplaced,
  };
  const owners = ownersOf(pods);
  const here = all.vmis.filter(
    vmi => vmi.nodeName === nodeName || vmi.evacuatedFrom === nodeName || owners.has(vmi.uid),
  );
  const keys = new Set(here.map(({ key }) => key));
  return nodeVmsFor(
    { ...all, vmis: here, migrations: all.migrations.filter(({ vmi }) => keys.has(vmi)) },
    migrationLoadOf(all),
  );
}

/** Returns unscheduled pods of the namespaces whose budgets allow no eviction. */
async function unscheduledOf(
  api: Api & Pick<Connection, 'clock'>,
  budgets: readonly Budget[],
): Promise<NonNullable<DrainInputs['unscheduled']>> {
  const namespaces = new Set(
    budgets
      .filter(({ disruptionsAllowed }) => disruptionsAllowed <= 0)
      .map(({ namespace }) => namespace),
  );
  const readAt = api.clock.now();
  const read = async (namespace: string) => {
    const pods = await listAll(api, `/api/v1/namespaces/${pathSegment(namespace)}/pods`, onNoNode);
    return [namespace, { readAt, pods: pods.map(readPod).filter(findsNoNode) }] as const;
  };
  return new Map(await Promise.all([...namespaces].map(read)));
}

/**
 * Returns the node; undefined where it does not exist. Throws an error with the reason when it
 * cannot be read.
 */
async function nodeAt(api: Api, nodeName: string): Promise<Node | undefined> {
  const found = await api.call({ method: 'GET', path: nodePath(nodeName) });
  if (isMissing(nodeName, found)) return undefined;
  if (found.status !== 200) throw refusedError(found);
  return readNode(found.body);
}

/**
 * Reads a node, its pods, the budgets of their namespaces, the DaemonSets and VMs, and the API
 * server's time: the inputs of the operator's drain decision. Throws an error that names what could
 * not be read.
 */
export async function drainInputsAt(
  api: Api & Pick<Connection, 'clock'>,
  nodeName: string,
): Promise<DrainInputsNow> {
  const node = await nodeAt(api, nodeName);
  const pods = (
    await listAll(api, '/api/v1/pods', { fieldSelector: `spec.nodeName=${nodeName}` })
  ).map(readPod);
  const namespaces = [...new Set(pods.map(({ namespace }) => namespace))];
  const budgets = await Promise.all(
    namespaces.map(namespace =>
      listAll(api, `/apis/policy/v1/namespaces/${pathSegment(namespace)}/poddisruptionbudgets`),
    ),
  );
  const unscheduled = await unscheduledOf(api, budgets.flat().map(readBudget));
  const daemonSets = await listAll(api, '/apis/apps/v1/daemonsets');
  const vms = await vmsOf(api, nodeName, pods);
  return {
    ...(node && { node }),
    pods,
    budgets: budgets.flat().map(readBudget),
    daemonSets: new Set(daemonSets.map(nameOf)),
    unscheduled,
    ...(vms && { vms }),
    now: api.clock.now(),
  };
}

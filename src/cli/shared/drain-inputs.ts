import { readBudget } from '../../core/drain/budgets/budget.ts';
import type { DrainInputs } from '../../core/maintenance/drain-inputs.ts';
import { type Pod, readPod } from '../../core/pod/pod.ts';
import { type ClusterVms, knownFor, ownersOf, trafficOf } from '../../core/vm/known.ts';
import { defaultSettings, migrationsPath, readMigration, readSettings, readVmi, settingsPath, vmisPath } from '../../core/vm/kubevirt.ts';
import type { VmsKnown } from '../../core/vm/vm-pod.ts';
import { listAll } from '../../operator/list.ts';
import type { Api } from '../../operator/ports.ts';

const nameOf = (raw: unknown): string => {
  const { metadata } = raw as { readonly metadata: { readonly namespace: string; readonly name: string } };
  return `${metadata.namespace}/${metadata.name}`;
};

/** The VMs of the node, where it has any. Whoever may not read them is told of their pods only. */
const vmsOf = async (api: Api, nodeName: string, pods: readonly Pod[]): Promise<VmsKnown | undefined> => {
  if (!pods.some(({ owner }) => owner?.kind === 'VirtualMachineInstance')) return undefined;
  const { status } = await api.call({ method: 'GET', path: vmisPath, query: { limit: 1 } });
  if (status === 403 || status === 404) return undefined;
  const [vmis, migrations, settings] = await Promise.all([vmisPath, migrationsPath, settingsPath].map(path => listAll(api, path)));
  const [set = defaultSettings] = (settings ?? []).map(readSettings);
  const all: ClusterVms = { settings: set, vmis: (vmis ?? []).map(readVmi), migrations: (migrations ?? []).map(readMigration) };
  const owners = ownersOf(pods);
  const here = all.vmis.filter(vmi => vmi.nodeName === nodeName || vmi.evacuatedFrom === nodeName || owners.has(vmi.uid));
  const keys = new Set(here.map(({ key }) => key));
  return knownFor({ ...all, vmis: here, migrations: all.migrations.filter(({ vmi }) => keys.has(vmi)) }, trafficOf(all));
};

/** Reads the pods of a node, the budgets of their namespaces, the DaemonSets and VMs. Throws an error that says what could not be read. */
export const drainInputsAt = async (api: Api, nodeName: string): Promise<DrainInputs> => {
  const pods = (await listAll(api, '/api/v1/pods', { fieldSelector: `spec.nodeName=${nodeName}` })).map(readPod);
  const namespaces = [...new Set(pods.map(({ namespace }) => namespace))];
  const budgets = await Promise.all(
    namespaces.map(namespace => listAll(api, `/apis/policy/v1/namespaces/${encodeURIComponent(namespace)}/poddisruptionbudgets`)),
  );
  const daemonSets = await listAll(api, '/apis/apps/v1/daemonsets');
  const vms = await vmsOf(api, nodeName, pods);
  return { pods, budgets: budgets.flat().map(readBudget), daemonSets: new Set(daemonSets.map(nameOf)), ...(vms && { vms }) };
};

import type { Api, Reply } from '../control-plane/objects/api.ts';
import { collectionOf } from '../control-plane/objects/cluster.ts';
import type { List, Pod } from '../control-plane/objects/objects.ts';
import { waitFor } from '../control-plane/wait.ts';
import {
  type Configuration,
  cancelPath,
  instance,
  kubeVirtPath,
  pathOf,
  type Vmi,
  type Vmim,
  type VmOptions,
  virtualMachine,
} from './objects.ts';

/** VMs of a cluster that has KubeVirt, real or simulated. */
export interface Vms {
  /** Makes VMs that nobody starts again, and waits until they run. */
  makeInstances(...wanted: readonly VmOptions[]): Promise<readonly Vmi[]>;
  /** Makes VMs that are started again whenever they end, and waits until they run. */
  makeMachines(...wanted: readonly VmOptions[]): Promise<readonly Vmi[]>;
  instance(namespace: string, name: string): Promise<Vmi>;
  /** Of a namespace, the oldest first; of one VM, where it is named. */
  migrations(namespace: string, vmi?: string): Promise<readonly Vmim[]>;
  /** Launcher pods, whatever became of them. */
  launchers(namespace: string, vmi: string): Promise<readonly Pod[]>;
  /** The launcher pod in which the VM runs. */
  launcher(namespace: string, vmi: string): Promise<Pod>;
  /** Changes members of the CR's configuration; what was there and is not named stays. */
  configure(configuration: Configuration): Promise<void>;
  /** Calls off an evacuation, as the admin unless told otherwise. */
  cancel(namespace: string, name: string, body?: unknown, as?: Api): Promise<Reply>;
  /** Deletes all VMs and waits until nothing is left of them. */
  clear(): Promise<void>;
}

/** `wait` lets the cluster's time pass. */
type Place = { readonly api: Api; readonly wait: typeof waitFor };

function byAge(one: Vmim, other: Vmim): number {
  return one.metadata.creationTimestamp < other.metadata.creationTimestamp ? -1 : 1;
}

function look(api: Api): Pick<Vms, 'instance' | 'migrations' | 'launchers' | 'launcher'> {
  const instanceOf: Vms['instance'] = (namespace, name) =>
    api.get<Vmi>(pathOf('virtualmachineinstances', namespace, name));
  const launchers: Vms['launchers'] = async (namespace, vmi) => {
    const { items } = await api.get<List<Pod>>(
      `${collectionOf('v1', 'Pod', namespace)}?labelSelector=kubevirt.io%3Dvirt-launcher`,
    );
    return items.filter(({ metadata }) => metadata.annotations?.['kubevirt.io/domain'] === vmi);
  };
  return {
    instance: instanceOf,
    launchers,
    migrations: async (namespace, vmi) => {
      const { items } = await api.get<List<Vmim>>(
        pathOf('virtualmachineinstancemigrations', namespace),
      );
      return items.filter(({ spec }) => vmi === undefined || spec.vmiName === vmi).sort(byAge);
    },
    launcher: async (namespace, vmi) => {
      const { status } = await instanceOf(namespace, vmi);
      const all = await launchers(namespace, vmi);
      const found = all.find(
        ({ spec, status: { phase } }) => spec.nodeName === status?.nodeName && phase === 'Running',
      );
      if (found === undefined)
        throw new Error(`no launcher pod of ${vmi} runs on ${status?.nodeName ?? 'any node'}`);
      return found;
    },
  };
}

function untilRunning({ api, wait }: Place, namespace: string, name: string): Promise<Vmi> {
  return wait(
    `VM ${namespace}/${name} to run`,
    async () => {
      const vmi = await api.get<Vmi>(pathOf('virtualmachineinstances', namespace, name));
      const conditions = vmi.status?.conditions ?? [];
      const isReady = conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
      const isUp =
        vmi.status?.phase === 'Running' &&
        isReady &&
        conditions.some(({ type }) => type === 'LiveMigratable');
      return isUp
        ? { done: vmi }
        : { yet: JSON.stringify(vmi.status ?? 'no status').slice(0, 500) };
    },
    { deadlineMs: 60_000 },
  );
}

/** VMs first, then what they would be made from again. */
async function clearAll({ api, wait }: Place): Promise<void> {
  const all = async (resource: string): Promise<readonly Vmi[]> =>
    (await api.get<List<Vmi>>(`/apis/kubevirt.io/v1/${resource}`)).items;
  for (const resource of ['virtualmachines', 'virtualmachineinstances'] as const) {
    for (const { metadata } of await all(resource))
      await api.delete(pathOf(resource, metadata.namespace ?? '', metadata.name));
  }
  await wait(
    'all VMs to be gone',
    async () => {
      const left = [
        ...(await all('virtualmachineinstances')),
        ...(await all('virtualmachineinstancemigrations')),
      ];
      const { items } = await api.get<List<Pod>>(
        '/api/v1/pods?labelSelector=kubevirt.io%3Dvirt-launcher',
      );
      // Launchers that have ended stay behind; without their VM nobody misses them.
      for (const { metadata } of items)
        await api.delete(`${collectionOf('v1', 'Pod', metadata.namespace)}/${metadata.name}`, {
          gracePeriodSeconds: 0,
        });
      const names = [...left, ...items].map(({ metadata }) => metadata.name);
      return names.length === 0 ? { done: undefined } : { yet: names.join(', ') };
    },
    { deadlineMs: 90_000, everyMs: 250 },
  );
}

/** Makes VMs and looks at them through the API alone. */
export function vmsOn(api: Api, wait: typeof waitFor = waitFor): Vms {
  const place = { api, wait };
  const make = async (
    resource: 'virtualmachines' | 'virtualmachineinstances',
    manifest: (options: VmOptions) => object,
    wanted: readonly VmOptions[],
  ): Promise<readonly Vmi[]> => {
    for (const one of wanted)
      await api.post(pathOf(resource, one.namespace ?? 'default'), manifest(one));
    return Promise.all(
      wanted.map(one => untilRunning(place, one.namespace ?? 'default', one.name)),
    );
  };
  return {
    ...look(api),
    makeInstances: (...wanted) => make('virtualmachineinstances', instance, wanted),
    makeMachines: (...wanted) => make('virtualmachines', virtualMachine, wanted),
    configure: async configuration =>
      void (await api.patch(kubeVirtPath, { spec: { configuration } })),
    cancel: (namespace, name, body, as = api) =>
      as.call('PUT', cancelPath(namespace, name), body, 'application/json', '*/*'),
    clear: () => clearAll(place),
  };
}

import type { Api } from '../../control-plane/objects/api.ts';
import type { List, Metadata } from '../../control-plane/objects/objects.ts';
import type { Ec2Emulator } from '../ec2/ec2.ts';
import { nodeTag } from '../fake-kubelets.ts';
import { type Repeated, repeat } from '../repeat.ts';
import { infrastructure, labels } from './manifests.ts';

/**
 * A provider of infrastructure in the sense of Cluster API (contract v1beta2), as small as it can
 * be: a TestMachine is an instance.
 */

type Infra = {
  readonly metadata: Metadata;
  readonly spec?: { readonly instanceID?: string; readonly providerID?: string };
  readonly status?: { readonly initialization?: object };
};

const finalizer = `test.${infrastructure.group}`;

function provisioned(): object {
  return {
    initialization: { provisioned: true },
    conditions: [
      {
        type: 'Ready',
        status: 'True',
        reason: 'Ready',
        message: '',
        lastTransitionTime: new Date().toISOString(),
      },
    ],
  };
}

function pathOf(kind: 'testclusters' | 'testmachines', { metadata }: Infra): string {
  return `/apis/${infrastructure.apiVersion}/namespaces/${metadata.namespace ?? ''}/${kind}/${metadata.name}`;
}

async function attendCluster(api: Api, server: URL, cluster: Infra): Promise<void> {
  if (cluster.status?.initialization !== undefined) return;
  const path = pathOf('testclusters', cluster);
  await api.patch(path, {
    spec: { controlPlaneEndpoint: { host: server.hostname, port: Number(server.port) } },
  });
  await api.patch(`${path}/status`, { status: provisioned() });
}

/** One step a turn; the next turn sees what has come of it. */
async function attendMachine(api: Api, ec2: Ec2Emulator, machine: Infra): Promise<void> {
  const { metadata, spec = {} } = machine;
  const path = pathOf('testmachines', machine);
  const finalizers = metadata.finalizers ?? [];
  if (metadata.deletionTimestamp !== undefined) {
    if (!finalizers.includes(finalizer)) return;
    if (spec.instanceID !== undefined) await ec2.terminate(spec.instanceID);
    await api.patch(path, {
      metadata: { finalizers: finalizers.filter(name => name !== finalizer) },
    });
  } else if (metadata.ownerReferences?.some(({ kind }) => kind === 'Machine') !== true) {
    // The Machine controller has not taken it yet.
  } else if (spec.instanceID === undefined) {
    if (!finalizers.includes(finalizer))
      await api.patch(path, { metadata: { finalizers: [...finalizers, finalizer] } });
    const role = labels.controlPlane in (metadata.labels ?? {}) ? 'control-plane' : 'worker';
    const [instanceID] = await ec2.runInstances(1, { Name: metadata.name, [nodeTag]: role });
    await api.patch(path, { spec: { instanceID } });
  } else if (spec.providerID === undefined) {
    const instance = (await ec2.instances()).find(({ id }) => id === spec.instanceID);
    if (instance === undefined) throw new Error(`there is no instance ${spec.instanceID}`);
    await api.patch(path, { spec: { providerID: `aws:///${instance.zone}/${instance.id}` } });
    const addresses = [
      { type: 'InternalIP', address: instance.ip },
      { type: 'InternalDNS', address: instance.dns },
    ];
    await api.patch(`${path}/status`, {
      status: { ...provisioned(), failureDomain: instance.zone, addresses },
    });
  }
}

/**
 * Instances for the machines of a control plane. `server`: its own address, for its clusters are
 * managed from within.
 */
export function startInfrastructure(api: Api, server: string, ec2: Ec2Emulator): Repeated {
  const at = new URL(server);
  const list = async (kind: string): Promise<readonly Infra[]> =>
    (await api.get<List<Infra>>(`/apis/${infrastructure.apiVersion}/${kind}`)).items;
  return repeat('providing infrastructure', 100, async () => {
    for (const cluster of await list('testclusters')) await attendCluster(api, at, cluster);
    // One machine without capacity keeps no other one waiting.
    const turns = await Promise.allSettled(
      (await list('testmachines')).map(machine => attendMachine(api, ec2, machine)),
    );
    for (const turn of turns) if (turn.status === 'rejected') throw turn.reason;
  });
}

import type { Pod } from '../pod/pod.ts';
import {
  defaultSettings,
  type KubeVirtSettings,
  type UnplacedTarget,
  type Vmi,
  type VmMigration,
} from '../vm/kubevirt.ts';
import type { NodeVms } from '../vm/vm-pod.ts';
import { at, makePod } from './make.ts';

/** Small VMs for tests. */

const GiB = 2 ** 30;

/** One that runs on n1 and can be migrated. */
export function makeVmi(name: string, over: Partial<Vmi> = {}): Vmi {
  return {
    key: `vms/${name}`,
    namespace: 'vms',
    name,
    uid: `vmi-${name}`,
    resourceVersion: '50',
    phase: 'Running',
    deleting: false,
    nodeName: 'n1',
    strategy: 'LiveMigrate',
    migratable: true,
    memory: 2 * GiB,
    ...over,
  };
}

/** The pod that it runs in. */
export function launcherOf(vmi: Vmi, over: Partial<Pod> = {}): Pod {
  return makePod(`virt-launcher-${vmi.name}-x`, {
    namespace: vmi.namespace,
    labels: { 'kubevirt.io': 'virt-launcher' },
    owner: {
      kind: 'VirtualMachineInstance',
      name: vmi.name,
      uid: vmi.uid,
      apiVersion: 'kubevirt.io/v1',
    },
    localData: true,
    ...over,
  });
}

export function makeMigration(
  vmi: Vmi,
  phase: string,
  over: Partial<VmMigration> = {},
): VmMigration {
  return {
    key: `${vmi.namespace}/evacuation-${vmi.name}`,
    namespace: vmi.namespace,
    name: `evacuation-${vmi.name}`,
    uid: `vmim-${vmi.name}`,
    resourceVersion: '60',
    deleting: false,
    vmi: vmi.key,
    phase,
    createdAt: at(0),
    since: at(0),
    evacuates: 'n1',
    ...over,
  };
}

/** The target pods of these migrations, which have no node; made at 0. */
export function unplacedOf(
  migrations: readonly VmMigration[],
  over: Partial<UnplacedTarget> = {},
): ReadonlyMap<string, UnplacedTarget> {
  return new Map(
    migrations.map(({ uid, name }) => [
      uid,
      {
        key: `vms/${name}`,
        uid: `${uid}-pod`,
        resourceVersion: '1',
        migration: uid,
        createdAt: at(0),
        ...over,
      },
    ]),
  );
}

export function makeSettings(over: Partial<KubeVirtSettings> = {}): KubeVirtSettings {
  return { ...defaultSettings, ...over };
}

export function makeVms(over: Partial<NodeVms> = {}): NodeVms {
  return {
    settings: defaultSettings,
    vmis: [],
    migrations: [],
    askedElsewhere: 0,
    othersUnderWay: 0,
    samples: [],
    ...over,
  };
}

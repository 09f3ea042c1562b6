import type { Pod } from '../pod/pod.ts';
import { secondsBetween } from '../time.ts';
import { type Sample, strategyOf, type VmsKnown } from './guest.ts';
import { isOver, type KubeVirtSettings, type Migration, type Vmi } from './kubevirt.ts';

/** All that is known of a cluster's VMs. */
export type Vms = {
  readonly settings: KubeVirtSettings;
  readonly vmis: readonly Vmi[];
  readonly migrations: readonly Migration[];
};

/** Migrations from which is learned how long one takes: the latest ones. */
const mostSamples = 50;

/** What the latest good migrations took. */
const samplesOf = ({ vmis, migrations }: Vms): readonly Sample[] => {
  const memory = new Map(vmis.map(vmi => [vmi.key, vmi.memory] as const));
  const good = migrations.flatMap(({ vmi, phase, createdAt, runningAt, endedAt }) => {
    const bytes = memory.get(vmi);
    if (phase !== 'Succeeded' || bytes === undefined || runningAt === undefined || endedAt === undefined) return [];
    const waitedSeconds = Math.max(0, secondsBetween(createdAt, runningAt));
    return [{ endedAt, sample: { bytes, waitedSeconds, copiedSeconds: secondsBetween(runningAt, endedAt) } }];
  });
  const latest = good.toSorted((one, other) => Temporal.Instant.compare(other.endedAt, one.endedAt)).slice(0, mostSamples);
  return latest.map(({ sample }) => sample);
};

/** What of it concerns one node: its VMs, those of its pods, and those that it had (`remembered`, by uid). */
export const knownFor = (nodeName: string, pods: readonly Pod[], remembered: ReadonlySet<string>, vms: Vms): VmsKnown => {
  const owners = new Set(pods.flatMap(({ owner }) => (owner?.kind === 'VirtualMachineInstance' ? [owner.uid] : [])));
  const isHere = (vmi: Vmi): boolean =>
    vmi.nodeName === nodeName || vmi.evacuatedFrom === nodeName || owners.has(vmi.uid) || remembered.has(vmi.uid);
  const here = vms.vmis.filter(isHere);
  const keys = new Set(here.map(({ key }) => key));
  const marked = new Set(vms.vmis.filter(vmi => vmi.evacuatedFrom !== undefined).map(({ key }) => key));
  const elsewhere = vms.vmis.filter(vmi => marked.has(vmi.key) && !isHere(vmi) && strategyOf(vmi, vms.settings) !== 'External');
  const others = vms.migrations.filter(
    one => !isOver(one) && one.phase !== 'Pending' && one.evacuates === undefined && !marked.has(one.vmi),
  );
  return {
    settings: vms.settings,
    vmis: here,
    migrations: vms.migrations.filter(({ vmi }) => keys.has(vmi)),
    askedElsewhere: elsewhere.length,
    othersUnderWay: others.length,
    samples: samplesOf(vms),
  };
};
